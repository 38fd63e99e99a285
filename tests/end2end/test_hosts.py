"""The harness of several hosts does what it says: addresses, a slow link, a cut one, and nothing left behind."""

from __future__ import annotations

import subprocess
import sys
from time import monotonic

import pytest

from tests.end2end import hosts as harness
from tests.end2end.hosts import Hosts, call, ip, network

__all__ = ["network"]
pytestmark = pytest.mark.usefixtures("network")

LISTEN = """
import socket, sys
server = socket.create_server((sys.argv[1], 5000))
print("listening", flush=True)
connection, _ = server.accept()
print(sum(len(data) for data in iter(lambda: connection.recv(1 << 16), b"")), flush=True)
"""
SEND = """
import socket, sys
with socket.create_connection((sys.argv[1], 5000), timeout=float(sys.argv[3])) as connection:
    connection.sendall(bytes(int(sys.argv[2])))
"""
DEADLINE = 30


def send(hosts: Hosts, count: int) -> tuple[int, float]:
    """Sends ``count`` bytes from host 0 to host 1; returns how many came, and the seconds it took."""
    listener = hosts.start(1, sys.executable, "-c", LISTEN, hosts.addresses[1], stdout=subprocess.PIPE)
    assert listener.stdout is not None
    assert listener.stdout.readline() == b"listening\n"
    began = monotonic()
    call(*hosts.command(0, sys.executable, "-c", SEND, hosts.addresses[1], str(count), str(DEADLINE)))
    came = int(listener.stdout.readline())
    return came, monotonic() - began


def test_hosts_reach_each_other_at_their_addresses() -> None:
    with Hosts(3) as hosts:
        assert send(hosts, 1_000_000)[0] == 1_000_000


def test_a_slow_link_takes_its_time() -> None:
    with Hosts(2) as hosts:
        hosts.slow(1, "10mbit")
        came, seconds = send(hosts, 1_000_000)
        assert came == 1_000_000
        assert seconds > 0.6


def test_a_cut_link_carries_nothing_until_it_is_mended() -> None:
    """What came before has told each where the other is: who asks in vain is told that nobody is, mended or not."""
    with Hosts(2) as hosts:
        assert send(hosts, 1000)[0] == 1000
        hosts.cut(1)
        with pytest.raises(subprocess.CalledProcessError) as caught:
            call(*hosts.command(0, sys.executable, "-c", SEND, hosts.addresses[1], "1", "2"))
        assert "TimeoutError" in caught.value.stderr
        hosts.mend(1)
        assert send(hosts, 1000)[0] == 1000


def test_nothing_is_left() -> None:
    """Processes and namespaces go with the harness, and those of a harness that was killed with the next."""
    with Hosts(1) as hosts:
        process = hosts.start(0, "sh", "-c", "echo there && exec tail -f /dev/null", stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline() == b"there\n"
    assert process.wait(DEADLINE) == -9
    gone = subprocess.Popen(["true"])
    assert gone.wait(DEADLINE) == 0
    ip("netns", "add", f"{harness.PREFIX}-{gone.pid}-0")
    with Hosts(1) as hosts:
        found = ip("netns", "list")
        assert hosts.names[0] in found
    left = ip("netns", "list")
    assert f"-{gone.pid}-" not in found
    assert hosts.names[0] not in left
