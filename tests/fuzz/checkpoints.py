"""Checkpoints: safetensors files with wrong headers and wrong values, read by region, and by runs that go on from
them."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from netpart.checkpoint.safetensors_file import open_checkpoint
from netpart.launch.run import run_job
from netpart.proto.reader import Job, read_job_text
from tests.fuzz.case import Case, Fuzz
from tests.fuzz.job_texts import DATA, HEAD, HIDDEN, IP, net, updater
from tests.fuzz.mutate import WORDS, Field, mutated, number
from tests.fuzz.strange import KINDS, clear

LENGTH = struct.Struct("<Q")
FIELDS: tuple[Field, ...] = ((0, "<Q"),)
RUNS = 4
"""Of so many cases one is a run that goes on."""
TEXT = HEAD + updater("kAdam", "kLinear") + net(DATA % "6" + HIDDEN + IP % "h")


class Checkpoints(Fuzz):
    """Reads a checkpoint with something wrong in it, or goes on from it."""

    seconds = 20.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.workspace = folder / "ws"
        self.run(2)
        found = sorted((self.workspace / "checkpoint").rglob("*.safetensors"))
        self.files = {path: path.read_bytes() for path in found if "00000002" in path.name}

    def job(self, steps: int) -> Job:
        """The job that makes the checkpoints, and goes on from them."""
        changes = [f"train_steps={steps}", "test_steps=0", "test_freq=0", "checkpoint_freq=2"]
        return read_job_text(TEXT, "job.conf", changes)

    def run(self, steps: int, resume: bool = False) -> None:
        """A run of the job on one worker."""
        job = self.job(steps)
        job.proto.resume = resume
        run_job(job, 1, launcher="threads", listener=lambda event: None, workspace=self.workspace)

    def sound(self) -> Iterator[Case]:
        for path, content in self.files.items():
            write = partial(written, content)
            yield Case(path.name, partial(self.read, path, write))
            yield Case(path.name, partial(self.resume, path, write))

    def case(self, draw: Random) -> Case:
        path = draw.choice(list(self.files))
        play = self.resume if draw.randrange(RUNS) == 0 else self.read
        content, way = self.files[path], draw.random()
        names = (".safetensors", "diverged")
        if way < 0.08:
            kind = draw.choice(KINDS)
            return Case(f"{path.name} is {kind.__name__}", partial(play, path, lambda p: kind(p, content, draw)), names)
        what, changed = rewritten(content, draw) if way < 0.7 else ("bytes changed", mutated(content, draw, FIELDS))
        return Case(f"{path.name}: {what}", partial(play, path, partial(written, changed)), names)

    def placed(self, path: Path, write: Callable[[Path], object]) -> None:
        """Puts the files where a run looks for them, this one as ``write`` makes it."""
        shutil.rmtree(self.workspace / "checkpoint", ignore_errors=True)
        for other, content in self.files.items():
            other.parent.mkdir(parents=True, exist_ok=True)
            if other != path:
                other.write_bytes(content)
        write(path)

    def read(self, path: Path, write: Callable[[Path], object]) -> None:
        """Reads every tensor whole."""
        self.placed(path, write)
        try:
            with open_checkpoint(path) as saved:
                for name, tensor in saved.tensors.items():
                    box = tuple((0, n) for n in tensor.shape)
                    saved.read_region(name, box, np.empty(tensor.shape, tensor.item))
        finally:
            clear(path)

    def resume(self, path: Path, write: Callable[[Path], object]) -> None:
        """Goes on for a step."""
        self.placed(path, write)
        try:
            self.run(3, resume=True)
        finally:
            clear(path)


def written(content: bytes, path: Path) -> None:
    """Writes a file."""
    path.write_bytes(content)


def rewritten(content: bytes, draw: Random) -> tuple[str, bytes]:
    """A checkpoint whose header has another entry, and its length as it is then; what has changed comes first."""
    (length,) = LENGTH.unpack_from(content)
    header, rest = json.loads(content[8 : 8 + length]), content[8 + length :]
    name = draw.choice(list(header))
    what = altered(header, name, draw)
    text = json.dumps(header).encode(errors="replace")
    if draw.random() < 0.2 and rest:
        floats = np.frombuffer(rest[: len(rest) // 4 * 4], np.float32).copy()
        floats[draw.randrange(len(floats))] = draw.choice((np.nan, np.inf, -np.inf, 3e38, 0))
        rest = floats.tobytes()
    return what, LENGTH.pack(len(text)) + text + rest


def altered(header: dict[str, Any], name: str, draw: Random) -> str:
    """Changes entry ``name`` of a header, and says how."""
    way = draw.randrange(6)
    entry = header[name]
    if way == 0:
        del header[name]
        return f"without {name}"
    if way == 1:
        header[draw.choice(WORDS)[:100]] = entry
        return f"{name} under another name, too"
    if way == 2:
        header[name] = value(draw)
        return f"{name} is {header[name]!r:.40}"
    key = draw.choice(list(entry))
    if way == 3 and isinstance(entry[key], list) and entry[key]:
        entry[key][draw.randrange(len(entry[key]))] = draw.choice((number(draw), 1.5, "1", None, True))
    elif way == 4:
        entry.pop(key)
    else:
        entry[key] = draw.choice((value(draw), draw.choice(WORDS), str(number(draw)), "F64", "BF16", "I64"))
    return f"{name}.{key} is {entry.get(key)!r:.40}"


def value(draw: Random) -> Any:
    """Something that JSON can say."""
    return draw.choice((None, True, 0, -1, 1e400, number(draw), [], [[]], {}, {"": ""}, "", [number(draw)] * 70, "x"))
