"""Windows on regions: the halo rule (regions.md, D2 and D3) against windows written out one by one."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from netpart.layers.pooling import Pooling
from netpart.layers.windows import SlidingWindows
from netpart.spec import Spec
from tests.laws.cases import Case

SMALL = st.integers(1, 6)


@given(n=st.integers(1, 12), k=SMALL, s=SMALL, p=st.integers(0, 7), e=st.integers(0, 7), data=st.data())
def test_reads_cover_every_window_and_pads_fill_the_rest(
    n: int, k: int, s: int, p: int, e: int, data: st.DataObject
) -> None:
    axis = SlidingWindows((n,), (k,), (s,), (p,), (1,), (e,), data.draw(st.booleans()))
    outputs = axis.outputs[0]
    assume(outputs > 0)
    lo = data.draw(st.integers(0, outputs - 1))
    hi = data.draw(st.integers(lo + 1, outputs))
    seen = {i for o in range(lo, hi) for i in range(o * s - p, o * s - p + k)}
    ((start, end),), ((low, high),) = axis.reads(((lo, hi),)), axis.window(((lo, hi),)).pads
    assert set(range(start, end)) >= seen & set(range(n))
    assert min(low, high) >= 0
    assert start == end or (start - low, end + high) == (min(seen), max(max(seen) + 1, n if hi == outputs else 0))
    assert start != end or low + high >= len(range(min(seen), max(seen) + 1))


@given(n=st.integers(1, 12), k=SMALL, s=SMALL, p=st.integers(0, 7))
def test_the_whole_reads_the_whole(n: int, k: int, s: int, p: int) -> None:
    assume(k <= n + 2 * p)
    axis = SlidingWindows((n,), (k,), (s,), (p,), (1,))
    assert axis.reads(((0, axis.outputs[0]),)) == ((0, n),)


def test_the_seed_nets_shapes() -> None:
    assert SlidingWindows((28, 28), (2, 2), (1, 1), (0, 0), (1, 1)).outputs == (27, 27)
    assert SlidingWindows((27, 27), (2, 2), (2, 2), (0, 0), (1, 1)).outputs == (13, 13)
    assert SlidingWindows((27,), (2,), (2,), (0,), (1,)).reads(((10, 13),)) == ((20, 27),)


@pytest.mark.parametrize(
    ("text", "pads", "ends"),
    [
        ("pad: 1", (1, 1), (1, 1)),
        ("pad: 1 pad_x: 2", (1, 2), (1, 2)),
        ("pad: 1 pad_x: 2 pad_end: 0", (1, 2), (0, 0)),
        ("pad: 1 pad_x: 2 pad_end_y: 3", (1, 2), (3, 2)),
        ("pad_end: 3 pad_end_x: 0", (0, 0), (3, 0)),
    ],
)
def test_a_pad_at_the_end_that_is_not_set_is_that_of_the_axis(
    text: str, pads: tuple[int, int], ends: tuple[int, int]
) -> None:
    layer = Case("kPooling", f"pooling_conf {{ kernel: 2 {text} }}", (Spec((1, 2, 9, 9)),)).layer()
    assert isinstance(layer, Pooling)
    assert (layer.sliding.pad, layer.sliding.ends) == (pads, ends)
