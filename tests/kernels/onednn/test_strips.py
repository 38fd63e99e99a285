from __future__ import annotations

import numpy as np
import pytest

from netpart.kernels.onednn.strips import BYTES, MOST, Strip, cut_strips, group_strips
from netpart.kernels.op import Array, Window
from netpart.spec import Shape

THREE = Window((3, 3), (1, 1), ((1, 1), (1, 1)))


def found(batch: int, channels: int, filters: int, *space: int) -> tuple[list[Strip], Array]:
    """The strips of a convolution that keeps its extents, and its output."""
    x, y = (np.zeros((batch, n, *space), np.float32) for n in (channels, filters))
    return cut_strips(x, y, np.zeros((filters, channels, 3, 3), np.float32), THREE), y


@pytest.mark.parametrize(
    "shape", [(2, 64, 64, 112, 112), (9, 32, 16, 28, 28), (3, 1, 8, 300, 300), (400, 16, 16, 9, 7)]
)
def test_every_place_is_in_one_strip(shape: Shape) -> None:
    parts, y = found(*shape)
    assert len(parts) > 1
    for _, made, _ in parts:
        made += 1
    assert (y == 1).all()


def test_a_strip_fits_into_the_cache() -> None:
    for seen, made, window in found(2, 64, 64, 112, 112)[0]:
        halo = sum(2 - low - high for low, high in window.pads[:1]) * seen[:, :, 0].nbytes
        assert seen.nbytes - halo + made.nbytes <= BYTES


def test_of_few_channels_no_strip_has_many_places() -> None:
    parts, _ = found(1, 1, 2, 400, 400)
    assert max(made[0, 0].size for _, made, _ in parts) <= MOST


@pytest.mark.parametrize("shape", [(2, 64, 64, 28, 28), (1, 512, 512, 56, 56)], ids=["all fits", "its weights do not"])
def test_one_strip_where_more_do_not_pay(shape: Shape) -> None:
    assert len(found(*shape)[0]) == 1


def test_strips_that_differ_in_place_alone_are_alike() -> None:
    parts, _ = found(2, 64, 64, 112, 112)
    kinds = group_strips(parts)
    assert sum(map(len, kinds)) == len(parts)
    assert len(kinds) == 3, "at the upper border, in the middle and at the lower border"
