"""One member's progress: the right messages, in any interleaving of the members."""

from __future__ import annotations

import tracemalloc
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.collectives import RingState, Schedule, all_gather, all_reduce, reduce_scatter
from netpart.errors import TransportError

Array = npt.NDArray[np.float64]
Arrays = dict[int, Array]
Play = Callable[[Schedule, Arrays], Arrays]


class Network:
    """Members with queues between them; ``run`` lets ``choose`` say who receives next."""

    def __init__(self, schedule: Schedule, buffers: Arrays) -> None:
        self.states = {member: RingState(steps, buffers[member]) for member, steps in schedule.items()}
        self.queues: dict[tuple[int, int], deque[tuple[int, Array]]] = {}
        self.posted = 0

    def post(self, sender: int, sends: list[tuple[int, int, Array]]) -> None:
        for peer, tag, view in sends:
            assert view.size > 0
            self.posted += 1
            self.queues.setdefault((sender, peer), deque()).append((tag, view.copy()))

    def ready(self) -> list[int]:
        waiting = [(member, state.expects()) for member, state in self.states.items()]
        return [member for member, e in waiting if e and self.queues.get((e[0], member))]

    def run(self, choose: Callable[[list[int]], int]) -> None:
        for member, state in self.states.items():
            self.post(member, state.start())
        while ready := self.ready():
            member = choose(ready)
            state = self.states[member]
            expected = state.expects()
            assert expected is not None
            peer, tag, (lo, hi) = expected
            sent_tag, array = self.queues[peer, member].popleft()
            assert (sent_tag, array.size) == (tag, hi - lo)
            self.post(member, state.deliver(array))
        assert all(state.done and state.expects() is None for state in self.states.values())
        assert not any(self.queues.values())


@given(st.sampled_from([all_reduce, reduce_scatter, all_gather]), st.integers(1, 8), st.integers(0, 50), st.data())
def test_any_interleaving_gives_the_same_bits(
    play: Play, collective: Callable[..., Schedule], size: int, n: int, data: st.DataObject
) -> None:
    random = np.random.default_rng(size * 100 + n)
    schedule = collective(tuple(range(10, 10 + size)), n)
    buffers = {member: random.normal(size=n) for member in schedule}
    expected = play(schedule, buffers)
    Network(schedule, buffers).run(lambda ready: data.draw(st.sampled_from(ready)))
    assert all(buffers[member].tobytes() == expected[member].tobytes() for member in schedule)


def test_a_state_serves_step_after_step() -> None:
    buffers = {member: np.arange(7.0) for member in range(3)}
    network = Network(all_reduce((0, 1, 2), 7), buffers)
    for times in (3, 9, 27):
        network.run(lambda ready: ready[0])
        assert all(np.array_equal(buffer, times * np.arange(7.0)) for buffer in buffers.values())


def test_a_ring_of_one_is_done_at_once() -> None:
    state = RingState(all_reduce((0,), 5)[0], np.ones(5))
    seen = [state.done, state.start(), state.done, state.expects()]
    assert seen == [False, [], True, None]


def test_empty_chunks_are_neither_sent_nor_expected() -> None:
    schedule = all_reduce((0, 1, 2, 3), 1)
    network = Network(schedule, {member: np.ones(1) for member in schedule})
    network.run(lambda ready: ready[-1])
    assert network.posted == 6


def test_sends_are_views_of_the_buffer() -> None:
    buffer = np.zeros(6)
    [(peer, tag, view)] = RingState(all_reduce((0, 1), 6)[0], buffer).start()
    buffer[...] = 5
    assert (peer, tag) == (1, 0)
    assert np.array_equal(view, [5, 5, 5])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_the_dtype_stays(dtype: type) -> None:
    buffer: npt.NDArray[Any] = np.ones(4, dtype)
    state = RingState(all_reduce((0, 1), 4)[0], buffer)
    state.start()
    state.deliver(np.full(2, 2, dtype))
    state.deliver(np.full(2, 7, dtype))
    assert state.done
    assert buffer.dtype == dtype
    assert buffer.tolist() == [3, 3, 7, 7]


@pytest.mark.parametrize("array", [np.zeros(3), np.zeros(2, np.float32), np.zeros((2, 1))])
def test_a_message_that_is_not_the_expected_one_is_refused(array: Array) -> None:
    buffer = np.ones(4)
    state = RingState(all_reduce((0, 8), 4)[0], buffer)
    state.start()
    with pytest.raises(TransportError, match=r"float64 \(2,\) for step 0 from 8"):
        state.deliver(array)
    assert state.expects() == (8, 0, (0, 2))
    assert buffer.tolist() == [1, 1, 1, 1]


def test_order_of_calls() -> None:
    state = RingState(all_reduce((0, 1), 4)[0], np.ones(4))
    assert state.expects() is None
    with pytest.raises(TransportError, match="no message"):
        state.deliver(np.ones(2))
    state.start()
    with pytest.raises(RuntimeError, match="before done"):
        state.start()
    state.deliver(np.ones(2))
    state.deliver(np.ones(2))
    with pytest.raises(TransportError, match="no message"):
        state.deliver(np.ones(2))


def test_a_run_allocates_no_array() -> None:
    n = 400_000
    state, arrived = RingState(all_reduce((0, 1), n)[0], np.ones(n)), np.ones(n // 2)

    def run() -> None:
        state.start()
        state.deliver(arrived)
        state.deliver(arrived)

    run()
    tracemalloc.start()
    try:
        run()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert state.done
    assert peak < 4096
