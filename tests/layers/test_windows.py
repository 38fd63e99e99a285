"""Windows on regions: the halo rule (regions.md, D2 and D3) against windows written out one by one."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from netpart.layers.windows import SlidingWindows

SMALL = st.integers(1, 6)


@given(n=st.integers(1, 12), k=SMALL, s=SMALL, p=st.integers(0, 7), data=st.data())
def test_reads_cover_every_window_and_pads_fill_the_rest(n: int, k: int, s: int, p: int, data: st.DataObject) -> None:
    assume(k <= n + 2 * p)
    axis = SlidingWindows((n,), (k,), (s,), (p,), (1,))
    outputs = axis.outputs[0]
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
