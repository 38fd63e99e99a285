"""Team: the workers of a run as the coordinator sees them: which are dead, their last output, how to end them."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import zmq

from netpart.launch.control.placement import PLACEMENT, ClusterPlacement
from netpart.launch.control.seal_choice import UNSEALED, SealChoice
from netpart.launch.control.seats import WorkerSeats
from netpart.launch.control.signals import defer_signals
from netpart.launch.report.events import Invited
from netpart.proto.control_pb2 import JoinedProto, JoinProto

if TYPE_CHECKING:
    from netpart.graph.partition import Partition
    from netpart.launch.teams.meeting import Meeting

START_SECONDS = 60.0
"""How long a worker may take to introduce itself."""
CLOSED_SECONDS = 0.1
"""How long after its link has closed a worker of another host counts as lost: its last words are read before."""
ABSENCE = "did not connect within {} of its start"
"""What a worker that did not introduce itself has not done, with a place for the time."""


class Team(ABC):
    """Started workers. Leaving the context ends them all and removes everything that the team has created.

    ``parting_seconds`` is how long they have to end by themselves after a failure: 0 if they can be killed.
    ``start_seconds`` is how long they may take to introduce themselves. ``absence`` is what one that did not has not
    done, and ``absent_hint`` is advice for the user. ``here`` is the address at which the workers of this host reach
    the coordinator; "" for the same as all others. ``refills``: a lost worker is replaced without being asked to.
    ``closed_seconds`` is how long after its link has closed a worker counts as lost: a launcher that learns how it
    ended needs time for that.
    """

    parting_seconds: float
    start_seconds: float = START_SECONDS
    absent_hint: str = "look at its log"
    absence: str = ABSENCE
    here: str = ""
    refills: bool = False
    closed_seconds: float = CLOSED_SECONDS

    def control_address(self) -> str:
        """The address at which the coordinator listens for workers. By default it has no file and is not reachable from
        other hosts."""
        return local_address()

    @abstractmethod
    def start(self, control: str, seats: WorkerSeats) -> None:
        """Start every worker. Each connects to the coordinator at ``control`` and shows the ticket of its seat."""

    def note_process(self, rank: int, pid: int) -> None:
        """Note the process id of a worker, as the worker reported it. For teams that do not start the workers one by
        one."""
        return

    def invitation(self) -> Invited | None:
        """The workers that the team waits for, and how to start them. None if it starts all itself. Called after
        ``start``."""
        return None

    def admit(self, wish: JoinProto) -> JoinedProto:
        """The answer to a process that has the token and asks to be a worker."""
        return JoinedProto(refused="expected no request to join: this run starts its workers itself")

    def leave(self, rank: int) -> None:
        """Free the seat of a worker that was admitted but has not introduced itself."""
        return

    def retire(self, rank: int) -> None:
        """End the worker of a seat for good, where this host can: an elastic run goes on without it, and ``dead`` no
        longer has it."""
        self.leave(rank)

    def restart(self, rank: int, control: str, seats: WorkerSeats) -> bool:
        """Start a worker on a retired seat; False for teams that do not start workers one by one."""
        return False

    def missing(self) -> tuple[int, ...]:
        """Ranks without which the run does not begin, and that no worker has taken."""
        return ()

    def free_seats(self) -> tuple[int, ...]:
        """Ranks that a worker may take, the ``missing`` ones included."""
        return ()

    def where(self, rank: int) -> str:
        """The host of a worker in words; "" for this host."""
        return ""

    @abstractmethod
    def descriptors(self) -> list[int]:
        """File descriptors that become readable when a worker ends. They wake the coordinator."""

    @abstractmethod
    def dead(self) -> dict[int, str]:
        """Workers that have ended, and how: "exit code 1", "signal 9"."""

    @abstractmethod
    def running(self) -> bool:
        """True while a started worker has not ended."""

    @abstractmethod
    def stopped(self, rank: int) -> bool:
        """True if a silent worker must count as stopped or lost; False if its process is known to run."""

    @abstractmethod
    def log_tail(self, rank: int, lines: int = 12) -> str:
        """The last lines of a worker's log."""

    @abstractmethod
    def kill(self) -> None:
        """End every worker at once, stopped ones included, and wait until they are gone. May be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with defer_signals(ending=True):
            self.kill()


class TeamPlan(NamedTuple):
    """What a launcher starts: a team of ``size`` workers and servers, with logs in ``workspace``/log.

    ``context`` is the coordinator's. Each process computes on ``threads`` threads (0: a share of the cores). Workers of
    other hosts come to ``meeting``, or are started on the hosts of the host file ``hosts``, or by Ray according to
    ``placement``. ``partition`` is what they will compute; ``folder`` is where relative data paths of the job start.
    ``say`` receives texts for the user while the team starts. ``seal`` is how links are sealed.
    ``most`` is how many workers an elastic run may have, 0 for a run that is not elastic.
    """

    size: int
    workspace: Path
    context: zmq.Context[Any]
    threads: int = 0
    meeting: Meeting | None = None
    hosts: Path | None = None
    placement: ClusterPlacement = PLACEMENT
    partition: Partition | None = None
    folder: Path | None = None
    say: Callable[[str], None] = lambda text: None
    seal: SealChoice = UNSEALED
    most: int = 0


TeamMaker = Callable[[TeamPlan], Team]
"""Makes the team of a run without starting anything. The members of ``netpart.families.LAUNCHERS`` are of this type."""


def local_address(scheme: str = "ipc") -> str:
    """A new unique address of this host, or, with the scheme "inproc", of this process."""
    name = f"netpart-control-{secrets.token_hex(8)}"
    return f"inproc://{name}" if scheme == "inproc" else f"ipc://@{name}"
