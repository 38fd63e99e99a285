"""JoinTeam: workers that join from other hosts, together with processes on this host.

netpart run JOB --workers 3 --local 1 --listen tcp://10.0.0.1:5555     worker 0
netpart worker --join tcp://10.0.0.1:5555                              worker 1, on another host
netpart worker --join tcp://10.0.0.1:5555                              worker 2, on a third
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from netpart.launch.control.address import host_and_port, resolve_bind_address
from netpart.launch.control.seats import WorkerSeats
from netpart.launch.control.token import VARIABLE, RunToken, refuse_pinned_token, write_token_file
from netpart.launch.member.join import WAIT_SECONDS
from netpart.launch.report.events import Invited
from netpart.launch.teams.open_seats import OpenSeats
from netpart.launch.teams.processes import ProcessTeam
from netpart.launch.teams.team import TeamPlan, local_address


@dataclass(frozen=True)
class Meeting:
    """Where workers of other hosts join a run, and how many of its workers this host starts itself.

    ``listen`` is tcp://HOST:PORT, at which other hosts reach this one. With ``token`` None a token is made and kept in
    the workspace while the run lasts. ``wait`` is how many seconds to wait for all workers.
    """

    listen: str
    local: int = 0
    token: RunToken | None = None
    wait: float = WAIT_SECONDS
    token_file: Path | None = None
    """The file from which ``token`` was read, if any."""
    keys: tuple[RunToken, bytes] | None = None
    """The token with the coordinator's public key, and its secret key, if they were drawn for an earlier attempt."""
    regathers: bool = False
    """The run has started again with other ranks: a worker that asks for one that it cannot have takes a free one."""

    def __post_init__(self) -> None:
        refuse_pinned_token(self.token, str(self.token_file or VARIABLE))

    @property
    def address(self) -> str:
        """``listen`` with a numeric host. Raises ConfigError for an address that other hosts could not use."""
        return resolve_bind_address(self.listen, "--listen")


class JoinTeam(OpenSeats, ProcessTeam):
    """``workers`` workers; the first ``meeting.local`` are processes of this host. ``seats`` are the others, by
    rank."""

    def __init__(self, workers: int, meeting: Meeting, workspace: Path, threads: int = 0, most: int = 0) -> None:
        # The local workers listen on the same interface as the coordinator, at ports of their own: remote workers
        # connect to both.
        listen = meeting.address.rpartition(":")[0] + ":*"
        ProcessTeam.__init__(self, min(meeting.local, workers), workspace / "log", listen, threads)
        self.meeting = meeting
        self.token_file = workspace / "token"
        self.open_seats(range(self.workers, max(workers, most)), workers)
        self.any_rank = meeting.regathers or most > 0
        self.here = local_address() if self.workers else ""
        self.start_seconds = meeting.wait
        self.absence = f"expected to join {meeting.listen} within {{}} (--wait), did not"
        self.absent_hint = "run `netpart worker` on its host, or look at its output"

    def control_address(self) -> str:
        """The address at which the workers meet."""
        return self.meeting.address

    def start(self, control: str, seats: WorkerSeats) -> None:
        if self.meeting.token is None:
            write_token_file(self.token_file, seats.token)
        super().start(control, seats)

    def retire(self, rank: int) -> None:
        OpenSeats.leave(self, rank) if rank in self.seats else ProcessTeam.retire(self, rank)

    def restart(self, rank: int, control: str, seats: WorkerSeats) -> bool:
        return rank not in self.seats and ProcessTeam.restart(self, rank, control, seats)

    def invitation(self) -> Invited | None:
        """The command for the other hosts, quoted so that it can be pasted into a shell."""
        if not self.seats:
            return None
        missing = self.missing()
        given = self.meeting.token_file
        command = shlex.join(["netpart", "worker", "--join", self.meeting.listen])
        if self.meeting.token is None:
            return Invited(missing, f"{VARIABLE}=$({self.fetching()}) {command}")
        if given is None:
            return Invited(missing, command, f"this {VARIABLE}")
        return Invited(missing, f"{command} --token-file {shlex.quote(given.name)}", f"a copy of {given.absolute()}")

    def fetching(self) -> str:
        """The command that prints the token on another host."""
        host, _ = host_and_port(self.meeting.listen, "--listen")
        # Quoted twice: the local shell removes one level, and the shell that ssh starts on the other side reads the
        # rest.
        file = str(self.token_file.absolute())
        return f"ssh {host} cat {file if shlex.quote(file) == file else shlex.quote(shlex.quote(file))}"

    def stopped(self, rank: int) -> bool:
        """True for a silent worker of another host that has introduced itself: its process cannot be inspected, so it
        counts as lost."""
        return OpenSeats.stopped(self, rank) if rank in self.seats else ProcessTeam.stopped(self, rank)

    def log_tail(self, rank: int, lines: int = 12) -> str:
        return "" if rank in self.seats else super().log_tail(rank, lines)

    def kill(self) -> None:
        super().kill()
        if self.meeting.token is None:
            self.token_file.unlink(missing_ok=True)


def join_team(plan: TeamPlan) -> JoinTeam:
    """The launcher "join"."""
    assert plan.meeting is not None, "run._check_launcher has checked this"
    return JoinTeam(plan.size, plan.meeting, plan.workspace, plan.threads, plan.most)
