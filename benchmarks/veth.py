"""VethPair: two network namespaces with a pair of virtual Ethernet devices between them. Needs root and iproute2."""

from __future__ import annotations

import os
import subprocess
from types import TracebackType
from typing import Self

ADDRESSES = "10.78.0.1", "10.78.0.2"
NEEDS = "ip and tc (iproute2), root, and a kernel that gives network namespaces to this process"


class VethPair:
    """Two namespaces, ``names``, that reach each other at ``ADDRESSES``. Leaving the context removes both."""

    def __init__(self) -> None:
        self.names = [f"netpart-bench-{os.getpid()}-{side}" for side in range(2)]

    def __enter__(self) -> Self:
        first, second = self.names
        try:
            for name in self.names:
                _call("ip", "netns", "add", name)
            _call("ip", "-n", first, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", second)
            for name, address in zip(self.names, ADDRESSES, strict=True):
                _call("ip", "-n", name, "address", "add", f"{address}/24", "dev", "eth0")
                _call("ip", "-n", name, "link", "set", "lo", "up")
                _call("ip", "-n", name, "link", "set", "eth0", "up")
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def slow(self, rate: str) -> None:
        """Let the link carry at most ``rate`` in each direction, as tc writes it: "1gbit"."""
        for name in self.names:
            shape = "root", "tbf", "rate", rate, "burst", "256kb", "latency", "100ms"
            _call("tc", "-n", name, "qdisc", "replace", "dev", "eth0", *shape)

    def remove(self) -> None:
        """Delete what exists of the namespaces; their link goes with them."""
        for name in self.names:
            subprocess.run(["ip", "netns", "delete", name], check=False, stderr=subprocess.DEVNULL)


def inside(name: str, *command: str) -> list[str]:
    """``command`` as it is called to run in the namespace ``name``."""
    return ["ip", "netns", "exec", name, *command]


def _call(*command: str) -> None:
    """Run a command. Raises RuntimeError with what it wrote, and what is needed."""
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    except FileNotFoundError:
        raise RuntimeError(f"expected {NEEDS}; {command[0]} not found") from None
    if done.returncode:
        raise RuntimeError(f"expected {NEEDS}; {' '.join(command)}: {done.stderr.strip()}")
