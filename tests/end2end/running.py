"""A run in a process of its own, watched from outside: what it tells, what becomes of its processes, what it leaves."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Self

DRIVER = Path(__file__).with_name("driver.py")
DEADLINE = 60.0
"""Seconds after which a test gives up."""
SOON = 20.0
"""Seconds within which a run that fails has ended, whoever else wants the cores: its job's deadline, 60 s, is not what
ends it."""

Told = dict[str, Any]


class Run:
    """A driver that was started; ``told`` are the lines read from it so far, ``pids`` its workers.

    ``within`` is a command that runs it elsewhere, in place of itself; ``environment`` comes on top of this process's.
    """

    def __init__(
        self, conf: Path, workers: int, workspace: Path, within: Sequence[str] = (),
        environment: Mapping[str, str] | None = None, **options: Any,
    ) -> None:  # fmt: skip
        self.workspace = workspace
        self.told = list[Told]()
        self.rest = b""
        self.pids: list[int] = []
        self.watches: list[int] = []
        self.temporary = workspace.with_name(workspace.name + "-tmp")
        self.temporary.mkdir(parents=True)
        asked = {"conf": str(conf), "workers": workers, "workspace": str(workspace), **options}
        self.process = subprocess.Popen(
            [*within, sys.executable, str(DRIVER), json.dumps(asked)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=os.environ | {"TMPDIR": str(self.temporary)} | dict(environment or {}),
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.communicate()
        for watch in self.watches:
            os.close(watch)

    def read(self) -> Told | None:
        """The next line, None at the end of the run."""
        assert self.process.stdout is not None
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.process.stdout], [], [], DEADLINE)
            assert ready, f"nothing was told in {DEADLINE} s"
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                return None
            self.rest += data
        line, _, self.rest = self.rest.partition(b"\n")
        told: Told = json.loads(line)
        self.told.append(told)
        if told["kind"] == "spawned":
            self.pids = told["pids"]
            for pid in self.pids:
                with suppress(ProcessLookupError):  # read late: it has ended
                    self.watches.append(os.pidfd_open(pid))
        return told

    def until(self, wanted: Callable[[Told], bool]) -> Told:
        """Reads on to the first line that is wanted."""
        end = monotonic() + 4 * DEADLINE
        while (told := self.read()) is not None:
            if wanted(told):
                return told
            assert monotonic() < end, f"not told in {4 * DEADLINE} s: {self.told[-3:]}"
        raise AssertionError(f"ended before: {self.told[-3:]}, {self.errors()}")

    def until_told(self, lines: int) -> None:
        """Reads until the workers are there and so many lines have been told."""
        self.until(lambda told: bool(self.pids) and len(self.told) >= lines)

    def end(self) -> int:
        """Reads to the end; the exit code."""
        end = monotonic() + 4 * DEADLINE
        while self.read() is not None:
            assert monotonic() < end, f"not ended in {4 * DEADLINE} s: {self.told[-3:]}"
        return self.process.wait(DEADLINE)

    def signal(self, number: signal.Signals, rank: int | None = None) -> float:
        """Sends a signal to a worker, or to the parent; returns when."""
        os.kill(self.process.pid if rank is None else self.pids[rank], number)
        return monotonic()

    def await_silence(self, seconds: float) -> None:
        """Reads what is told, for so long: what a suspended run tells is nothing."""
        end = monotonic() + seconds
        assert self.process.stdout is not None
        while (left := end - monotonic()) > 0:
            if select.select([self.process.stdout], [], [], left)[0]:
                self.rest += os.read(self.process.stdout.fileno(), 1 << 16)

    def of(self, kind: str) -> list[Told]:
        """The lines of one kind."""
        return [told for told in self.told if told["kind"] == kind]

    def failure(self) -> str:
        """The one message with which the run failed."""
        (failed,) = self.of("failed")
        return str(failed["message"])

    def errors(self) -> str:
        """What was written to stderr; after the end."""
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()

    def await_workers(self, seconds: float) -> None:
        """Waits until no worker is left."""
        end, left = monotonic() + seconds, set(self.watches)
        while left:
            ended, _, _ = select.select(list(left), [], [], max(0.0, end - monotonic()))
            assert ended, f"{len(left)} workers outlive the run"
            left -= set(ended)

    def check_nothing_is_left(self) -> None:
        """No process, no socket, no shared memory, no temporary file."""
        self.await_workers(0)
        sockets = Path("/proc/net/unix").read_text(encoding="utf-8")
        names = [address[6:] for told in self.told if (address := told.get("address", "")).startswith("ipc://")]
        assert names
        assert not [name for name in names if name in sockets]
        assert not list(self.temporary.iterdir())
        assert not [path for path in Path("/dev/shm").iterdir() if "netpart" in path.name]
        assert not [path for path in shared_memory(self.pids) if "netpart" in path]


def shared_memory(pids: list[int]) -> list[str]:
    """The memory without a name that any process maps or holds open and that one of ``pids`` has made."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            found += (process / "maps").read_text().split("\n")
            found += [os.readlink(descriptor) for descriptor in (process / "fd").iterdir()]
    return [line for line in found if any(f"memfd:netpart-{pid} " in line for pid in pids)]


def mlp(folder: Path, name: str = "mlp", **fields: Any) -> Path:
    """Writes a small job with every kind of event: tests, checkpoints, a cut on each axis, buckets, bridges."""
    settings = {"train_steps": 12, "disp_freq": 1, "test_freq": 5, "test_steps": 2, "checkpoint_freq": 4, "seed": 3}
    lines = "\n".join(f"{key}: {value}" for key, value in {**settings, **fields}.items())
    path = folder / f"{name}.conf"
    path.write_text(MLP.replace("SETTINGS", lines), encoding="utf-8")
    return path


MLP = """
name: "mlp"
SETTINGS
train_one_batch { alg: kBP }
updater { type: kSGD momentum: 0.9 learning_rate { type: kFixed base_lr: 0.05 } }
neuralnet {
  partition_dim: 0
  layer {
    name: "data" type: kSyntheticInput include: kTrain partition_dim: -1
    store_conf { shape: 8 batchsize: 12 } synthetic_conf { classes: 4 }
  }
  layer {
    name: "data" type: kSyntheticInput include: kTest partition_dim: -1
    store_conf { shape: 8 batchsize: 6 } synthetic_conf { classes: 4 }
  }
  layer {
    name: "fc1" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 16 }
    param { name: "w1" init { type: kUniformSqrtFanIn } } param { name: "b1" init { type: kConstant } }
  }
  layer { name: "relu" type: kReLU srclayers: "fc1" }
  layer {
    name: "fc2" type: kInnerProduct srclayers: "relu" partition_dim: 1 innerproduct_conf { num_output: 4 }
    param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant } }
  }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc2" srclayers: "data" }
}
"""
