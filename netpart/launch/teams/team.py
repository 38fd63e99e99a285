"""Team: the workers of a run as the coordinator sees them: who is dead, what they last said, how to end them."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import zmq

from netpart.launch.control.seats import WorkerSeats
from netpart.launch.control.signals import defer_signals
from netpart.launch.report.events import Invited
from netpart.proto.control_pb2 import JoinedProto, JoinProto

if TYPE_CHECKING:
    from netpart.launch.teams.meeting import Meeting

START_SECONDS = 60.0
"""How long a worker may take to introduce itself."""


class Team(ABC):
    """Started workers. Leaving the context ends them all and leaves nothing behind.

    ``parting_seconds`` is how long they get to end by themselves after a failure: 0 where they can be killed.
    ``start_seconds`` is how long they may take to introduce themselves, ``absent_hint`` what to do about one that did
    not. ``here`` is where the workers that it starts on this host find the coordinator, "" for where all others do.
    """

    parting_seconds: float
    start_seconds: float = START_SECONDS
    absent_hint: str = "look at its log"
    here: str = ""

    def control_address(self) -> str:
        """Where the coordinator listens for the workers: nothing on disk, nothing beyond this host."""
        return local_address()

    @abstractmethod
    def start(self, control: str, seats: WorkerSeats) -> None:
        """Starts every worker; each connects to the coordinator at ``control`` and shows the ticket of its seat."""

    def note_process(self, rank: int, pid: int) -> None:
        """Hears of which process a worker is, from the worker itself; for teams that do not start them one by one."""
        return

    def invitation(self) -> Invited | None:
        """Whom the team waits for, and how they come; None where it starts everybody itself. Asked after ``start``."""
        return None

    def admit(self, wish: JoinProto) -> JoinedProto:
        """The answer to somebody who knows the token and asks to be a worker."""
        return JoinedProto(refused="expected nobody: this run starts its workers itself")

    def leave(self, rank: int) -> None:
        """Hears that a worker which was admitted has not introduced itself: its place is free again."""
        return

    def missing(self) -> tuple[int, ...]:
        """Ranks that nobody has taken."""
        return ()

    def where(self, rank: int) -> str:
        """The place of a worker in words; "" if it is this host."""
        return ""

    @abstractmethod
    def descriptors(self) -> list[int]:
        """File descriptors that become readable when a worker ends; they wake the coordinator."""

    @abstractmethod
    def dead(self) -> dict[int, str]:
        """Workers that have ended, and how: "exit code 1", "signal 9"."""

    @abstractmethod
    def running(self) -> bool:
        """True while a worker that was started has not ended."""

    @abstractmethod
    def stopped(self, rank: int) -> bool:
        """True if a worker that is not heard must be taken for stopped or lost; False if it is seen to run."""

    @abstractmethod
    def log_tail(self, rank: int, lines: int = 12) -> str:
        """The last lines that a worker wrote."""

    @abstractmethod
    def kill(self) -> None:
        """Ends every worker at once, also stopped ones, and waits until they are gone."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with defer_signals(ending=True):
            self.kill()


class TeamPlan(NamedTuple):
    """What a launcher starts: a team of ``size`` workers and servers, whose logs go to ``workspace``/log.

    ``context`` is the coordinator's; each process computes with ``threads`` threads (0: a share of the cores). Workers
    of other hosts come to ``meeting``, or are started on those of the host file ``hosts``.
    """

    size: int
    workspace: Path
    context: zmq.Context[Any]
    threads: int = 0
    meeting: Meeting | None = None
    hosts: Path | None = None


TeamMaker = Callable[[TeamPlan], Team]
"""Makes the team of a run, which starts nothing yet; a family of them is ``netpart.families.LAUNCHERS``."""


def local_address(scheme: str = "ipc") -> str:
    """An address of this host, or with the scheme "inproc" of this process, that nobody else has."""
    name = f"netpart-control-{secrets.token_hex(8)}"
    return f"inproc://{name}" if scheme == "inproc" else f"ipc://@{name}"
