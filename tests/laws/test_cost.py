"""Law 2: the price of a part is what the counting kernels counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.testing.laws import cost_law
from netpart.testing.play_part import make_layer_data
from tests.laws.cases import ALL
from tests.laws.cuts import cuts


@pytest.mark.parametrize("name", ALL)
@given(data=st.data())
def test_the_price_of_every_part_is_counted(name: str, data: st.DataObject) -> None:
    layer = data.draw(ALL[name]).layer()
    cost_law(layer, make_layer_data(layer, 0), data.draw(cuts(layer)))
