"""Law 1: the shape rule tells the truth, and forward and backward write every element they promise."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.layers import layer_class, layer_type_names
from netpart.testing.laws import has_backward, needs_law, shape_law
from netpart.testing.play_part import make_layer_data
from tests.laws.cases import ALL, CASES, INPUTS, NO_GRADIENT


@pytest.mark.parametrize("name", ALL)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_forward_and_backward_write_every_element(name: str, data: st.DataObject, seed: int) -> None:
    layer = data.draw(ALL[name]).layer()
    shape_law(layer, make_layer_data(layer, seed))


@pytest.mark.parametrize("name", ALL)
@given(data=st.data())
def test_the_whole_output_needs_all_of_every_input_and_parameter(name: str, data: st.DataObject) -> None:
    needs_law(data.draw(ALL[name]).layer())


@pytest.mark.parametrize("name", ALL)
@given(data=st.data())
@settings(max_examples=settings().max_examples // 5)
def test_a_type_has_a_gradient_unless_the_table_says_otherwise(name: str, data: st.DataObject) -> None:
    assert has_backward(data.draw(ALL[name]).layer()) == (name not in NO_GRADIENT)


def test_every_registered_type_is_on_a_table() -> None:
    assert sorted([*CASES, *INPUTS]) == list(layer_type_names())


@pytest.mark.parametrize("name", layer_type_names())
def test_a_class_is_found_by_the_types_it_names(name: str) -> None:
    assert name in layer_class(name).types
