"""Control: a worker's words, its heartbeat, and strangers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import zmq

from netpart.errors import NetpartError
from netpart.launch.control.framing import PART_BYTES, GarbledMessage, pack_message
from netpart.launch.control.seats import HEART, VOICE, socket_identity
from netpart.launch.control.token import RunToken
from netpart.launch.member.control_client import ControlClient, StopRequested
from netpart.proto.control_pb2 import ControlProto, VerdictProto

ADDRESS, TOKEN = "inproc://control", b"t" * 16
DEADLINE_MS = 30_000


@pytest.fixture
def context() -> Iterator[zmq.Context[Any]]:
    with zmq.Context() as context:
        yield context


@pytest.fixture
def router(context: zmq.Context[Any]) -> Iterator[zmq.Socket[bytes]]:
    with context.socket(zmq.ROUTER) as router:
        router.bind(ADDRESS)
        yield router


@pytest.fixture
def control(context: zmq.Context[Any], router: zmq.Socket[bytes]) -> Iterator[ControlClient]:
    control = ControlClient(context, ADDRESS, 2, RunToken(TOKEN))
    yield control
    control.close()


def heard(router: zmq.Socket[bytes], kind: str) -> tuple[bytes, ControlProto]:
    """The next message of a kind."""
    while router.poll(DEADLINE_MS):
        name, data = router.recv_multipart()
        message = ControlProto.FromString(data)
        if message.WhichOneof("message") == kind:
            return name, message
    raise AssertionError(f"no {kind}")


def answer(router: zmq.Socket[bytes], message: ControlProto) -> None:
    router.send_multipart([socket_identity(TOKEN, 2, VOICE), message.SerializeToString()])


def welcome() -> ControlProto:
    message = ControlProto()
    message.welcome.seed = 7
    return message


def test_hello_is_answered_and_the_heart_beats(router: zmq.Socket[bytes], control: ControlClient) -> None:
    answer_later = welcome()
    control.status.phase = "train"
    control.status.step = 3
    control.status.doing = lambda: "forward conv1"
    control.send(ControlProto(stop=False))
    heard(router, "stop")
    answer(router, answer_later)
    assert control.hello().welcome.seed == 7
    name, hello = heard(router, "hello")
    assert (name, hello.hello.rank, hello.hello.token) == (socket_identity(TOKEN, 2, VOICE), 2, TOKEN)
    for _ in range(2):
        name, beat = heard(router, "beat")
        assert name == socket_identity(TOKEN, 2, HEART)
        assert (beat.beat.rank, beat.beat.phase, beat.beat.step, beat.beat.doing) == (2, "train", 3, "forward conv1")


def test_stop_ends_any_wait(router: zmq.Socket[bytes], control: ControlClient) -> None:
    control.send(ControlProto(stop=False))
    heard(router, "stop")
    control.check()
    answer(router, ControlProto(stop=True))
    with pytest.raises(StopRequested):
        control.receive("go")
    answer(router, ControlProto(stop=True))
    control.await_stop()


def test_an_answer_out_of_turn(router: zmq.Socket[bytes], control: ControlClient) -> None:
    control.send(ControlProto(stop=False))
    heard(router, "stop")
    answer(router, welcome())
    with pytest.raises(NetpartError, match="worker 2: expected go from the coordinator, got welcome"):
        control.receive("go")


def test_a_verdict_may_come_before_it_is_waited_for(router: zmq.Socket[bytes], control: ControlClient) -> None:
    control.send(ControlProto(stop=False))
    heard(router, "stop")
    for step in (2, 4):
        answer(router, ControlProto(verdict=VerdictProto(step=step, phase="val")))
    answer(router, welcome())
    assert control.receive("welcome").welcome.seed == 7
    control.check()
    assert [control.receive("verdict").verdict.step for _ in range(2)] == [2, 4]
    answer(router, ControlProto(verdict=VerdictProto(step=6)))
    assert control.receive("verdict").verdict.step == 6


def test_closing_without_hello_leaves_nothing(context: zmq.Context[Any], router: zmq.Socket[bytes]) -> None:
    ControlClient(context, ADDRESS, 1, RunToken(TOKEN)).close()


def test_a_plan_comes_in_parts_and_what_is_no_message_is_said_so(
    router: zmq.Socket[bytes], control: ControlClient
) -> None:
    control.send(ControlProto(stop=False))
    heard(router, "stop")
    message = welcome()
    message.welcome.plan = bytes(3 * PART_BYTES)
    parts = pack_message(message)
    assert max(map(len, parts)) == PART_BYTES
    router.send_multipart([socket_identity(TOKEN, 2, VOICE), *parts])
    assert control.receive("welcome") == message
    router.send_multipart([socket_identity(TOKEN, 2, VOICE), b"\xff"])
    with pytest.raises(GarbledMessage, match="expected a message of the control plane, got 1 other bytes"):
        control.receive("go")
