"""A sealed run meets workers that cannot seal, or do not: each is refused by name."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import zmq

from netpart.choices import AES_GCM
from netpart.errors import NetpartError, WorkerFailed
from netpart.launch.control import seal_choice
from netpart.launch.member import join
from netpart.launch.member.control_client import ControlClient
from netpart.proto.control_pb2 import BeatProto, ControlProto, FailedProto, ReadyProto, RefusedProto
from tests.launch.coordinator.test_strangers import DEADLINE, TOKEN, Waiting


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[Waiting]:
    with ThreadPoolExecutor(1) as pool, zmq.Context() as context:
        yield Waiting(tmp_path, pool, context, TOKEN, "yes")


@pytest.mark.parametrize(("offered", "got"), [([], "none: an older netpart"), (["curve"], "curve")])
def test_who_cannot_seal_gets_no_seat_and_the_run_goes_on(
    waiting: Waiting, offered: list[str], got: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(join, "known_ciphers", lambda: offered)
        says = rf"can seal tensors with aes-256-gcm, got {got}; pip install 'netpart\[secure\]' on its host"
        with pytest.raises(NetpartError, match=says):
            waiting.knock()
    waiting.check_it_goes_on()


def test_a_worker_that_sends_plain_tensors_is_named(waiting: Waiting) -> None:
    rank, ticket = waiting.knock()
    control = ControlClient(waiting.context, waiting.address, rank, ticket)
    secret = seal_choice.read_secret(control.hello().welcome)
    assert secret is not None
    assert secret.cipher == AES_GCM
    control.send(ControlProto(ready=ReadyProto(rank=rank, address="tcp://127.0.0.1:1")))
    with pytest.raises(
        WorkerFailed, match="worker 0: expected tensors sealed with aes-256-gcm, got plain ones; install"
    ):
        waiting.end.result(DEADLINE)
    control.close()


def test_frames_that_a_worker_dropped_are_a_notice(waiting: Waiting) -> None:
    rank, ticket = waiting.knock()
    control = ControlClient(waiting.context, waiting.address, rank, ticket)
    control.hello()
    refused = [RefusedProto(peer=0, count=3, reason="no tag"), RefusedProto(peer=5, count=1)]
    control.send(ControlProto(beat=BeatProto(rank=rank, phase="train", refused=refused)))
    assert waiting.noticed() == "worker 0 dropped 3 frames in the name of worker 0; the latest: no tag"
    control.send(ControlProto(failed=FailedProto(rank=rank, kind="NetpartError", message="this was enough")))
    with pytest.raises(WorkerFailed, match="this was enough"):
        waiting.end.result(DEADLINE)
    control.close()
