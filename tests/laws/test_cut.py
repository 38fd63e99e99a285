"""Law 4: the parts of every legal cut, computed from what ``needs`` names, make the whole, forward and backward."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.layers.layer import Layer
from tests.laws.cases import ALL, NO_GRADIENT
from tests.laws.harness import Data, Played, close, cuts, finite, make_data, play, scatter, take

TOLERANCE = 1e-11
EXAMPLES = 200


@pytest.mark.parametrize("name", ALL)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=EXAMPLES)
def test_the_parts_make_the_whole(name: str, data: st.DataObject, seed: int) -> None:
    layer = data.draw(ALL[name]).layer()
    arrays, backward = make_data(layer, seed), name not in NO_GRADIENT
    expected = play(layer, arrays, backward=backward)
    cut = data.draw(cuts(layer))
    played: list[Played] = []
    for region, own in cut.cells:
        terms = [play(layer, arrays, region, term, own=own, backward=backward) for term in cut.terms]
        assert all(finite([part.y, *part.dx, *part.dw]) for part in terms)
        assert close(sum(part.y for part in terms), take(expected.y, region), TOLERANCE)
        if backward:
            assert_statistics_add_up(layer, terms, expected)
        played += terms
    assert close(sum(part.metrics for part in played), expected.metrics, TOLERANCE)
    if backward:
        assert_gradients_add_up(layer, arrays, played, expected)


def assert_statistics_add_up(layer: Layer, terms: list[Played], expected: Played) -> None:
    """What a batch adds to running statistics is computed whole by the terms of every cell."""
    for k, share in enumerate(expected.dw):
        if layer.params[k].running and share is not None:
            assert close(sum(part.dw[k] for part in terms), take(share, terms[0].needs.params[k]), TOLERANCE)


def assert_gradients_add_up(layer: Layer, arrays: Data, played: list[Played], expected: Played) -> None:
    """Scatters the gradients of all parts over the regions they came from and compares the sums."""
    for k, gradient in enumerate(expected.dx):
        total = np.zeros(arrays.x[k].shape)
        for part in played:
            scatter(total, part.dx[k], part.needs.inputs[k] if gradient is not None else None)
        assert gradient is None or close(total, gradient, TOLERANCE)
    for k, gradient in enumerate(expected.dw):
        if gradient is None or layer.params[k].running:
            continue
        total = np.zeros(layer.params[k].shape)
        for part in played:
            scatter(total, part.dw[k], part.needs.params[k])
        assert close(total, gradient, TOLERANCE)
