from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.synthetic_masks import SyntheticMaskRows

SHAPE = (2, 12, 10)


def read(rows: SyntheticMaskRows, step: int, lo: int, hi: int) -> tuple[NDArray[Any], NDArray[Any]]:
    data, label = np.full((hi - lo, *SHAPE), np.nan), np.full((hi - lo, 120), -7, np.int32)
    rows.read(step, lo, hi, data, label)
    return data, label


def test_every_place_has_the_colour_of_its_class() -> None:
    data, label = read(SyntheticMaskRows(SHAPE, 3, batch=4, noise=0), 0, 0, 4)
    assert set(np.unique(label)) == {0, 1, 2}
    for k in range(3):
        colours = data.reshape(4, 2, -1).transpose(0, 2, 1)[label == k]
        assert (colours == colours[0]).all()


def test_a_row_is_the_map_shifted_around() -> None:
    _, label = read(SyntheticMaskRows(SHAPE, 3, batch=6), 0, 0, 6)
    maps = label.reshape(6, 12, 10)
    shifted = [np.roll(maps[0], (i, j), (0, 1)) for i in range(12) for j in range(10)]
    assert all(any((found == other).all() for other in shifted) for found in maps)
    assert len({found.tobytes() for found in maps}) > 1


def test_the_parts_make_the_whole_and_a_box_is_a_part() -> None:
    rows = SyntheticMaskRows(SHAPE, 3, batch=5)
    whole, labels = read(rows, 2, 0, 5)
    for lo, hi in ((0, 2), (2, 5)):
        part, some = read(SyntheticMaskRows(SHAPE, 3, batch=5), 2, lo, hi)
        np.testing.assert_array_equal(part, whole[lo:hi])
        np.testing.assert_array_equal(some, labels[lo:hi])
    box = np.empty((5, 1, 4, 10))
    rows.read(2, 0, 5, box, None, ((1, 2), (3, 7), (0, 10)))
    np.testing.assert_array_equal(box, whole[:, 1:2, 3:7])
