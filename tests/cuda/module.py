"""The CuPy of these tests: the real one where they are to run on a GPU, else its emulation."""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from netpart.kernels.cuda.device import thread_stream

EMULATOR = str(Path(__file__).with_name("emulator"))
ON_GPU = os.environ.get("NETPART_TEST_GPU", "0") != "0"
"""True if these tests are to run on a GPU."""
GPUS = "EMULATED_GPUS"
"""How many GPUs the emulation has for those who look for one; without it none, as other tests run in this process."""


@cache
def cupy() -> Any:
    """The module; what tests do with it goes to the stream that kernels go to."""
    found = import_module("cupy") if ON_GPU else emulated()
    thread_stream(found).use()
    return found


@cache
def emulated(name: str = "cupy") -> Any:
    """A module of the emulation, which goes by the name of CuPy: from then on that is found instead."""
    assert not ON_GPU, "expected the tests of tests/cuda alone on a GPU, got one that emulates one"
    if EMULATOR not in sys.path:
        sys.path.insert(0, EMULATOR)
    return import_module(name)


def missing() -> str:
    """Why these tests cannot run on a GPU; "" if they can."""
    from netpart.kernels.device import missing_gpu

    return missing_gpu()


def provide(patch: pytest.MonkeyPatch, gpus: int = 1) -> None:
    """Lets jobs on "cuda" find a GPU in this process and in those that it starts, for as long as ``patch`` holds.

    The emulation can have several ``gpus``.
    """
    if not ON_GPU:
        cupy()
        patch.setenv(GPUS, str(gpus))
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [EMULATOR, os.environ.get("PYTHONPATH", "")])))
