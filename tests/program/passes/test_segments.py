"""Segments: equal shares of what backward reads, cut where little crosses, and nothing lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from netpart.program.buffers import View
from netpart.program.instructions import Copy
from netpart.program.passes.segments import Repeatable, split_segments
from netpart.spec import whole_region


def moves(*edges: tuple[int, int]) -> list[Repeatable]:
    """Instructions that make buffer b of buffer a, for each (a, b)."""
    views = [View(b, whole_region((2,))) for b in range(1 + max(max(edge) for edge in edges))]
    return [Copy(views[b], views[a]) for a, b in edges]


def lengths(run: list[Repeatable], nbytes: dict[int, int], reread: set[int], count: int) -> list[int]:
    return [len(piece) for piece in split_segments(run, nbytes, reread, count)]


def test_equal_layers_are_shared_out_evenly() -> None:
    run = moves(*((k, k + 1) for k in range(12)))
    nbytes = dict.fromkeys(range(1, 13), 8)
    assert lengths(run, nbytes, set(nbytes), 4) == [3, 3, 3, 3]
    assert lengths(run, nbytes, set(nbytes), 1) == [12]


def test_a_border_is_where_little_crosses() -> None:
    """Between residual blocks of three: within one, what the shortcut reads crosses as well."""
    run = moves((0, 1), (1, 2), (2, 3), (3, 4), (1, 4), (4, 5), (5, 6), (6, 7), (4, 7))
    nbytes = dict.fromkeys(range(1, 8), 8)
    assert lengths(run, nbytes, set(nbytes), 2) == [5, 4]


def test_what_backward_reads_crosses_rather_than_what_it_does_not() -> None:
    run = moves(*((k, k + 1) for k in range(8)))
    nbytes = dict.fromkeys(range(1, 9), 8)
    assert lengths(run, nbytes, {2, 4, 6, 8}, 2) == [4, 4]
    assert lengths(run, nbytes, {1, 3, 5, 7}, 2) in ([3, 5], [5, 3])


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=20), st.integers(1, 9))
def test_nothing_is_lost(edges: list[tuple[int, int]], count: int) -> None:
    run = moves(*edges)
    pieces = list(split_segments(run, dict.fromkeys((b for _, b in edges), 4), {1, 2, 3}, count))
    assert [move for piece in pieces for move in piece] == run
    assert len(pieces) <= count
    assert all(pieces)
