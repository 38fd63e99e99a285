"""RowSource: arrays that do not fit are refused before anything is read."""

from __future__ import annotations

import numpy as np
import pytest

from netpart.data.row_source import RowSource
from netpart.data.synthetic import SyntheticRows
from netpart.data.synthetic_masks import SyntheticMaskRows
from netpart.data.synthetic_tokens import SyntheticTokenRows
from netpart.spec import Shape

CASES: dict[str, tuple[RowSource, Shape, Shape]] = {
    "a label a row": (SyntheticRows((2, 5), 3, batch=4), (2, 3), ()),
    "a label a place of the image": (SyntheticMaskRows((2, 5), 3, batch=4), (2, 3), (5,)),
    "a label a place of the box": (SyntheticTokenRows(5, 9, batch=4), (3,), (3,)),
}


@pytest.mark.parametrize(("source", "data", "label"), CASES.values(), ids=CASES)
def test_outputs_have_the_shapes_of_their_box(source: RowSource, data: Shape, label: Shape) -> None:
    box = tuple((0, n) for n in data)
    rows, labels = np.empty((4, *data)), np.empty((4, *label), np.int32)
    source.read(0, 0, 4, rows, labels, box)
    with pytest.raises(ValueError, match=r"data_out: expected shape \(3, "):
        source.read(0, 0, 3, rows, None, box)
    with pytest.raises(ValueError, match=r"label_out: expected shape \(3,"):
        source.read(0, 0, 3, None, labels, box)
    with pytest.raises(ValueError, match="box: expected a region of a row of shape"):
        source.read(0, 0, 4, rows, None, tuple((n, 2 * n) for n in data))
