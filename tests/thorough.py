"""How much of a test `make test` runs, and how much more `make test-thorough` does.

Both try every law. `make test` takes a repeatable sample of the examples, so that it ends within minutes. Continuous
integration also runs a part of what `make test-thorough` does, another one for each commit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any
from zlib import crc32

import pytest

THOROUGH = os.environ.get("NETPART_THOROUGH", "0") != "0"
"""True in `make test-thorough`."""
PART = os.environ.get("NETPART_PART", "0/1")
"""Of the tests of `make test-thorough`: 3/4 is the last of four parts, the first of which is 0/4."""
SHARE = 0.25
"""Of the examples of a law, in `make test`."""
FEWEST = 5


def example_count(count: int) -> int:
    """``count`` in `make test-thorough`, else a share of it."""
    return count if THOROUGH else min(count, max(FEWEST, round(SHARE * count)))


def in_part(name: str, part: str = PART) -> bool:
    """True if the test of this name is in ``part`` of the thorough tests; each is in one of all parts."""
    number, parts = map(int, part.split("/"))
    return crc32(name.encode()) % parts == number


def sampled(cases: Iterable[Any], every: int) -> list[Any]:
    """Parameters of a test: the first and every ``every``-th case after it; `make test-thorough` runs the others."""
    return [case if n % every == 0 else _thorough_case(case) for n, case in enumerate(cases)]


def _thorough_case(case: Any) -> Any:
    """The case as a parameter with the mark ``thorough``, besides the marks that it has."""
    if isinstance(case, type(pytest.param())):
        return pytest.param(*case.values, marks=(*case.marks, pytest.mark.thorough), id=case.id)
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.thorough)
