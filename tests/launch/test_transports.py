"""Which transport a run gets."""

from __future__ import annotations

import pytest

from netpart.errors import ConfigError
from netpart.launch.transports import choose, make
from netpart.proto.control_pb2 import WelcomeProto
from netpart.transport import shm
from netpart.transport.shm import ShmTransport
from netpart.transport.zeromq import ZeroMQTransport


@pytest.mark.parametrize(
    ("wanted", "launcher", "chosen"),
    [
        ("auto", "local", "shm"), ("shm", "local", "shm"), ("zeromq", "local", "zeromq"),
        ("auto", "threads", "memory"), ("auto", "hosts", "zeromq"),
    ],
)  # fmt: skip
def test_choice(wanted: str, launcher: str, chosen: str) -> None:
    assert choose(wanted, launcher) == chosen


@pytest.mark.parametrize(
    ("wanted", "launcher", "says"),
    [
        ("tcp", "local", "one of auto, zeromq, shm, got 'tcp'"),
        ("shm", "threads", "--transport: expected auto, as --launcher threads has its own, got shm; leave it away"),
        ("shm", "hosts", "workers of other hosts cannot see its memory; use --transport zeromq"),
    ],
)
def test_what_cannot_be_is_refused(wanted: str, launcher: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        choose(wanted, launcher)


def test_a_host_without_shared_memory_uses_zeromq(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shm, "refusal", lambda: "this host is odd")
    assert choose("auto", "local") == "zeromq"
    with pytest.raises(ConfigError, match="this host is odd; use --transport zeromq"):
        choose("shm", "local")


@pytest.mark.parametrize(("name", "kind"), [("shm", ShmTransport), ("zeromq", ZeroMQTransport)])
def test_a_worker_makes_what_the_coordinator_chose(name: str, kind: type) -> None:
    with make(WelcomeProto(transport=name, workers=2, run_id=b"run-0001"), 1) as transport:
        assert type(transport) is kind
        assert transport.rank == 1
