"""The fuzzers by name."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from tests.fuzz.case import Fuzz

FUZZERS = {
    "jobs": "tests.fuzz.jobs:Jobs",
    "frames": "tests.fuzz.frames:Frames",
    "data": "tests.fuzz.data:DataFiles",
    "checkpoints": "tests.fuzz.checkpoints:Checkpoints",
}
OTHERS = {"faults": "tests.fuzz.faults:Faults"}
"""What tries the fuzzers themselves."""


def fuzzer(name: str, folder: Path) -> Fuzz:
    """The fuzzer of that name, to work in ``folder``."""
    module, _, kind = (FUZZERS | OTHERS)[name].partition(":")
    found: Fuzz = getattr(import_module(module), kind)(folder)
    return found
