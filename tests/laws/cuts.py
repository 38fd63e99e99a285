"""Legal cuts of a layer as hypothesis draws them."""

from __future__ import annotations

from hypothesis import strategies as st

from netpart.layers.layer import Layer
from netpart.testing.cuts import RandomCut, random_cut


def cuts(layer: Layer) -> st.SearchStrategy[RandomCut]:
    """A legal cut of ``layer``."""
    return st.randoms(use_true_random=False).map(lambda random: random_cut(layer, random))
