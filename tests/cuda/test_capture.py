"""Captures that span streams: what CUDA makes of forks and joins, and its emulation with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from tests.cuda.module import ON_GPU, cupy

pytestmark = pytest.mark.usefixtures("device")
SOURCE = """extern "C" __global__ void join(long long* x, long long digit) { *x = 10 * *x + digit; }"""


@pytest.fixture
def streams() -> Iterator[tuple[Any, Any]]:
    """Two, the first of which is the current one."""
    xp = cupy()
    one, other = (xp.cuda.Stream(non_blocking=True) for _ in range(2))
    with one:
        yield one, other
        with suppress(RuntimeError):
            one.end_capture()
        one.synchronize()


def mark(stream: Any) -> Any:
    return stream.record(cupy().cuda.Event(disable_timing=True))


def digits(*xs: Any) -> Any:
    """What appends a digit to each of several numbers."""
    kernel = cupy().RawModule(code=SOURCE).get_function("join")
    for x in xs:
        kernel((1,), (1,), (x, 0))

    def append(x: Any, digit: int, stream: Any) -> None:
        kernel((1,), (1,), (x, digit), stream=stream)

    return append


def test_a_fork_that_is_joined_keeps_its_orders(streams: tuple[Any, Any]) -> None:
    (one, other), xp = streams, cupy()
    x, y = xp.zeros(1, "int64"), xp.zeros(1, "int64")
    append = digits(x, y)
    one.synchronize()
    one.begin_capture()
    append(x, 1, one)
    other.wait_event(mark(one))
    append(y, 2, other)
    append(y, 3, other)
    append(x, 4, one)
    one.wait_event(mark(other))
    append(y, 5, one)
    graph = one.end_capture()
    for _ in range(3):
        graph.launch(one)
    assert (int(x.get()[0]), int(y.get()[0])) == (141414, 235235235)


def test_a_fork_must_be_joined(streams: tuple[Any, Any]) -> None:
    (one, other), x = streams, cupy().zeros(1, "int64")
    append = digits(x)
    one.synchronize()
    one.begin_capture()
    append(x, 1, one)
    other.wait_event(mark(one))
    append(x, 2, other)
    with pytest.raises(RuntimeError):
        one.end_capture()
    assert not one.is_capturing()
    assert not other.is_capturing()


def test_a_capture_waits_for_nothing_outside(streams: tuple[Any, Any]) -> None:
    one, other = streams
    event = mark(other)
    one.begin_capture()
    with pytest.raises(RuntimeError):
        one.wait_event(event)


def test_a_capture_ends_where_it_began(streams: tuple[Any, Any]) -> None:
    one, other = streams
    one.begin_capture()
    other.wait_event(mark(one))
    with pytest.raises(RuntimeError):
        other.end_capture()


@pytest.mark.skipif(ON_GPU, reason="a GPU may well do it in order")
def test_what_has_no_edge_is_not_to_meet(streams: tuple[Any, Any]) -> None:
    (one, other), xp = streams, cupy()
    x = xp.zeros(1, "int64")
    append = digits(x)
    one.synchronize()
    one.begin_capture()
    other.wait_event(mark(one))
    append(x, 1, one)
    append(x, 2, other)
    one.wait_event(mark(other))
    one.end_capture().launch(one)
    with pytest.raises(RuntimeError, match="what another has written at the same time"):
        one.synchronize()


@pytest.mark.skipif(ON_GPU, reason="a GPU may well do it in order")
def test_what_has_no_edge_is_emulated_in_any_order() -> None:
    stream = cupy().cuda.Stream(non_blocking=True)
    found = set()
    done = list[int]()
    capture = cupy().cuda.Capture(stream)
    for digit in range(3):
        capture.add(partial(done.append, digit), set())
    for _ in range(12):
        cupy().cuda.Graph(capture).launch(stream)
        stream.synchronize()
        found.add(tuple(done))
        done.clear()
    assert len(found) > 2
