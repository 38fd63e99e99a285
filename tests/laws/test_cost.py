"""Law 2: the price of a part is what the counting kernels counted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.kernels.counting import CountingKernels
from tests.laws.cases import ALL, NO_GRADIENT
from tests.laws.harness import cuts, make_data, play


@pytest.mark.parametrize("name", ALL)
@given(data=st.data())
def test_the_price_of_every_part_is_counted(name: str, data: st.DataObject) -> None:
    layer = data.draw(ALL[name]).layer()
    arrays = make_data(layer, 0)
    for region, _, term in data.draw(cuts(layer)).parts():
        cost, forward, both = layer.cost(region, term), CountingKernels(np, "float64"), CountingKernels(np, "float64")
        play(layer, arrays, region, term, backward=False, kernels=forward)
        play(layer, arrays, region, term, backward=name not in NO_GRADIENT, kernels=both)
        assert (cost.forward, cost.backward) == (forward.flops, both.flops - forward.flops)
