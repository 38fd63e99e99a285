"""Law 3: backward is the derivative of forward, by central differences in float64."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.testing.laws import gradient_law
from netpart.testing.play_part import make_layer_data
from tests.laws.cases import ALL, NO_GRADIENT, OBJECTIVES


@pytest.mark.parametrize("name", [name for name in ALL if name not in NO_GRADIENT])
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_backward_is_the_derivative_of_forward(name: str, data: st.DataObject, seed: int) -> None:
    layer = data.draw(ALL[name]).layer()
    gradient_law(layer, make_layer_data(layer, seed), seed, OBJECTIVES.get(name, 1.0))
