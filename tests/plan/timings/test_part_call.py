"""Part calls: the kernels of every layer type can be bound to arrays of their own, and run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.kernels.choose import choose_kernels, kernel_class
from netpart.kernels.op import op_scratch_bytes
from netpart.kernels.reference import Kernels
from netpart.plan.timings.part_call import FORWARD, PartCall, backward_passes
from netpart.plan.timings.part_question import PartQuestion
from netpart.spec import FLOAT
from netpart.testing.laws import has_backward
from netpart.testing.play_part import run_poisoned
from tests.laws.cases import CASES
from tests.thorough import example_count, sampled

SETS: list[type[Kernels]] = [Kernels, kernel_class(choose_kernels("auto", "float32").name)]
"""The reference kernels, and the fastest ones of this host."""


@pytest.mark.parametrize("name", sampled(sorted(CASES), 3))
@settings(max_examples=example_count(8))
@given(data=st.data())
def test_every_layer_type_can_be_called(name: str, data: st.DataObject) -> None:
    layer = data.draw(CASES[name]).layer()
    kernels = data.draw(st.sampled_from(SETS))(np, np.float32)
    learns = has_backward(layer)
    wanted = tuple(learns and spec.dtype == FLOAT for spec in layer.inputs)
    question = PartQuestion(layer, layer.output.whole, None, (), wanted, learns and bool(layer.params))
    call, empty = PartCall(question, kernels), PartCall(question, kernels, drawn=False)
    with np.errstate(all="ignore"):
        for which in (FORWARD, *backward_passes(question)):
            ops = [each.forward() if which == FORWARD else each.backward(which) for each in (call, empty)]
            run_poisoned(ops[0])
            assert op_scratch_bytes(ops[0]) == op_scratch_bytes(ops[1])
