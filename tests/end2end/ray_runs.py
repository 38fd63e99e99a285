"""Runs with --launcher ray, watched from outside, and the cluster that they use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Event
from time import monotonic
from types import TracebackType
from typing import Any, Self

from tests.end2end.running import DEADLINE
from tests.end2end.test_join import Talk
from tests.house.tree import ROOT

NODES = (sys.executable, "-m", "tests.end2end.ray_nodes")
NETPART = (sys.executable, "-m", "netpart")
QUIET = {"RAY_USAGE_STATS_ENABLED": "0"}
OWN_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Set for these tests, and absent in the cluster: there Ray sets the first one."""


class FakeCluster:
    """Nodes that share this host (tests/end2end/ray_nodes.py). Leaving ends them all."""

    def __init__(self, cpus: int, nodes: int, environment: Mapping[str, str] | None = None) -> None:
        kept = {name: value for name, value in os.environ.items() if name not in OWN_THREADS}
        self.environment = kept | QUIET | dict(environment or {})
        self.before = shared_memory()
        self.process = subprocess.Popen(
            [*NODES, str(cpus), str(nodes)], cwd=ROOT, env=self.environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        started = self.hear()
        self.environment |= {"RAY_ADDRESS": started["address"]}
        self.nodes: list[str] = started["nodes"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(DEADLINE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        await_true(lambda: not shared_memory() - self.before, "shared memory of Ray is left")

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        said: dict[str, Any] = json.loads(self.process.stdout.readline())
        return said

    def ask(self, do: str, **values: Any) -> dict[str, Any]:
        """Do something with the nodes (see ray_nodes.py); what is answered."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": do, **values}) + "\n")
        self.process.stdin.flush()
        return self.hear()

    def restore(self, count: int) -> None:
        """Add the nodes that have died."""
        self.nodes = self.ask("restore", count=count)["nodes"]

    def run(self, conf: Path, workspace: Path, *options: str) -> Talk:
        """Start a run in the cluster."""
        command = [*NETPART, "run", str(conf), "--launcher", "ray", "--workspace", str(workspace), *options]
        return Talk(
            subprocess.Popen(command, cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        )


def finish(run: Talk, code: int, seconds: float = 4 * DEADLINE) -> str:
    """All that a run has said, after it has ended with ``code``."""
    assert run.end(seconds) == code, run.lines
    assert run.process.stdout is not None
    run.process.stdout.close()
    return "".join(run.lines)


def await_true(true: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
    """Wait until something is true; Ray says it to nobody."""
    end = monotonic() + seconds
    while not true():
        assert monotonic() < end, what
        Event().wait(0.05)


def shared_memory() -> set[str]:
    """The files in /dev/shm that are Ray's or netpart's."""
    return {path.name for path in Path("/dev/shm").iterdir() if "netpart" in path.name or "plasma" in path.name}


def processes(word: str) -> list[int]:
    """The processes with ``word`` in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if word in (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"):
                found.append(int(path.name))
    return found


def check_nothing_is_left(run: Talk) -> None:
    """No worker of the run, and no listener at its port. Ray ends its processes a moment after it has been asked."""
    (port,) = {line.split(";")[0].rpartition(":")[2] for line in run.lines if "the coordinator listens at" in line}
    await_true(lambda: not processes(f":{port} --rank "), "workers are left")
    assert not listens(int(port))


def listens(port: int) -> bool:
    """True if a socket listens at a TCP port."""
    lines = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    return any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A" for line in lines)


def losses(workspace: Path) -> list[dict[str, float]]:
    """The metrics of a run, in order."""
    lines = (workspace / "metrics.jsonl").read_text().splitlines()
    return [record["metrics"] for line in lines if "metrics" in (record := json.loads(line))]
