"""The CuPy of these tests: the real one where there is a GPU, else its emulation."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any


@cache
def cupy() -> Any:
    """The module."""
    sys.path.insert(0, str(Path(__file__).with_name("emulator")))
    import cupy

    return cupy
