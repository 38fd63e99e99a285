"""Which transport a run gets."""

from __future__ import annotations

import pytest

from netpart.errors import ConfigError
from netpart.launch.control import transport_choice as transports
from netpart.launch.control.transport_choice import choose_transport, make_transport
from netpart.proto.control_pb2 import WelcomeProto
from netpart.transport import host_memory
from netpart.transport.shm import ShmTransport
from netpart.transport.zeromq import ZeroMQTransport
from tests.cuda.module import emulated

cupy = emulated()


@pytest.mark.parametrize(
    ("wanted", "launcher", "chosen"),
    [
        ("auto", "local", "shm"), ("shm", "local", "shm"), ("zeromq", "local", "zeromq"),
        ("auto", "threads", "memory"), ("auto", "hosts", "zeromq"), ("zeromq", "hosts", "zeromq"),
    ],
)  # fmt: skip
def test_choice(wanted: str, launcher: str, chosen: str) -> None:
    assert choose_transport(wanted, launcher) == chosen


@pytest.mark.parametrize(
    ("wanted", "launcher", "says"),
    [
        ("tcp", "local", "--transport auto chooses one; all 3: cuda-ipc, shm, zeromq"),
        ("shm", "threads", "--transport: expected auto, as --launcher threads has its own, got shm; omit --transport"),
        ("shm", "hosts", "workers of other hosts cannot see its memory; use --transport zeromq"),
        ("cuda-ipc", "hosts", "workers of other hosts cannot see its memory; use --transport zeromq"),
        ("cuda-ipc", "local", "--transport: expected at least 2 workers on GPUs, got 0; use --transport auto"),
    ],
)
def test_what_cannot_be_is_refused(wanted: str, launcher: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        choose_transport(wanted, launcher)


@pytest.mark.parametrize(
    ("wanted", "places", "chosen"),
    [
        ("auto", ["cuda:0", "cuda:0"], "cuda-ipc"), ("auto", ["cpu", "cuda:0"], "shm"),
        ("cuda-ipc", ["cuda:0", "cpu", "cuda:1"], "cuda-ipc"), ("shm", ["cuda:0", "cuda:0"], "shm"),
    ],
)  # fmt: skip
def test_workers_on_gpus_share_their_memory(wanted: str, places: list[str], chosen: str) -> None:
    assert choose_transport(wanted, "local", places) == chosen


def test_who_has_a_gpu_shares_its_memory_with_those_that_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """GPUs 0 and 1 reach each other, 2 is apart, and one worker has none."""
    monkeypatch.setattr(transports, "array_module", lambda place: (cupy, "cuda"))
    monkeypatch.setattr(transports, "resolve_devices", lambda names: names)
    monkeypatch.setattr(cupy.cuda.runtime, "deviceCanAccessPeer", lambda one, other: {one, other} == {0, 1})
    places = ["cuda:0", "cuda:1", "cpu", "cuda:2", "cuda:0"]
    welcome = WelcomeProto(transport="cuda-ipc", workers=5, run_id=b"run-0001", device=",".join(places))
    found = [make_transport(welcome, rank) for rank in range(5)]
    assert [type(transport) for transport in found].index(ShmTransport) == 2
    assert [sorted(transport.device_peers) for transport in found] == [[1, 4], [0, 4], [], [], [0, 1]]
    for transport in found:
        transport.close()


def test_a_host_without_shared_memory_uses_zeromq(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_memory, "shared_memory_refusal", lambda: "this host is odd")
    assert choose_transport("auto", "local") == "zeromq"
    with pytest.raises(ConfigError, match="this host is odd; use --transport zeromq"):
        choose_transport("shm", "local")


@pytest.mark.parametrize(("name", "kind"), [("shm", ShmTransport), ("zeromq", ZeroMQTransport)])
def test_a_worker_makes_what_the_coordinator_chose(name: str, kind: type) -> None:
    with make_transport(WelcomeProto(transport=name, workers=2, run_id=b"run-0001"), 1) as transport:
        assert type(transport) is kind
        assert transport.rank == 1
