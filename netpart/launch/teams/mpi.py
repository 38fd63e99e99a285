"""MpiTeam: workers that mpiexec starts, on this host or those of a host file, and that exchange tensors through MPI.

    netpart run ── mpiexec ─┬─ proxy of host 1 ─┬─ guard ── worker 0
        ▲                   │                   └─ guard ── worker 1
        │                   └─ proxy of host 2 ─── guard ── worker 2
        └──── control plane: every worker connects here

mpiexec ends all workers, stopped ones included, when one fails or when mpiexec itself ends. It dies with this process.
"""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from netpart.launch.control.seats import WorkerSeats
from netpart.launch.control.signals import defer_signals
from netpart.launch.control.token import VARIABLE
from netpart.launch.teams import hostfile, mpiexec
from netpart.launch.teams.exit_status import describe_exit, read_log_tail
from netpart.launch.teams.processes import process_environment
from netpart.launch.teams.team import Team, TeamPlan

if TYPE_CHECKING:
    from netpart.launch.teams.meeting import Meeting

TETHER = (sys.executable, "-P", "-m", "netpart.launch.teams.tether")
RANK = (sys.executable, "-P", "-m", "netpart.launch.teams.mpi_entry")
END_SECONDS = 1.0
"""How long mpiexec has to end its workers before it is killed; its workers die with it."""


class MpiTeam(Team):
    """``workers`` ranks, on ``hosts`` (a host file) or on this host; their logs are ``log_folder``/worker-N.log.

    Each computes on ``threads`` threads; 0 is a share of its host's cores, determined on that host. ``start`` raises
    ConfigError if mpiexec or mpi4py is missing.
    """

    parting_seconds = 0.0
    closed_seconds = 3.0
    """When a worker ends, mpiexec ends all the others, and only then is known which of them was the first."""

    def __init__(
        self, workers: int, log_folder: Path, hosts: Path | None = None, rank: Sequence[str] = RANK, threads: int = 0,
        meeting: Meeting | None = None,
    ) -> None:  # fmt: skip
        self.workers = workers
        self.log_folder = log_folder
        self.hosts = hosts
        self.rank = rank
        self.threads = threads
        self.meeting = meeting
        self.process: subprocess.Popen[bytes] | None = None
        self.pids: dict[int, int] = {}
        self.watches: list[int] = []

    def control_address(self) -> str:
        """A port that the hosts of the file can reach, or the address of the meeting if the user named one."""
        if self.meeting is not None:
            return self.meeting.address
        return hostfile.remote_control_address(self.hosts) if self.hosts else super().control_address()

    def start(self, control: str, seats: WorkerSeats) -> None:
        found = mpiexec.find_mpiexec()
        self.log_folder.mkdir(parents=True, exist_ok=True)
        for rank in range(self.workers):
            # An old log could end with the exit line of an earlier run's guard, which ``end`` would read.
            self.log(rank).unlink(missing_ok=True)
        options = mpiexec.mpiexec_arguments(self.workers, self.log_folder, self.hosts, urlsplit(control).hostname or "")
        variables = {
            # mpiexec gives all ranks the same environment. So each rank derives its own ticket from the master token.
            "NETPART_CONTROL": control, VARIABLE: seats.master.text, "NETPART_WORKERS": str(self.workers),
            "NETPART_THREADS": str(self.threads),
        }  # fmt: skip
        with open(self.said, "wb") as own_log, defer_signals():
            self.process = subprocess.Popen(
                [*TETHER, str(os.getpid()), found, *options, *self.rank], stdin=subprocess.DEVNULL,
                stdout=own_log, stderr=subprocess.STDOUT, start_new_session=True,
                env=os.environ | process_environment() | variables,
            )  # fmt: skip
            self.watches = [os.pidfd_open(self.process.pid)]

    @property
    def said(self) -> Path:
        """The log of mpiexec itself."""
        return self.log_folder / "mpiexec.log"

    def log(self, rank: int) -> Path:
        """The log file of a worker."""
        return self.log_folder / f"worker-{rank}.log"

    def note_process(self, rank: int, pid: int) -> None:
        self.pids[rank] = pid
        if self.hosts is None:
            with suppress(ProcessLookupError):
                self.watches.append(os.pidfd_open(pid))

    def descriptors(self) -> list[int]:
        # Only mpiexec's end wakes the coordinator. When one worker ends, its guard writes the reason and mpiexec ends
        # too.
        return self.watches[:1]

    def dead(self) -> dict[int, str]:
        code = self.process.poll() if self.process is not None else None
        if code is None:
            return {}
        found = {rank: end for rank in range(self.workers) if (end := self.end(rank))}
        return found or {0: f"mpiexec, that is: {describe_exit(code)}, see {self.said}"}

    def end(self, rank: int) -> str:
        """How a worker ended, as its guard logged it; "" for a worker that mpiexec ended with the others."""
        found = re.search(r"^process \d+ ended: (.+)$", read_log_tail(self.log(rank), 1))
        return found[1] if found else ""

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def stopped(self, rank: int) -> bool:
        if rank not in self.pids:
            return False
        if self.hosts is not None:
            return True
        try:
            status = Path(f"/proc/{self.pids[rank]}/stat").read_text(encoding="utf-8")
        except OSError:
            return True
        # The second field is the program's name in brackets, which may contain spaces and brackets; the state follows
        # the last one.
        return status.rpartition(")")[2].split()[0] in "Tt"

    def log_tail(self, rank: int, lines: int = 12) -> str:
        return read_log_tail(self.log(rank), lines)

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(END_SECONDS)
            self.process.kill()
            self.process.wait()
        for watch in self.watches:
            # Workers are not children of this process, so ``wait`` does not cover them; their pidfds do.
            select.select([watch], [], [], END_SECONDS)
            os.close(watch)
        self.watches = []


def mpi_team(plan: TeamPlan) -> MpiTeam:
    """The launcher "mpi"."""
    log_folder = plan.workspace / "log"
    return MpiTeam(plan.size, log_folder, plan.hosts, threads=plan.threads, meeting=plan.meeting)
