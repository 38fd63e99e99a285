from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.data.crop_images import crop_images
from netpart.spec import Region
from tests.datasets.samples import pixels

ROWS, SIZE = 3, 4
IMAGES = pixels(ROWS, (2, 6, 7))
SQUARE = (2, SIZE, SIZE)
BOXES = st.tuples(*(st.tuples(st.integers(0, n), st.integers(0, n)).map(lambda p: (min(p), max(p))) for n in SQUARE))


def cropped(top: int, left: int, mirror: bool, image: Any) -> Any:
    square = image[:, top : top + SIZE, left : left + SIZE]
    return np.flip(square, axis=2) if mirror else square


@given(
    tops=st.lists(st.integers(0, 2), min_size=ROWS, max_size=ROWS),
    lefts=st.lists(st.integers(0, 3), min_size=ROWS, max_size=ROWS),
    mirrors=st.lists(st.booleans(), min_size=ROWS, max_size=ROWS),
    box=st.none() | BOXES,
)
def test_any_box_of_the_cropped_images_equals_numpy(
    tops: list[int], lefts: list[int], mirrors: list[bool], box: Region | None
) -> None:
    whole = np.stack([cropped(*draw) for draw in zip(tops, lefts, mirrors, IMAGES, strict=True)])
    crop = tuple(slice(a, b) for a, b in box or tuple((0, n) for n in SQUARE))
    expected = whole[(slice(None), *crop)] * np.float64(0.5)
    out = np.full(expected.shape, np.nan)
    crop_images(IMAGES, tops, lefts, mirrors, SIZE, 0.5, out, box)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(("top", "left"), [(3, 0), (0, 4), (-1, 0), (0, -1)])
def test_a_square_that_leaves_its_image_is_refused(top: int, left: int) -> None:
    with pytest.raises(ValueError, match="leaves an image of 6x7"):
        crop_images(IMAGES[:1], [top], [left], [False], SIZE, 1.0, np.zeros((1, *SQUARE)))
