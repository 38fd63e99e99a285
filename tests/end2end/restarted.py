"""Runs with --restarts, watched from outside: their processes, what is done to them, and what they leave."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.end2end.ray_runs import await_true
from tests.end2end.running import DEADLINE
from tests.end2end.test_join import NETPART, TOKEN, Talk
from tests.house.tree import ROOT

LONG = 4 * DEADLINE


class RestartedRun:
    """A run of ``conf`` in ``workspace``, and workers that join it; leaving ends all of them."""

    def __init__(self, conf: Path, workspace: Path, *options: str, token: bool = True) -> None:
        self.workspace = workspace
        self.environment = os.environ | (TOKEN if token else {})
        command = ("run", str(conf), "--workspace", str(workspace), *options)
        self.run = self.start(*command)
        self.joined: list[Talk] = []

    def start(self, *command: str) -> Talk:
        return Talk(
            subprocess.Popen(
                [*NETPART, *command], cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        )

    def join(self, address: str, *options: str) -> None:
        """Start a worker that joins at ``address``."""
        self.joined.append(self.start("worker", "--join", address, *options))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in (self.run, *self.joined):
            if each.process.stdout is not None and not each.process.stdout.closed:
                each.process.kill()
                end_of(each)

    def coordinator(self) -> int:
        """The process of the coordinator."""
        (pid,) = children(self.run.process.pid)
        return pid

    def workers(self) -> list[int]:
        """The processes that the coordinator has started, in the order of their ranks."""
        return children(self.coordinator())

    def reach(self, step: int) -> None:
        """Wait for the report of ``step``."""
        self.run.until(rf"^Train @ step {step} ", LONG)

    def finish(self, code: int = 0) -> str:
        """All that the run has said, after it has ended with ``code``."""
        assert end_of(self.run) == code, self.run.lines
        return "".join(self.run.lines)

    def lines(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl."""
        return [json.loads(line) for line in (self.workspace / "metrics.jsonl").read_text().splitlines()]

    def check_nothing_is_left(self, known: Sequence[int]) -> None:
        """None of the ``known`` processes, no partial file, no shared memory, no address of a coordinator."""
        await_true(lambda: not [pid for pid in known if is_alive(pid)], "processes are left")
        assert not list(self.workspace.glob("checkpoint/*.partial"))
        assert not [path for path in Path("/dev/shm").iterdir() if "netpart" in path.name]


def end_of(process: Talk) -> int:
    """The exit code of a process, once it has ended and all that it has said is read."""
    code = process.end(LONG)
    assert process.process.stdout is not None
    process.process.stdout.close()
    return code


def children(pid: int) -> list[int]:
    """The processes that ``pid`` has started and that live."""
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()))


def is_alive(pid: int) -> bool:
    """True for a process that has not ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    return False


def send_signal(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process that may have ended."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def free_port() -> int:
    """A port of this host that nobody uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
