"""What must come after what: all that meets in memory, however short the list of it is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from netpart.program.buffers import View
from netpart.worker.memory_access import MemorySpan, Spans, find_dependences, memory_span
from tests.cuda.module import emulated

cupy = emulated()


@st.composite
def touches(draw: st.DrawFn) -> list[Spans | None]:
    """Of several things; None touches all memory."""
    one = st.tuples(st.integers(0, 12), st.integers(0, 4), st.booleans())
    spans = st.lists(one.map(lambda s: MemorySpan(s[0], s[0] + s[1], s[2])), max_size=3).map(tuple)
    return draw(st.lists(st.one_of(spans, spans, spans, st.none()), max_size=12))


def meet(a: Spans | None, b: Spans | None) -> bool:
    if a is None or b is None:
        return True
    return any(x.low < y.high and y.low < x.high and (x.written or y.written) for x in a for y in b)


def behind(found: list[list[int]], n: int) -> set[int]:
    return set(found[n]).union(*(behind(found, i) for i in found[n]))


@given(touches())
def test_what_meets_comes_one_after_the_other_and_nothing_else(touched: list[Spans | None]) -> None:
    found = find_dependences(touched)
    needed = [[i for i in range(n) if meet(touched[i], touched[n])] for n in range(len(touched))]
    for n in range(len(touched)):
        assert behind(found, n) == behind(needed, n)
        for i in found[n]:
            assert not any(i in behind(found, other) for other in found[n])


def test_interleaved_boxes_of_a_buffer_do_not_meet() -> None:
    left, right, all_ = (View(7, ((0, 4), channels)) for channels in ((0, 2), (2, 4), (0, 4)))
    first, second, third = (MemorySpan(0, 128, True, view) for view in (left, right, all_))
    assert find_dependences([(first,), (second,), (third,)]) == [[], [], [1, 0]]
    assert find_dependences([(first,), (MemorySpan(0, 128, True, View(8, right.box)),)]) == [[], [0]]


def test_a_span_is_from_the_first_byte_to_the_last() -> None:
    array = cupy.zeros((4, 6), "float32")
    assert memory_span(array, True)[:3] == (array.data.ptr, array.data.ptr + 96, True)
    part = array[1:3, 2:4]
    assert memory_span(part, False)[:2] == (array.data.ptr + 32, array.data.ptr + 32 + 24 + 8)
    assert memory_span(array[:0], True).low == memory_span(array[:0], True).high
