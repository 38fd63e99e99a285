from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.checkpoint.runs import contiguous_runs
from netpart.spec import Region, Shape

SHAPES = st.lists(st.integers(0, 5), max_size=4).map(tuple)


def boxes(shape: Shape) -> st.SearchStrategy[Region]:
    """Any box of a tensor, often one that spans some axes wholly."""
    ends = [st.tuples(st.integers(0, n), st.integers(0, n)).map(lambda p: (min(p), max(p))) for n in shape]
    return st.tuples(*(st.just((0, n)) | end for n, end in zip(shape, ends, strict=True)))


@given(SHAPES.flatmap(lambda shape: st.tuples(st.just(shape), boxes(shape))))
def test_the_runs_are_the_elements_of_the_box_in_order(case: tuple[Shape, Region]) -> None:
    shape, box = case
    places = np.arange(prod(shape)).reshape(shape)[tuple(slice(lo, hi) for lo, hi in box)].reshape(-1)
    found = list(contiguous_runs(shape, box))
    assert [i for start, length in found for i in range(start, start + length)] == places.tolist()
    assert all(length > 0 for _, length in found)


@pytest.mark.parametrize(
    ("shape", "box", "expected"),
    [
        ((), (), [(0, 1)]),
        ((4, 3, 2), ((0, 4), (0, 3), (0, 2)), [(0, 24)]),
        ((4, 3, 2), ((1, 3), (0, 3), (0, 2)), [(6, 12)]),
        ((4, 3, 2), ((1, 3), (1, 3), (0, 2)), [(8, 4), (14, 4)]),
        ((2, 4), ((0, 2), (1, 2)), [(1, 1), (5, 1)]),
    ],
)
def test_trailing_whole_axes_merge(shape: Shape, box: Region, expected: list[tuple[int, int]]) -> None:
    assert list(contiguous_runs(shape, box)) == expected


@pytest.mark.parametrize("box", [((0, 3),), ((0, 4), (0, 3)), ((-1, 2), (0, 3)), ((2, 1), (0, 3))])
def test_a_box_that_leaves_the_tensor_is_refused(box: Region) -> None:
    with pytest.raises(ValueError, match="leaves a tensor of shape"):
        list(contiguous_runs((3, 3), box))
