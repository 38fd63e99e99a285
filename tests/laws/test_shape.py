"""Law 1: the shape rule tells the truth, and forward and backward write every element they promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.layers import layer_class, names
from netpart.spec import INT, whole
from tests.laws.cases import ALL, CASES, INPUTS, NO_GRADIENT, REFUSED
from tests.laws.harness import finite, make_data, play


@pytest.mark.parametrize("name", ALL)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_forward_and_backward_write_every_element(name: str, data: st.DataObject, seed: int) -> None:
    layer = data.draw(ALL[name]).layer()
    played = play(layer, make_data(layer, seed), backward=name not in NO_GRADIENT)
    assert played.y.shape == layer.output.shape
    assert finite([played.y, *played.dx, *played.dw])
    assert layer.output.dtype != INT or played.y.max() < np.iinfo("int32").max


@pytest.mark.parametrize("name", ALL)
@given(data=st.data())
def test_the_whole_output_needs_all_of_every_input_and_parameter(name: str, data: st.DataObject) -> None:
    layer = data.draw(ALL[name]).layer()
    needs = layer.needs(layer.output.whole)
    assert needs.inputs == tuple(spec.whole for spec in layer.inputs)
    assert needs.params == tuple(whole(param.shape) for param in layer.params)


def test_every_registered_type_is_on_a_table() -> None:
    assert sorted([*CASES, *INPUTS, *REFUSED]) == list(names())


@pytest.mark.parametrize("name", names())
def test_a_class_is_found_by_the_types_it_names(name: str) -> None:
    assert name in layer_class(name).types
