"""Laws 1, 3 and 4 with oneDNN's kernels, in float32 and in their order of memory; the whole is the reference's."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.kernels.onednn import winograd
from netpart.kernels.onednn.kernels import Kernels
from netpart.kernels.onednn.library import missing_onednn
from netpart.testing.laws import cut_law, gradient_law, shape_law
from netpart.testing.play_part import make_layer_data
from tests.laws.cases import ALL, OBJECTIVES
from tests.laws.cuts import cuts
from tests.thorough import example_count

pytestmark = pytest.mark.skipif(bool(missing_onednn()), reason=missing_onednn())


@pytest.mark.parametrize("name", ALL)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=example_count(15))
def test_fast_kernels_obey(name: str, data: st.DataObject, seed: int) -> None:
    layer, kernels = data.draw(ALL[name]).layer(), Kernels(np, "float32")
    numbers = make_layer_data(layer, seed)
    shape_law(layer, numbers, kernels)
    gradient_law(layer, numbers, seed, OBJECTIVES.get(name, 1.0), kernels)
    cut_law(layer, numbers, data.draw(cuts(layer)), kernels)


@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=example_count(60))
def test_convolutions_in_tiles_wherever_they_are_possible_obey(data: st.DataObject, seed: int) -> None:
    layer, kernels = data.draw(ALL["kConvolution"]).layer(), Kernels(np, "float32")
    numbers = make_layer_data(layer, seed)
    with patch.multiple(winograd, RATE=0, BYTES=data.draw(st.sampled_from([1, 1 << 23]))):
        shape_law(layer, numbers, kernels)
        gradient_law(layer, numbers, seed, 1.0, kernels)
        cut_law(layer, numbers, data.draw(cuts(layer)), kernels)
