"""Hosts with addresses of their own (tests/end2end/hosts.py) on which `ray start` makes a cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.end2end.hosts import Hosts
from tests.end2end.ray_runs import OWN_THREADS, QUIET
from tests.end2end.running import DEADLINE
from tests.end2end.test_join import Talk
from tests.house.tree import ROOT

PORT = 6379
RAY = (sys.executable, "-c", "from ray.scripts.scripts import main; main()")
SESSIONS = Path("/tmp/ray")
"""Each host has a folder of its own here, since paths of sockets must be short."""
SIZE = ("--num-cpus", "2", "--object-store-memory", str(80 << 20), "--memory", str(1 << 30))
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "5" * 64}
"""The same for nodes, commands and the dashboard."""
LONG = 4 * DEADLINE


class RayHosts(Hosts):
    """Hosts with Ray; the first has the head. Leaving ends all."""

    def __init__(self, count: int, folder: Path) -> None:
        super().__init__(count)
        self.folder = folder

    def play(self, host: int, *command: str) -> Talk:
        """Start a command on a host, which sees its own sessions of Ray."""
        sessions = self.folder / f"ray-{host}"
        for path in (sessions, SESSIONS):
            path.mkdir(exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if name not in (*OWN_THREADS, "RAY_ADDRESS")}
        process = subprocess.Popen(
            self.seeing(host, {SESSIONS: sessions}, *command), cwd=self.folder, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env=kept | QUIET | TOKEN | {"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        self.processes.append(process)
        return Talk(process)

    def start_ray(self, *head: str) -> None:
        """Start the head with the options ``head``, then all other nodes."""
        own, *others = self.addresses
        shared = ("start", "--block", *SIZE, "--node-ip-address")
        first = self.play(0, *RAY, *shared, own, "--head", "--port", str(PORT), *head)
        first.until("Ray runtime started", LONG)
        for host, address in enumerate(others, start=1):
            self.play(host, *RAY, *shared, address, "--address", f"{own}:{PORT}").until("Ray runtime started", LONG)
