"""Part questions: what is one question, and what are two."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from netpart.layers.layer import Layer
from netpart.plan.timings.part_question import ROWS_BYTES, ROWS_FLOPS, PartQuestion, drawn_numbers
from netpart.spec import Spec
from tests.laws.cases import Case

CONV = "convolution_conf { num_filters: 8 kernel: 3 pad: 1 } param { } param { }"


def conv(rows: int = 4, conf: str = CONV) -> Layer:
    return Case("kConvolution", conf, (Spec((rows, 3, 12, 12)),)).layer()


def test_the_place_of_a_part_does_not_matter() -> None:
    low, high = (PartQuestion(conv(), (rows, (0, 8), (0, 12), (0, 12))) for rows in ((0, 2), (2, 4)))
    assert low.text == high.text
    other = conv()
    other.conf.name = "other"
    assert PartQuestion(other, low.region).text == low.text


def test_all_that_changes_the_kernel_does() -> None:
    whole = PartQuestion(conv(), conv().output.whole)
    stride = conv(conf=CONV.replace("pad: 1", "pad: 1 stride: 2"))
    others = [
        PartQuestion(conv(), ((0, 2), *whole.region[1:])),
        PartQuestion(conv(), whole.region, term=((0, 2),)),
        replace(whole, order=(0, 2, 3, 1)),
        replace(whole, wanted=(True,)),
        replace(whole, trains=True),
        PartQuestion(stride, stride.output.whole),
    ]
    assert len({whole.text, *(other.text for other in others)}) == 7


def test_of_a_large_part_fewer_rows_are_timed() -> None:
    large = conv(rows=1 << 16)
    question = PartQuestion(large, large.output.whole)
    fewer = question.with_fewer_rows()
    assert 0 < fewer.region[0][1] < 1 << 16
    assert fewer.cost.backward < 2 * ROWS_FLOPS
    assert fewer.with_fewer_rows() == fewer


def test_of_a_part_of_many_bytes_fewer_rows_are_timed() -> None:
    relu = Case("kReLU", "", (Spec((1 << 12, 1 << 16)),)).layer()
    fewer = PartQuestion(relu, relu.output.whole).with_fewer_rows()
    assert ROWS_BYTES / 2 < fewer.nbytes <= ROWS_BYTES


def test_numbers_are_drawn_in_their_range() -> None:
    numbers = drawn_numbers((40000,), np.dtype("int32"), below=3)
    assert set(numbers.tolist()) == {0, 1, 2}
    assert drawn_numbers((2, 3), np.dtype("float32")).shape == (2, 3)
