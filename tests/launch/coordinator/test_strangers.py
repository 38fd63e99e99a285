"""A run that waits for its worker, over real sockets: who misbehaves is refused or forgotten, and the run goes on."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
import zmq

from netpart.errors import NetpartError, WorkerFailed
from netpart.launch.control.framing import pack_message, unpack_message
from netpart.launch.control.seats import HEART, KNOCK, VOICE, socket_identity
from netpart.launch.control.secure_link import derive_key_pair, secure_server
from netpart.launch.control.token import RunToken, find_token
from netpart.launch.coordinator import coordinator
from netpart.launch.coordinator.coordinator import Coordinator
from netpart.launch.member.control_client import ControlClient, make_dealer
from netpart.launch.member.join import Invitation, request_seat
from netpart.launch.report.events import Event, Joined, Noticed, Summary
from netpart.launch.run import run_job
from netpart.launch.teams.meeting import Meeting
from netpart.proto.control_pb2 import (
    BeatProto,
    CheckpointProto,
    CommunicationProto,
    ControlProto,
    FailedProto,
    FinishedProto,
    HelloProto,
    JoinProto,
    LegsProto,
    ReadyProto,
    RegionProto,
    ReportProto,
    SpokenProto,
    UpdatesProto,
)  # fmt: skip
from netpart.proto.reader import read_job
from netpart.transport.sockets import bind_socket, connect_socket, limited_socket
from tests.end2end.running import mlp

TOKEN = RunToken(b"t" * 16)
DEADLINE, DEADLINE_MS = 30.0, 30_000


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class Waiting:
    """A run in a thread that waits for the only worker that it has."""

    def __init__(
        self,
        folder: Path,
        pool: ThreadPoolExecutor,
        context: zmq.Context[Any],
        token: RunToken | None,
        seal: str = "auto",
    ) -> None:
        self.address = f"tcp://127.0.0.1:{free_port()}"
        self.events = Queue[Event]()
        self.context = context
        self.token, self.folder = TOKEN, folder / "run"
        meeting = Meeting(self.address, token=token, wait=DEADLINE)
        self.end: Future[Summary] = pool.submit(
            run_job, read_job(mlp(folder, train_steps=1)), 1, launcher="join", listener=self.events.put,
            workspace=self.folder, meeting=meeting, seal=seal,
        )  # fmt: skip
        self.until("Invited")
        if token is None:
            made = find_token({}, self.folder / "token")
            assert made is not None
            self.token = made

    def until(self, kind: str) -> Event:
        """The next event of a kind."""
        while True:
            event = self.events.get(timeout=DEADLINE)
            if type(event).__name__ == kind:
                return event

    def noticed(self) -> str:
        event = self.until("Noticed")
        assert isinstance(event, Noticed)
        return event.text

    def knock(self) -> tuple[int, RunToken]:
        return request_seat(self.context, Invitation(self.address, self.token, wait=DEADLINE))

    def voice(self, name: bytes) -> zmq.Socket[bytes]:
        """A connection of somebody who has the token, under any name."""
        made = make_dealer(self.context, self.address, self.token, name)
        made.linger = 1000
        connect_socket(made, self.address)
        return made

    def check_it_goes_on(self) -> None:
        """The seat is free, and who takes it gets a plan."""
        rank, ticket = self.knock()
        control = ControlClient(self.context, self.address, rank, ticket)
        assert control.hello().welcome.plan
        control.send(ControlProto(failed=FailedProto(rank=rank, kind="NetpartError", message="this was enough")))
        with pytest.raises(WorkerFailed, match=r"worker 0 \(.*\): .*this was enough"):
            self.end.result(DEADLINE)
        control.close()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[RunToken | None], Waiting]]:
    with ThreadPoolExecutor(1) as pool, zmq.Context() as context:
        yield lambda token: Waiting(tmp_path, pool, context, token)


@pytest.fixture
def waiting(start: Callable[[RunToken | None], Waiting]) -> Waiting:
    return start(TOKEN)


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ([b"\xff\xff"], "expected a message of the control plane, got 2 other bytes"),
        ([b""], "expected a message of the control plane, got an empty one"),
        (pack_message(ControlProto(stop=True)), "expected a request to join, got stop"),
        (
            [pack_message(ControlProto(join=JoinProto(version="abc")))[0].replace(b"abc", b"\xf0(a")],
            "expected text in UTF-8, got other bytes as version",
        ),
    ],
)
def test_a_join_that_is_none_is_refused(waiting: Waiting, parts: list[bytes], why: str) -> None:
    with waiting.voice(KNOCK + TOKEN.secret + b"1234") as door:
        door.send_multipart(parts)
        assert door.poll(DEADLINE_MS)
        assert unpack_message(door.recv_multipart()).joined.refused == why
    assert waiting.noticed() == f"a process that has the token was refused: {why}"
    waiting.check_it_goes_on()


def test_many_lines_about_strangers_are_not_shown(waiting: Waiting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator, "NOTICES", 2)
    with waiting.voice(KNOCK + TOKEN.secret + b"1234") as door:
        for _ in range(5):
            door.send(b"\xff")
            assert door.poll(DEADLINE_MS)
            door.recv_multipart()
    waiting.check_it_goes_on()
    said = [event.text for event in list(waiting.events.queue) if isinstance(event, Noticed)]
    assert [text.endswith(" (the last such line)") for text in said] == [False, True]


def test_a_worker_that_is_gone_before_its_hello_is_forgotten(waiting: Waiting, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it comes after all, it is told why it may not; the next one is another."""
    monkeypatch.setattr(coordinator, "HELLO_SECONDS", 0.1)
    rank, ticket = waiting.knock()
    joined = waiting.until("Joined")
    assert isinstance(joined, Joined)
    assert waiting.noticed().startswith(f"worker 0 ({joined.where}) joined and has not been heard for ")
    monkeypatch.setattr(coordinator, "HELLO_SECONDS", DEADLINE)
    late = ControlClient(waiting.context, waiting.address, rank, ticket)
    with pytest.raises(NetpartError, match=r"worker 0: its seat was given up after .* s of silence; join again"):
        late.hello()
    late.close()
    waiting.check_it_goes_on()


def test_the_token_is_no_ticket(waiting: Waiting) -> None:
    """Who may ask for a seat cannot speak for the worker that has one, before or after it came."""
    hello = ControlProto(failed=FailedProto(message="I am not he"))
    for which in (VOICE, HEART):
        with waiting.voice(socket_identity(TOKEN.secret, 0, which)) as stranger:
            stranger.send_multipart(pack_message(hello))
    waiting.check_it_goes_on()


@pytest.mark.parametrize(
    "message",
    [ControlProto(failed=FailedProto(message="not yet")), ControlProto(beat=BeatProto()), ControlProto(stop=True)],
)
def test_before_its_hello_a_worker_is_not_heard(
    waiting: Waiting, monkeypatch: pytest.MonkeyPatch, message: ControlProto
) -> None:
    """It can neither end the run nor keep its seat."""
    monkeypatch.setattr(coordinator, "HELLO_SECONDS", 0.1)
    rank, ticket = waiting.knock()
    with waiting.voice(socket_identity(ticket.secret, rank, HEART)) as heart:
        heart.send_multipart(pack_message(message))
        heart.send(b"\xff")
        said = {waiting.noticed().partition(" (")[0].partition(":")[0] for _ in range(2)}
    assert said == {"a process that joined as worker 0 sent no valid message", "worker 0"}
    monkeypatch.setattr(coordinator, "HELLO_SECONDS", DEADLINE)
    waiting.check_it_goes_on()


def test_a_worker_that_sends_what_is_no_message_is_named(waiting: Waiting) -> None:
    rank, ticket = waiting.knock()
    with waiting.voice(socket_identity(ticket.secret, rank, VOICE)) as voice:
        voice.send_multipart(pack_message(ControlProto(hello=HelloProto(rank=rank, token=ticket.secret))))
        voice.send(b"\xff")
        with pytest.raises(WorkerFailed, match=r"worker 0 \(.*\): expected a message .*, got 1 other bytes"):
            waiting.end.result(DEADLINE)


def test_who_has_the_token_cannot_pretend_to_be_the_coordinator(start: Callable[[RunToken | None], Waiting]) -> None:
    """Of a run whose token netpart made. The false one has all that can be made of the token."""
    waiting = start(None)
    with limited_socket(waiting.context, zmq.ROUTER, 1000) as false:
        secure_server(false, derive_key_pair(waiting.token.secret)[1])
        address = bind_socket(false, "tcp://127.0.0.1:*")
        with pytest.raises(NetpartError, match="expected a coordinator with this token, got one that does not accept"):
            request_seat(waiting.context, Invitation(address, waiting.token, wait=DEADLINE))
    waiting.check_it_goes_on()


@pytest.mark.parametrize(
    "message",
    [
        ControlProto(ready=ReadyProto(spoken=[SpokenProto(communication=[CommunicationProto(channel=[1])])])),
        ControlProto(ready=ReadyProto(spoken=[SpokenProto(legs=[LegsProto(number=[1])])])),
        ControlProto(ready=ReadyProto(spoken=[SpokenProto(communication=[CommunicationProto(channel=[9] * 5)])])),
        ControlProto(report=ReportProto(phase="tea", sum=[1.0])),
        ControlProto(report=ReportProto(phase="train", sum=[])),
        ControlProto(updates=UpdatesProto(number=[1, 2, 3])),
        ControlProto(checkpoint_written=CheckpointProto(step=7)),
        ControlProto(region_read=RegionProto(path="P", low=[0], high=[1], dtype="O")),
        ControlProto(region_read=RegionProto(path="P", low=[0], high=[1 << 40], dtype="float32")),
        ControlProto(region_read=RegionProto(path="P", low=[0], high=[], dtype="float32")),
        ControlProto(region_write=RegionProto(path="P", low=[0], high=[1], dtype="float32")),
        ControlProto(finished=FinishedProto()),
        ControlProto(join=JoinProto()),
        ControlProto(stop=True),
    ],
    ids=lambda message: str(message.WhichOneof("message")),
)
def test_what_a_hostile_worker_says_is_an_error_of_its_own(tmp_path: Path, message: ControlProto) -> None:
    """Nothing else is raised than what ends the run with its name."""
    from tests.launch.coordinator.test_coordinator import coordinator as made

    with zmq.Context() as context:
        found = made(context, tmp_path)
        found.talk.relay.sources.add("P")
        check_only_named_errors(found, message)


def check_only_named_errors(found: Coordinator, message: ControlProto) -> None:
    kind = str(message.WhichOneof("message"))
    with suppress(NetpartError):
        found.talk.hear(found.members[0], kind, getattr(message, kind))
