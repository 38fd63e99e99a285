"""JoinTeam: workers that come from other hosts, and processes on this one beside them.

netpart run JOB --workers 3 --local 1 --listen tcp://10.0.0.1:5555     worker 0
netpart worker --join tcp://10.0.0.1:5555                              worker 1, on another host
netpart worker --join tcp://10.0.0.1:5555                              worker 2, on a third
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path

from netpart.errors import ConfigError, NetpartError
from netpart.launch.events import Invited
from netpart.launch.join import WAIT_SECONDS, host_and_port
from netpart.launch.processes import ProcessTeam
from netpart.launch.token import VARIABLE, keep
from netpart.proto.control_pb2 import JoinedProto, JoinProto
from netpart.resources import version


@dataclass(frozen=True)
class Meeting:
    """Where workers of other hosts join a run, and how many of its workers this host starts itself.

    ``listen`` is tcp://HOST:PORT, by which the others reach this host. ``token`` None makes one and leaves it in the
    workspace while the run goes on. ``wait`` is for how many seconds to wait for everybody.
    """

    listen: str
    local: int = 0
    token: bytes | None = None
    wait: float = WAIT_SECONDS
    token_file: Path | None = None
    """Where ``token`` was read, if that was a file."""

    @property
    def how(self) -> str:
        """How another host gets the token that this one was given."""
        if self.token_file is None:
            return f"  (with this {VARIABLE})"
        return f" --token-file {self.token_file.name}  (a copy of {self.token_file.absolute()})"

    @property
    def address(self) -> str:
        """``listen`` by number. Raises ConfigError if it is none that other hosts could use as it stands."""
        host, port = host_and_port(self.listen, "--listen")
        try:
            number = socket.gethostbyname(host)
        except OSError as error:
            raise NetpartError(
                f"--listen: expected a host that is known, got {error} for {host}; check its name"
            ) from None
        if number == "0.0.0.0" or (number.startswith("127.") and host not in (number, "localhost")):
            hint = "give the one by which the other hosts reach this host, as `ip address` shows it"
            raise ConfigError("--listen", "an address of this host", number, hint)
        return f"tcp://{number}:{port}"


class JoinTeam(ProcessTeam):
    """``workers``, the first ``meeting.local`` of them processes of this host; ``seats`` are the others, by rank."""

    def __init__(self, workers: int, meeting: Meeting, workspace: Path, threads: int = 0) -> None:
        listen = meeting.address.rpartition(":")[0] + ":*"
        super().__init__(min(meeting.local, workers), workspace / "log", listen, threads)
        self.meeting, self.token_file = meeting, workspace / "token"
        self.seats: dict[int, str] = dict.fromkeys(range(self.workers, workers), "")
        self.start_seconds, self.absent_hint = meeting.wait, "run `netpart worker` on its host, or look at what it says"

    def start(self, control: str, token: bytes) -> None:
        if self.meeting.token is None:
            keep(self.token_file, token)
        super().start(control, token)

    def invitation(self) -> Invited | None:
        if not self.seats:
            return None
        command = f"netpart worker --join {self.meeting.listen}"
        if self.meeting.token is not None:
            return Invited(self.missing(), command + self.meeting.how)
        host, file = host_and_port(self.meeting.listen, "--listen")[0], self.token_file.absolute()
        return Invited(self.missing(), f"{VARIABLE}=$(ssh {host} cat {file}) {command}")

    def missing(self) -> tuple[int, ...]:
        """Ranks that nobody has taken."""
        return tuple(rank for rank, where in self.seats.items() if not where)

    def admit(self, wish: JoinProto) -> JoinedProto:
        missing = self.missing()
        if wish.version != version():
            return JoinedProto(
                refused=f"expected netpart {version()}, got {wish.version}; install the same on every host"
            )
        if not missing:
            return JoinedProto(refused="expected fewer workers: everybody is there; raise --workers to use more")
        rank = wish.rank if wish.HasField("rank") else missing[0]
        if rank not in missing:
            some = ", ".join(map(str, missing))
            why = "is taken" if rank in self.seats or rank < self.workers else "does not exist"
            return JoinedProto(
                refused=f"expected a rank that is free, got {rank}, which {why}; free: {some}. Omit --rank"
            )
        self.seats[rank] = wish.host
        return JoinedProto(rank=rank)

    def where(self, rank: int) -> str:
        return self.seats.get(rank, "")

    def stopped(self, rank: int) -> bool:
        """Nobody can look at a process of another host: if it is not heard, it is lost."""
        return bool(self.seats[rank]) if rank in self.seats else super().stopped(rank)

    def log_tail(self, rank: int, lines: int = 12) -> str:
        return "" if rank in self.seats else super().log_tail(rank, lines)

    def kill(self) -> None:
        super().kill()
        if self.meeting.token is None:
            self.token_file.unlink(missing_ok=True)
