"""Several hosts on one machine: network namespaces with addresses of their own, on the ports of a switch.

    host 0 (10.77.0.1) eth0 ── p0 ┐
    host 1 (10.77.0.2) eth0 ── p1 ┼ switch
    host 2 (10.77.0.3) eth0 ── p2 ┘

The switch is a namespace too, so nothing of this machine's own network is touched, two harnesses never meet, and the
names carry the process that made them: what a killed test left is removed by the next. Abstract unix sockets belong to
a namespace, the file system and the processes are shared.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

PREFIX = "netpart-test"
NEEDS = "ip and tc (iproute2), root, and a kernel that gives network namespaces, bridges and tc tbf to this process"


class Hosts:
    """``count`` hosts that reach each other; ``addresses`` are theirs. Leaving ends all that runs on them."""

    def __init__(self, count: int) -> None:
        self.switch = f"{PREFIX}-{os.getpid()}-switch"
        self.names = [f"{PREFIX}-{os.getpid()}-{host}" for host in range(count)]
        self.addresses = [f"10.77.0.{host + 1}" for host in range(count)]
        self.processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        for name in stale():
            remove(name)
        try:
            self.build()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def build(self) -> None:
        """Makes the switch and plugs every host into it."""
        ip("netns", "add", self.switch)
        ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
        ip("-n", self.switch, "link", "set", "bridge", "up")
        for host, name in enumerate(self.names):
            port = f"p{host}"
            ip("netns", "add", name)
            ip("-n", self.switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("-n", self.switch, "link", "set", port, "master", "bridge", "up")
            ip("-n", name, "address", "add", f"{self.addresses[host]}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", "eth0", "up")

    def command(self, host: int, *command: str) -> list[str]:
        """``command`` as it is called to run on a host; the process keeps its id."""
        return ["ip", "netns", "exec", self.names[host], *command]

    def start(
        self, host: int, *command: str, environment: Mapping[str, str] | None = None, **options: Any
    ) -> subprocess.Popen[bytes]:
        """Starts a command on a host, with ``environment`` on top of this process's; it ends with the harness."""
        process: subprocess.Popen[bytes] = subprocess.Popen(
            self.command(host, *command), env=os.environ | dict(environment or {}), **options
        )
        self.processes.append(process)
        return process

    def seeing(self, host: int, mounts: Mapping[Path, Path], *command: str) -> list[str]:
        """``command`` as it is called to run on a host where each path of ``mounts`` shows what lies at another."""
        binds = " && ".join(f"mount --bind {shown} {path}" for path, shown in mounts.items())
        return self.command(host, "sh", "-c", f'{binds} && exec "$@"', "sh", *command)

    def slow(self, host: int, rate: str) -> None:
        """Lets the link of a host carry no more than ``rate`` (as tc says it: "10mbit") in each direction."""
        shape = ("root", "tbf", "rate", rate, "burst", "32kb", "latency", "400ms")
        call("tc", "-n", self.switch, "qdisc", "replace", "dev", f"p{host}", *shape)
        call("tc", "-n", self.names[host], "qdisc", "replace", "dev", "eth0", *shape)

    def cut(self, host: int) -> None:
        """Pulls the plug of a host: nobody is told, nothing arrives any more."""
        ip("-n", self.switch, "link", "set", f"p{host}", "down")

    def part(self, one: int, other: int) -> None:
        """Lets two hosts reach all others, but not each other."""
        for here, there in ((one, other), (other, one)):
            ip("-n", self.names[here], "route", "add", "blackhole", f"{self.addresses[there]}/32")

    def mend(self, host: int) -> None:
        """Plugs a host in again."""
        ip("-n", self.switch, "link", "set", f"p{host}", "up")

    def running(self, host: int) -> list[int]:
        """The processes on a host."""
        return [int(pid) for pid in ip("netns", "pids", self.names[host]).split()]

    def close(self) -> None:
        """Ends what runs, and removes hosts and switch; every process that was started here is reaped."""
        for name in [*self.names, self.switch]:
            remove(name)
        for process in self.processes:
            process.kill()
            process.communicate()


@pytest.fixture(scope="session")
def network() -> None:
    """Skips where there cannot be hosts."""
    missing = why_not()
    if missing:
        pytest.skip(missing)


def why_not() -> str:
    """Why there cannot be hosts here: "" if there can."""
    absent = [tool for tool in ("ip", "tc") if shutil.which(tool) is None]
    if absent:
        return f"several hosts need {NEEDS}; {' and '.join(absent)} not found"
    try:
        with Hosts(1) as hosts:
            hosts.slow(0, "10mbit")
    except subprocess.CalledProcessError as error:
        return f"several hosts need {NEEDS}; {' '.join(error.cmd)}: {error.stderr.strip()}"
    return ""


def stale() -> Iterator[str]:
    """Namespaces of harnesses whose process is gone."""
    for line in ip("netns", "list").splitlines():
        name = line.split()[0]
        if name.startswith(f"{PREFIX}-") and not Path(f"/proc/{name.split('-')[2]}").exists():
            yield name


def remove(name: str) -> None:
    """Ends every process of a namespace and deletes it, and its links with it."""
    with suppress(subprocess.CalledProcessError):  # it is not there
        for pid in ip("netns", "pids", name).split():
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        ip("netns", "delete", name)


def ip(*arguments: str) -> str:
    """What ``ip`` says. Raises CalledProcessError."""
    return call("ip", *arguments)


def call(*command: str) -> str:
    """What a command writes to stdout. Raises CalledProcessError."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


__all__: Sequence[str] = ("Hosts", "network", "why_not")
