"""What CuPy does by itself: each kernel of its own would be compiled when it is first met, and takes a host longer than
one of netpart's."""

from __future__ import annotations

from typing import Any

import pytest

from netpart.kernels.op import Array
from tests.cuda.module import emulated


def watched(patch: pytest.MonkeyPatch) -> list[str]:
    """Grows by the name of all that the emulated CuPy does by itself from now on, as long as ``patch`` holds; the
    driver fills in 0."""
    found: list[str] = []
    module = emulated("cupy.array")
    called = module.called
    assign = module.ndarray.__setitem__
    fetch = module.ndarray.get

    def counted(function: Any, *args: Any) -> Any:
        found.extend({getattr(function, "__name__", "?")} - {*module.VIEWS, "fill"})
        return called(function, *args)

    def assigned(array: Array, index: Any, value: Any) -> None:
        found.append("copy")
        assign(array, index, value)

    def fetched(array: Array, *args: Any, **kwargs: Any) -> Any:
        found.extend([] if array.flags.c_contiguous else ["copy of pieces"])
        return fetch(array, *args, **kwargs)

    patch.setattr(module, "called", counted)
    patch.setattr(module.ndarray, "__setitem__", assigned)
    patch.setattr(module.ndarray, "get", fetched)
    return found
