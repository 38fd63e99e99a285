"""Law 4: the parts of every legal cut, computed from what ``needs`` names, make the whole, forward and backward."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.testing.laws import cut_law
from netpart.testing.play_part import make_layer_data
from tests.laws.cases import ALL
from tests.laws.cuts import cuts


@pytest.mark.parametrize("name", ALL)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_the_parts_make_the_whole(name: str, data: st.DataObject, seed: int) -> None:
    layer = data.draw(ALL[name]).layer()
    cut_law(layer, make_layer_data(layer, seed), data.draw(cuts(layer)))
