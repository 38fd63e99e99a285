"""Verbs on the GPU, or on its emulation, beside the reference: the same arrays, lying in any order, and agreement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from netpart.errors import DataError
from netpart.kernels import reference
from netpart.kernels.op import Array, Op
from tests.cuda.module import cupy

Bind = Callable[..., Op]
"""From kernels and arrays to the Op."""

ORDERS = st.sampled_from(["plain", "last", "crop"])
"""As written; channels innermost; that, as a box of something larger."""
DTYPES = st.sampled_from(["float64", "float32"])
TOLERANCE = {"float64": 1e-12, "float32": 2e-5}


def fast(dtype: str, precision: str = "float32") -> Any:
    """Kernels on the GPU: the same for all."""
    return kept(dtype, precision)


@cache
def kept(dtype: str, precision: str) -> Any:
    """The same by their arguments, in whichever way they are given."""
    from netpart.kernels.cuda.kernels import Kernels

    return Kernels(cupy(), dtype, precision)


def afresh() -> Any:
    """Kernels on the GPU in float64 that have bound nothing yet."""
    from netpart.kernels.cuda.kernels import Kernels

    return Kernels(cupy(), "float64")


def complains(message: str) -> Any:
    """Expects a DataError that begins with ``message``."""
    return pytest.raises(DataError, match=f"^{message}")


def lying(array: Array, order: str) -> Array:
    """A copy of ``array`` on the device that lies in ``order``; what has no space lies as written."""
    xp = cupy()
    if array.ndim < 3 or order == "plain":
        return xp.asarray(np.ascontiguousarray(array))
    last, margin = np.moveaxis(array, 1, -1), int(order == "crop")
    large = np.full([n + 2 * margin for n in last.shape], 99, array.dtype)
    inner = tuple(slice(margin, margin + n) for n in last.shape)
    large[inner] = last
    axes = (0, last.ndim - 1, *range(1, last.ndim - 1))
    return xp.asarray(large)[inner].transpose(axes)


def agree(
    bind: Bind, *arrays: Array | None, dtype: str = "float64", order: str = "plain", tolerance: float = 0,
    metrics: Array | None = None, precision: str = "float32",
) -> None:  # fmt: skip
    """Plays ``bind(kernels, *arrays)`` by both kernels, and asserts that all arrays are the same behind it.

    The device plays it twice, its threads in another order, and has to find the same bits.

    Arrays of floating point are taken in ``dtype``; None stays None. The last are ``metrics``, unless None: in float64.
    """
    given = [a if a is None or a.dtype.kind != "f" else a.astype(dtype) for a in arrays]
    given += [] if metrics is None else [metrics]
    wanted, kernels = _by_reference(bind, given, dtype), fast(dtype, precision)
    got, again = (_by_device(bind, given, kernels, order) for _ in range(2))
    for a, b, c in zip(got, wanted, again, strict=True):
        if a is not None and b is not None and c is not None:
            near(a, b, tolerance or TOLERANCE[dtype])
            assert a.tobytes() == c.tobytes(), "expected the same bits of every order of threads"


def near(got: Array, wanted: Array, tolerance: float) -> None:
    """Asserts equality relative to the largest element."""
    size = float(np.max(np.abs(wanted), initial=0, where=np.isfinite(wanted)))
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance * max(1.0, size))


def _by_reference(bind: Bind, arrays: Sequence[Array | None], dtype: str) -> list[Array | None]:
    found = [None if a is None else a.copy() for a in arrays]
    op = bind(reference.Kernels(np, dtype), *found)
    op.run(*[np.full(shape, 1, kind) for shape, kind in op.scratch])
    return found


def _by_device(bind: Bind, arrays: Sequence[Array | None], kernels: Any, order: str) -> list[Array | None]:
    found = [None if a is None else lying(a, order) for a in arrays]
    play(bind(kernels, *found))
    return [None if a is None else a.get() for a in found]


def play(op: Op) -> None:
    """Runs the Op with scratch full of rubbish, to its end: that and what the Op is bound to live no longer."""
    scratch = [rubbish(shape, np.dtype(kind)) for shape, kind in op.scratch]
    op.run(*scratch)
    cupy().cuda.get_current_stream().synchronize()


def rubbish(shape: tuple[int, ...], dtype: Any) -> Array:
    """Scratch: numbers that show; a workspace, which may be large, as it comes."""
    if dtype == np.uint8:
        return cupy().empty(shape, dtype)
    return cupy().asarray(np.full(shape, np.nan if dtype.kind == "f" else 1, dtype))
