"""Host files: names, comments, and the address of this host that they lead to."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from netpart.errors import ConfigError
from netpart.launch.teams import hostfile


def test_names_are_read_without_counts_and_comments(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_text("# two hosts\nnode1:4\n\n  node2   # one worker\nnode3:2 binding=none\n")
    assert hostfile.read_hostfile(path) == ["node1", "node2", "node3"]


def test_a_file_without_hosts_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    with pytest.raises(
        ConfigError, match=r"--hosts .*hosts: expected a host file, got nothing there; write one, a host"
    ):
        hostfile.read_hostfile(path)
    path.write_text("# nobody\n")
    with pytest.raises(
        ConfigError, match="hosts: expected a host file, got one that names none; write one, a host per line"
    ):
        hostfile.read_hostfile(path)


def test_ipv6_addresses_are_not_what_mpiexec_reads(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    for line in ("fd00::2", "[fd00::2]:4"):
        path.write_text(f"node1:2\n{line}\n")
        with pytest.raises(ConfigError, match=r"expected names or IPv4 addresses, .*; give the host a name"):
            hostfile.read_hostfile(path)


def test_hosts_that_are_this_one_reach_it_on_loopback(tmp_path: Path) -> None:
    assert hostfile.common_source_address(["localhost", "127.0.0.1"]) == "127.0.0.1"
    (tmp_path / "hosts").write_text("localhost:2\n")
    assert hostfile.remote_control_address(tmp_path / "hosts") == "tcp://127.0.0.1:*"


def test_the_way_out_is_preferred_to_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    ways = {"localhost": "127.0.0.1", "node1": "10.0.0.1", "node2": "10.0.0.1", "far": "192.168.0.1"}
    monkeypatch.setattr(hostfile, "require_source_address", ways.__getitem__)
    assert hostfile.common_source_address(["localhost", "node1", "node2"]) == "10.0.0.1"
    with pytest.raises(
        ConfigError, match=r"--hosts: expected one address .* got 10\.0\.0\.1, 192\.168\.0\.1; choose one with --listen"
    ):
        hostfile.common_source_address(["node1", "far"])


def test_a_host_nobody_knows_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: object, **options: object) -> None:
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ConfigError, match="host node9: expected to be reachable, got Name or service not known"):
        hostfile.require_source_address("node9")
