"""Addresses: IPv4, IPv6 and names; what is written another way, and what other hosts could not use."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

from netpart.errors import ConfigError
from netpart.launch.control.address import (
    check_listen_address,
    host_and_port,
    is_loopback_address,
    numeric_host,
    resolve_bind_address,
    resolve_peer_address,
    source_address,
    tcp_address,
    unknown_host_text,
)


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [
        ("tcp://10.0.0.1:5555", "10.0.0.1", "5555"), ("tcp://node-1.lan:80", "node-1.lan", "80"),
        ("tcp://[::1]:5555", "::1", "5555"), ("tcp://[::]:5555", "::", "5555"),
        ("tcp://[fe80::1%eth0]:5555", "fe80::1%eth0", "5555"), ("tcp://[::ffff:10.0.0.1]:1", "::ffff:10.0.0.1", "1"),
    ],
)  # fmt: skip
def test_host_and_port(address: str, host: str, port: str) -> None:
    assert host_and_port(address, "F") == (host, port)
    assert tcp_address(host, port) == address


@pytest.mark.parametrize(
    ("address", "meant"),
    [
        ("::1", "tcp://[::1]:5555"), ("[::1]:5555", "tcp://[::1]:5555"), ("tcp://::1:5555", "tcp://[::1]:5555"),
        ("fe80::1%eth0", "tcp://[fe80::1%eth0]:5555"), ("tcp://::1", "tcp://[::1]:5555"),
        ("tcp://fe80::1%eth0:99", "tcp://[fe80::1%eth0]:99"), ("tcp://[fd00::2]", "tcp://[fd00::2]:5555"),
        ("tcp://10.0.0.1", "tcp://10.0.0.1:PORT, with a port"), ("tcp://node1", "tcp://node1:PORT, with a port"),
    ],
)  # fmt: skip
def test_who_leaves_out_brackets_is_told_how_to_write_it(address: str, meant: str) -> None:
    with pytest.raises(ConfigError) as caught:
        host_and_port(address, "--join")
    assert str(caught.value) == f"--join: expected an address like tcp://10.0.0.1:5555, got {address!r}; write {meant}"


@pytest.mark.parametrize(
    "address",
    [
        "", "tcp://", "tcp://:5", "10.0.0.1:5555", "tcp://[10.0.0.1]:5", "tcp://[::1:5", "tcp://a b:5", "tcp://[]:5",
        "tcp://h:²", "tcp://h:0", "tcp://h:65536", "tcp://h:" + "9" * 5000, "udp://h:5", "tcp://h:*", "tcp://a\n:5",
    ],
)  # fmt: skip
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(ConfigError, match=r"^F: expected "):
        host_and_port(address, "F")


def test_a_port_may_be_left_open() -> None:
    assert host_and_port("tcp://[::1]:*", "F", free=True) == ("::1", "*")


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:5", "tcp://[::1]:5", "tcp://[fd00::7]:5", "tcp://10.9.8.7:5"])
def test_a_number_is_what_it_is(address: str) -> None:
    assert resolve_bind_address(address, "F") == address


@pytest.mark.parametrize(("address", "number"), [("tcp://0.0.0.0:5", "0.0.0.0"), ("tcp://[::]:5", "::")])
def test_every_address_is_none(address: str, number: str) -> None:
    with pytest.raises(ConfigError, match=f"^F: expected an address of this host, got {number}; give the one"):
        resolve_bind_address(address, "F")


Names = dict[str, list[str]]


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Callable[[Names], None]:
    """Lets names have these addresses: what a host's own files and servers say is not the test's to know."""
    look_up = socket.getaddrinfo

    def know(names: Names) -> None:
        def answer(host: str, *args: Any, **options: Any) -> list[Any]:
            return [found for number in names[host] for found in look_up(number, *args, **options)]

        monkeypatch.setattr(socket, "getaddrinfo", answer)

    return know


def test_names_mean_ipv4_where_they_have_it(known: Callable[[Names], None]) -> None:
    known({"both": ["fd00::7", "10.0.0.7"], "six": ["fd00::7"], "localhost": ["::1", "127.0.0.1"], "self": ["::1"]})
    assert resolve_bind_address("tcp://both:5", "F") == "tcp://10.0.0.7:5"
    assert resolve_bind_address("tcp://six:5", "F") == "tcp://[fd00::7]:5"
    assert resolve_bind_address("tcp://localhost:5", "F") == "tcp://127.0.0.1:5"
    assert [resolve_peer_address(f"tcp://{name}:5", "F") for name in ("both", "six")] == [
        "tcp://both:5",
        "tcp://[fd00::7]:5",
    ]
    with pytest.raises(ConfigError, match="expected an address of this host, got ::1; give the one"):
        resolve_bind_address("tcp://self:5", "F")


def test_a_name_that_nobody_knows_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: Any, **options: Any) -> None:
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert resolve_peer_address("tcp://pod-0.job:5", "F") == "tcp://pod-0.job:5"
    with pytest.raises(ConfigError, match="F: expected a host that is known, got Name or service not known for pod-0"):
        resolve_bind_address("tcp://pod-0.job:5", "F")
    assert unknown_host_text("tcp://pod-0.job:5") == "pod-0.job is not a known host: name or service not known"
    assert not is_loopback_address("tcp://pod-0.job:5")


def test_where_a_run_is_not() -> None:
    with pytest.raises(
        ConfigError, match=r"F: expected a port .* got 0 in tcp://10.0.0.1:0; use the port of the run's"
    ):
        resolve_peer_address("tcp://10.0.0.1:0", "F")
    with pytest.raises(ConfigError, match=r"F: expected the address of one host, got 0.0.0.0; use the address of the"):
        resolve_peer_address("tcp://0.0.0.0:5", "F")
    assert unknown_host_text("tcp://10.0.0.1:5") == ""


def test_where_this_host_cannot_listen() -> None:
    with pytest.raises(
        ConfigError, match=r"F: expected tcp://198.51.100.7:5 to be usable, got .*; use an address of this"
    ):
        check_listen_address("tcp://198.51.100.7:5", "F")
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(ConfigError, match=f"F: expected {taken} to be usable, got .*; use a free port"):
            check_listen_address(taken, "F")
    check_listen_address("tcp://127.0.0.1:*", "F")


def test_the_way_to_oneself() -> None:
    assert source_address("127.0.0.1") == "127.0.0.1"
    if socket.has_ipv6:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(("::1", 0))
            except OSError as error:
                pytest.skip(f"this host has no ::1: {error}")
        assert source_address("::1") == "::1"


def test_a_scope_is_named() -> None:
    index, name = socket.if_nameindex()[0]
    assert numeric_host(("fe80::1", 5, 0, index)) == f"fe80::1%{name}"
    assert numeric_host((f"fe80::1%{name}", 5, 0, index)) == f"fe80::1%{name}"
    assert numeric_host(("fd00::1", 5, 0, 0)) == "fd00::1"
