"""What the tests of the oneDNN kernels share: both kernels, arrays that lie in any order, and agreement."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from netpart.kernels import reference
from netpart.kernels.onednn.kernels import Kernels
from netpart.kernels.onednn.library import missing_onednn
from netpart.kernels.op import Array

needed = pytest.mark.skipif(bool(missing_onednn()), reason=missing_onednn())

REFERENCE = reference.Kernels(np, "float32")

ORDERS = st.sampled_from(["plain", "last"])
"""As written; channels innermost."""


def fast() -> Kernels:
    """Kernels that have bound nothing yet."""
    return Kernels(np, "float32")


def lying(order: str, array: Array) -> Array:
    """A float32 copy of ``array`` (B, C, ...) that lies in ``order``."""
    array = np.array(array, "float32", order="C")
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 1, -1)), -1, 1) if order == "last" else array


def near(got: Array, wanted: Array, tolerance: float = 2e-5) -> None:
    """Asserts equality relative to the largest element."""
    np.testing.assert_allclose(
        got, wanted, rtol=tolerance, atol=tolerance * max(1.0, float(np.max(np.abs(wanted), initial=0)))
    )
