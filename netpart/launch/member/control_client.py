"""ControlClient: the worker's end of the control plane. One DEALER socket carries its messages, a second its heartbeat,
a third, opened when it is needed, what it writes into checkpoints.

    worker                          coordinator
    join                ──────▶                         from another host, under a name of its own
                        ◀──────     joined(rank)
    hello(token)        ──────▶
                        ◀──────     welcome(plan)
    ready(address, what it will send and receive)
                        ──────▶     deadlock check
                        ◀──────     go(addresses)
    beat, report, checkpoint_due, checkpoint_written, finished | failed  ──────▶
                        ◀──────     checkpoint_open, verdict, halt, look, stop | rejoin
                        ◀──────     regroup(team)       in an elastic run, at any moment
    standby(team)       ──────▶                         then welcome, ready and go again
    region_write | region_read  ──────▶                 from another host
                        ◀──────     region

Every socket has an identity derived from a secret. The coordinator ignores messages under any other identity. A process
that asks to be a worker shows the run's token. Each worker then has a ticket of its own, which it receives with its
rank (seats.py). Over tcp the worker also knows the coordinator's public key, and the heartbeat thread detects a lost
link.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Protocol, cast

import zmq

from netpart.errors import NetpartError
from netpart.launch.control.address import is_tcp_address
from netpart.launch.control.framing import FRAME_BYTES, REFUSAL, pack_message, printable_text, unpack_message
from netpart.launch.control.seats import HEART, SCRIBE, VOICE, socket_identity
from netpart.launch.control.secure_link import LinkMonitor, secure_client
from netpart.launch.control.token import RunToken
from netpart.proto.control_pb2 import ControlProto, HaltProto, LookProto, RefusedProto, SnapshotProto
from netpart.transport.sockets import connect_socket, limited_socket
from netpart.transport.transport import RefusedFrames

BEAT_SECONDS = 0.25
SCRIBE_LOOK_MS = 100
"""How often the writer of a checkpoint that waits for an answer looks whether its worker ends."""
PARTING_SECONDS = 10.0
"""How long the end of a worker waits for the writer of a checkpoint."""
VERDICT = "verdict"
"""A kind of message that may arrive before the worker waits for it."""
SNAPSHOT = "snapshot"
"""A kind of message that may arrive at any moment, and needs no answer."""
HALT = "halt"
"""A kind of message that may arrive at any moment, and is answered at once."""
REGROUP = "regroup"
"""A kind of message that may arrive at any moment in an elastic run: it ends what the worker does."""
LOOK = "look"
"""A kind of message that may arrive at any moment, and concerns a later step."""


class StopRequested(NetpartError):
    """The coordinator has requested that this worker stop."""


class RegroupRequested(NetpartError):
    """The coordinator has requested that this worker leave its team and wait for ``team``."""

    def __init__(self, rank: int, team: int) -> None:
        super().__init__(f"worker {rank}: asked to wait for team {team}")
        self.team = team


@dataclass
class WorkerStatus:
    """The current position of a worker, and the frames that it has dropped, as its heartbeat reports them.

    The heartbeat thread may call ``doing`` at any time.
    """

    phase: str = ""
    step: int = 0
    doing: Callable[[], str] = lambda: "starting"
    refused: Mapping[int, RefusedFrames] = field(default_factory=dict)


class ControlLink(Protocol):
    """One of a worker's connections to the coordinator, by which messages are sent and answers come back."""

    rank: int
    status: WorkerStatus

    def send(self, message: ControlProto) -> None: ...

    def receive(self, wanted: str) -> ControlProto: ...

    def await_stop(self) -> None: ...


class ScribeLink:
    """The connection through which a worker writes checkpoints, which another thread than the worker's may do.

    A thread that uses it holds ``busy``. The worker's own thread sets ``look``, which is called during a wait, to learn
    that it is to stop.
    """

    def __init__(self, rank: int, socket: zmq.Socket[bytes]) -> None:
        self.rank = rank
        self.status = WorkerStatus()
        self.busy = threading.Lock()
        self.look: Callable[[], None] = lambda: None
        self._socket = socket
        self._ended = threading.Event()

    def send(self, message: ControlProto) -> None:
        """Send ``message`` without blocking."""
        self._socket.send_multipart(pack_message(message))

    def receive(self, wanted: str) -> ControlProto:
        """Wait for the answer, of kind ``wanted``. Raises StopRequested if the worker ends meanwhile."""
        while not self._socket.poll(SCRIBE_LOOK_MS):
            if self._ended.is_set():
                raise StopRequested(f"worker {self.rank}: ends while a checkpoint is written")
            self.look()
        message = unpack_message(self._socket.recv_multipart())
        if message.WhichOneof("message") != wanted:
            raise NetpartError(f"worker {self.rank}: expected {wanted} from the coordinator, got another message")
        return message

    def await_stop(self) -> None:
        """Wait until the worker ends."""
        self._ended.wait()

    def close(self) -> None:
        """End the writing, and close the socket once nobody uses it. A disk that does not answer may keep it in use."""
        self._ended.set()
        if self.busy.acquire(timeout=PARTING_SECONDS):
            self._socket.close(linger=1000)


class ControlClient:
    """One worker's connection to the coordinator at ``address``. Only the worker's thread calls its methods.

    ``ticket`` proves that this is the worker of seat ``rank``, which is its rank in the first team of a run; from then
    on ``rank`` is that in the present team, number ``team``. Over tcp the heartbeat thread calls ``lost`` when the link
    is lost. No message that the worker could wait for arrives after that. ``heed_halt`` is called with each message
    that the run is to end at a step, ``heed_snapshot`` with each decision about a snapshot,
    ``heed_look`` with each request to trace a step. ``rejoins``: the run starts
    again, without this process's state.
    """

    def __init__(
        self,
        context: zmq.Context[Any],
        address: str,
        rank: int,
        ticket: RunToken,
        lost: Callable[[], None] | None = None,
    ) -> None:
        self.context = context
        self.address = address
        self.rank = self.seat = rank
        self.team = 0
        self.ticket = ticket
        self.lost = lost
        self.status = WorkerStatus()
        self.rejoins = False
        self._heed_nothing()
        self._socket, self._link = self._connect(VOICE)
        self._scribe: ScribeLink | None = None
        self._verdicts: deque[ControlProto] = deque()
        self._ended = threading.Event()
        self._beats = threading.Thread(target=self._beat, name=f"netpart-beat-{rank}", daemon=True)

    def hello(self) -> ControlProto:
        """Introduce this worker, start its heartbeat and wait for the plan."""
        message = ControlProto()
        message.hello.rank = self.rank
        message.hello.pid = os.getpid()
        message.hello.token = self.ticket.secret
        self.send(message)
        self._beats.start()
        return self.receive("welcome")

    def _heed_nothing(self) -> None:
        """Take nothing from messages that need no answer, and keep nothing of a team that was left in memory."""
        self.heed_halt: Callable[[HaltProto], None] = lambda halt: None
        self.heed_snapshot: Callable[[SnapshotProto], None] = lambda decision: None
        self.heed_look: Callable[[LookProto], None] = lambda look: None

    def wait_for_team(self, team: int) -> ControlProto:
        """Tell that this worker has left its team, and wait for the plan of ``team``.

        Raises RegroupRequested if that team ends before it begins, and what ``receive`` raises.
        """
        self.end_scribe()
        self.team = team
        self._verdicts.clear()
        self._heed_nothing()
        self.status.phase, self.status.doing = "", lambda: "waiting for the next team"
        message = ControlProto()
        message.standby.team = team
        self.send(message)
        return self.receive("welcome")

    def send(self, message: ControlProto) -> None:
        """Send ``message`` without blocking."""
        self._socket.send_multipart(pack_message(message))

    def receive(self, wanted: str, seconds: float | None = None) -> ControlProto:
        """Wait for the next message, of kind ``wanted``, VERDICT, HALT or LOOK; return one that is wanted.

        Without ``seconds`` there is no timeout: a coordinator may have been suspended, and if it dies, its workers die
        too. Raises StopRequested if the coordinator requests a stop, RegroupRequested if it requests to leave the team,
        NetpartError for any other message, and if none comes within ``seconds``.
        """
        if wanted == VERDICT and self._verdicts:
            return self._verdicts.popleft()
        end = None if seconds is None else monotonic() + seconds
        while True:
            if end is not None and not self._socket.poll(max(0, int(1000 * (end - monotonic())))):
                raise NetpartError(f"worker {self.rank}: expected {wanted} within {seconds:g} s, got none")
            if self._is_wanted(message := unpack_message(self._socket.recv_multipart()), wanted):
                return message

    def _is_wanted(self, message: ControlProto, wanted: str) -> bool:
        """True for a message of kind ``wanted``. A verdict that arrives before this worker waits for it is kept.

        Raises what ``receive`` raises.
        """
        kind = str(message.WhichOneof("message"))
        if kind == "joined":
            raise NetpartError(f"worker {self.rank}: {printable_text(message.joined.refused, REFUSAL)}")
        if kind in ("stop", "rejoin"):
            self.rejoins = kind == "rejoin"
            raise StopRequested(f"worker {self.rank}: stopped by the coordinator")
        if kind == REGROUP:
            raise RegroupRequested(self.rank, message.regroup.team)
        if kind == HALT:
            self.heed_halt(message.halt)
        elif kind == SNAPSHOT:
            self.heed_snapshot(message.snapshot)
        elif kind == LOOK:
            self.heed_look(message.look)
        elif kind == VERDICT != wanted:
            self._verdicts.append(message)
        elif kind != wanted:
            hint = "install the same netpart on all hosts"
            raise NetpartError(f"worker {self.rank}: expected {wanted} from the coordinator, got {kind}; {hint}")
        return kind == wanted

    def check(self) -> None:
        """Raise StopRequested if the coordinator has requested that this worker stop."""
        # Called every step: this costs a tenth of a poll.
        while cast(int, self._socket.getsockopt(zmq.EVENTS)) & zmq.POLLIN:
            self._is_wanted(unpack_message(self._socket.recv_multipart()), "stop")

    def await_stop(self) -> None:
        """Wait until every worker has finished. Until then a peer may still need data that this worker has sent."""
        try:
            self.receive("stop")
        except StopRequested:
            return

    def scribe_link(self) -> ScribeLink:
        """The connection through which checkpoints are written; opened at the first call."""
        if self._scribe is None:
            name = socket_identity(self.ticket.secret, self.seat, SCRIBE, self.team)
            socket = make_dealer(self.context, self.address, self.ticket, name)
            connect_socket(socket, self.address)
            self._scribe = ScribeLink(self.rank, socket)
        return self._scribe

    def end_scribe(self) -> None:
        """End the writing of a checkpoint, if one is written: it belongs to a team that ends."""
        if self._scribe is not None:
            self._scribe.close()
        self._scribe = None

    def close(self) -> None:
        """End the heartbeat, and give the last messages time to leave."""
        # The heartbeat thread uses the first socket's monitor, so it must end before that monitor is closed.
        self._ended.set()
        self.end_scribe()
        if self._beats.ident is not None:
            self._beats.join()
        if self._link:
            self._link.close()
        self._socket.close(linger=1000)

    def _beat(self) -> None:
        # A ZeroMQ socket belongs to one thread. So the heartbeat opens its own instead of sharing the worker's.
        (socket, link) = self._connect(HEART)
        message = ControlProto()
        links = [link for link in (self._link, link) if link]
        while True:
            status = self.status
            message.beat.rank = self.rank
            message.beat.phase = status.phase
            message.beat.step = status.step
            message.beat.doing = status.doing()
            del message.beat.refused[:]
            message.beat.refused.extend(encode_refused(status.refused))
            socket.send_multipart(pack_message(message))
            if self._ended.wait(BEAT_SECONDS):
                break
            lost = [link for link in links if link.look(monotonic())]
            if lost and self.lost:
                self.lost()
        if link:
            link.close()
        socket.close(linger=0)

    def _connect(self, which: bytes) -> tuple[zmq.Socket[bytes], LinkMonitor | None]:
        """Open one of this worker's sockets, with a link monitor if a lost link must be reported."""
        name = socket_identity(self.ticket.secret, self.seat, which)
        socket = make_dealer(self.context, self.address, self.ticket, name)
        # The monitor must be attached before the socket connects, or it would miss the first events.
        link = LinkMonitor(socket, monotonic()) if self.lost and is_tcp_address(self.address) else None
        connect_socket(socket, self.address)
        return socket, link


def encode_refused(refused: Mapping[int, RefusedFrames]) -> list[RefusedProto]:
    """Encode the frames that a worker has dropped; another thread may count more of them meanwhile."""
    return [RefusedProto(peer=peer, count=row.count, reason=row.reason) for peer, row in tuple(refused.items())]


def make_dealer(context: zmq.Context[Any], address: str, token: RunToken, name: bytes) -> zmq.Socket[bytes]:
    """Make a DEALER socket with identity ``name``, to be connected to ``address``. Over tcp, ``token`` identifies the
    coordinator."""
    socket = limited_socket(context, zmq.DEALER, FRAME_BYTES)
    socket.setsockopt(zmq.IDENTITY, name)
    if is_tcp_address(address):
        secure_client(socket, token)
    return socket
