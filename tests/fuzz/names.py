"""The fuzzers by name."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from tests.fuzz.case import Fuzz

FUZZERS = {
    "jobs": "tests.fuzz.jobs:Jobs",
    "blocks": "tests.fuzz.block_jobs:BlockJobs",
    "frames": "tests.fuzz.frames:Frames",
    "data": "tests.fuzz.data:DataFiles",
    "checkpoints": "tests.fuzz.checkpoints:Checkpoints",
}
OTHERS = {
    "tensors": "tests.fuzz.tensors:Tensors",
    "lanes": "tests.fuzz.lanes:Lanes",
    "words": "tests.fuzz.words:Words",
    "faults": "tests.fuzz.faults:Faults",
}
"""The parts of frames, and what tries the fuzzers themselves."""


def fuzzer(name: str, folder: Path) -> Fuzz:
    """The fuzzer of that name, to work in ``folder``."""
    module, _, kind = (FUZZERS | OTHERS)[name].partition(":")
    found: Fuzz = getattr(import_module(module), kind)(folder)
    return found
