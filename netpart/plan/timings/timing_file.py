"""Timing files: measured seconds by the text of their question, kept for this user on this host.

A file holds for one processor, release of netpart, set of kernels, kind of numbers and count of threads. It is read
once and written at the end, together with what other processes have added meanwhile.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from netpart.files import read_file
from netpart.processor import this_processor
from netpart.resources import installed_version, user_cache_folder

FORMAT = "9"
"""To be changed when what is timed changes, here or of the host's figures: older files are then not read."""


class Timing(NamedTuple):
    """Measured ``seconds`` of a call of so many FLOPs on so many bytes."""

    seconds: float
    flops: float
    nbytes: float


@dataclass
class TimingFile:
    """The timings of one file. ``versions`` are all that they depend on; ``added`` are those of this process."""

    versions: Sequence[str]
    known: dict[str, Timing] = field(default_factory=dict)
    added: dict[str, Timing] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known = self._read()

    @property
    def path(self) -> Path:
        """The file."""
        texts = "\n".join((FORMAT, processor_name(), installed_version(), *self.versions))
        return user_cache_folder("timings") / f"{blake2b(texts.encode(), digest_size=12).hexdigest()}.json"

    def add(self, question: str, timing: Timing) -> None:
        """Keep a timing; ``save`` writes it."""
        self.known[question] = self.added[question] = timing

    def save(self) -> None:
        """Write what was added, if the folder can be written to."""
        if self.added:
            write_cache_json(
                self.path, {question: list(timing) for question, timing in (self._read() | self.added).items()}
            )
            self.added = {}

    def _read(self) -> dict[str, Timing]:
        """The timings in the file that can be used; those of a damaged file are measured again."""
        found = ((text, _read_timing(entry)) for text, entry in read_cache_json(self.path).items())
        return {text: timing for text, timing in found if timing is not None}


def _read_timing(entry: object) -> Timing | None:
    """The timing of three numbers, the first above 0; None for anything else."""
    if not isinstance(entry, list) or len(entry) != 3 or not all(type(n) in (int, float) for n in entry):
        return None
    good = all(math.isfinite(n) and n >= 0 for n in entry) and entry[0] > 0
    return Timing(*map(float, entry)) if good else None


def read_cache_json(path: Path) -> dict[str, object]:
    """The JSON object in a file of the cache; {} if the file is missing or cannot be read."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        found = json.loads(read_file(path))
        return found if isinstance(found, dict) else {}
    return {}


def write_cache_json(path: Path, value: dict[str, object] | dict[str, list[float]]) -> None:
    """Write a file of the cache whole, or not at all if the folder cannot be written to."""
    # Renamed when complete, and under a name of its own before: processes may write at the same time.
    partial = path.with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(value), encoding="utf-8")
        partial.replace(path)


def processor_name() -> str:
    """This host's processor, and the number of its cores."""
    return f"{this_processor()}; {os.cpu_count()} cores"
