"""RayCluster, tested without Ray: what is reported where Ray is not installed, and Ray's reasons."""

from __future__ import annotations

import signal
import socket
import sys
from types import SimpleNamespace

import pytest

from netpart.errors import ConfigError, NetpartError, ThreadLeft
from netpart.launch.teams.ray_cluster import RayCluster, actor_end_text


def test_the_extra_is_named_where_ray_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(NetpartError, match=r"--launcher ray: expected Ray, got .*; `pip install 'netpart\[ray\]'`"):
        RayCluster()


@pytest.fixture
def silent_ray(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A package that is connected to nothing, and cannot connect."""

    def init(**options: object) -> None:
        raise RuntimeError("Version mismatch:\n    the cluster has another Ray")

    ray = SimpleNamespace(is_initialized=lambda: False, init=init, util=SimpleNamespace())
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setitem(sys.modules, "ray.util", ray.util)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    return ray


def test_an_address_where_nothing_listens(silent_ray: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(NetpartError, match=f"RAY_ADDRESS: expected a cluster at {address}, got connection refused"):
        RayCluster()


@pytest.mark.parametrize("address", ["head:70000", "256.0.0.1:6379", "no such host:6379"])
def test_an_address_that_is_none(silent_ray: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(NetpartError, match=f"RAY_ADDRESS: expected a cluster at {address}, got "):
        RayCluster()


def test_a_program_outside_of_the_cluster(silent_ray: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "ray://head:10001")
    with pytest.raises(
        NetpartError, match=r"RAY_ADDRESS: expected HOST:PORT .* got ray://head:10001; .*ray job submit"
    ):
        RayCluster()


@pytest.mark.parametrize("address", ["local", "10.0.0.1", "Auto"])
def test_a_cluster_of_its_own_is_none(
    silent_ray: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    """With "local" Ray would start one, and leave a token in the user's home."""
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(
        ConfigError, match=f"RAY_ADDRESS: expected HOST:PORT or auto, got {address}; unset it, or start"
    ):
        RayCluster()


def test_the_handler_of_a_signal_is_set_again(silent_ray: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray replaces it beneath Python, by one that prints the stack."""
    handlers = list[object]()
    monkeypatch.setattr(signal, "signal", lambda number, handler: handlers.append((number, handler)))
    silent_ray.init = lambda **options: None
    RayCluster()
    assert handlers == [(signal.SIGTERM, signal.getsignal(signal.SIGTERM))]


def test_an_error_of_ray_is_one_line(silent_ray: SimpleNamespace) -> None:
    with pytest.raises(NetpartError) as caught:
        RayCluster()
    text = "expected a Ray cluster, got: Version mismatch: the cluster has another Ray; start one with `ray start"
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_cluster_that_does_not_answer(silent_ray: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    released = socket.socketpair()
    monkeypatch.setattr("netpart.launch.teams.ray_cluster.INIT_SECONDS", 0.1)
    silent_ray.init = lambda **options: released[0].recv(1)
    with pytest.raises(ThreadLeft, match=r"got: no answer of the cluster that was started last on this host within"):
        RayCluster()
    released[1].send(b".")
    for each in released:
        each.close()


def test_a_reason_has_no_advice() -> None:
    died = "The actor died.\n\tpid: 7\nThe actor is dead because its node has died. Some common causes include: (1)"
    assert actor_end_text(RuntimeError(died)) == "The actor is dead because its node has died"
    assert actor_end_text(RuntimeError()) == "RuntimeError"
    never = "The actor died.\n\tip: 10.0.0.2\nThe node has no netpart.\nThe actor never ran - it was cancelled before"
    assert actor_end_text(RuntimeError(never)) == "The node has no netpart"
