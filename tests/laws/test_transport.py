"""Law 7: every transport delivers in order, whole, once, or raises. A new transport is one line in GROUPS."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.errors import TransportError
from netpart.transport.frames import DTYPES
from netpart.transport.transport import WINDOW, Array, Channel, Transport
from netpart.transport.zeromq import ZeroMQTransport
from tests.laws.groups import DEADLINE, GROUPS, Group, Promise, release
from tests.thorough import example_count


class Way(IntEnum):
    """Channels are named with enums as well as with plain numbers."""

    FORWARD = 0
    DONE = 4


every_transport = pytest.mark.parametrize("group", GROUPS.values(), ids=GROUPS)


@dataclass(frozen=True)
class Line:
    """One channel of a random program, and the messages it carries."""

    edge: int
    sender: int
    receiver: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    stays: bool = False

    @property
    def ahead(self) -> int:
        """Messages that may be on their way: one that stays with its sender is read before the next."""
        return 1 if self.stays else WINDOW

    @property
    def data(self) -> Channel:
        return (1, Way.FORWARD, 0, self.edge, 0)

    @property
    def done(self) -> Channel:
        return (1, Way.DONE, 0, self.edge, 0)

    def message(self, step: int) -> Array:
        """Random bits, as every second element of a wider array."""
        wide = np.zeros((*self.shape, 2), self.dtype)
        bits = np.random.default_rng([self.edge, step]).bytes(wide.nbytes // 2)
        wide[..., 1] = np.frombuffer(bits, self.dtype).reshape(self.shape)
        return wide[..., 1]


def promised(lines: list[Line]) -> Promise:
    def promise(transports: list[Transport]) -> None:
        for line in lines:
            expecting = transports[line.receiver]
            expecting.expect(line.data, line.sender, line.shape, line.dtype, line.ahead, stays=line.stays)
            if line.stays:
                transports[line.sender].keep(line.data, line.receiver, line.shape, line.dtype)
            transports[line.sender].expect(line.done, line.receiver, (0,), np.uint8)

    return promise


Task = Iterator[bool]
"""A coroutine that yields whether it got on since it was last asked."""


def sending(transport: Transport, line: Line, steps: int) -> Task:
    for step in range(steps):
        while step >= line.ahead and transport.receive(line.done, step - line.ahead) is None:
            yield False
        message = line.message(step)
        transport.send(line.data, step, line.receiver, message)
        message[...] = 0
        yield True
    for step in range(max(0, steps - line.ahead), steps):
        while transport.receive(line.done, step) is None:
            yield False


def receiving(transport: Transport, line: Line, steps: int) -> Task:
    for step in range(steps):
        while (array := transport.receive(line.data, step)) is None:
            yield False
        expected = line.message(step)
        assert (array.shape, array.dtype) == (expected.shape, expected.dtype)
        assert array.tobytes() == expected.tobytes()
        transport.send(line.done, step, line.sender, np.empty(0, np.uint8))
        yield True


def play(transport: Transport, lines: list[Line], steps: int, random: Random) -> None:
    """Runs a rank's tasks in any order; waits only when none of them can go on."""
    rank = transport.rank
    tasks = [sending(transport, line, steps) for line in lines if line.sender == rank]
    tasks += [receiving(transport, line, steps) for line in lines if line.receiver == rank]
    while tasks:
        random.shuffle(tasks)
        moved = {id(task): next(task, None) for task in tasks}
        tasks = [task for task in tasks if moved[id(task)] is not None]
        if tasks and not any(moved[id(task)] for task in tasks):
            assert transport.wait(DEADLINE), f"rank {rank}: nothing came"


SHAPES = st.lists(st.integers(0, 5), max_size=3).map(tuple) | st.sampled_from([(9000,), (100, 101), (3, 70_000)])


@st.composite
def programs(draw: st.DrawFn) -> tuple[int, list[Line]]:
    n = draw(st.integers(2, 4))
    pairs = st.permutations(range(n)).map(lambda ranks: (ranks[0], ranks[1]))
    kinds = st.tuples(pairs, SHAPES, st.sampled_from(DTYPES), st.booleans())
    drawn = draw(st.lists(kinds, min_size=1, max_size=6))
    return n, [Line(edge, *pair, *rest) for edge, (pair, *rest) in enumerate(drawn)]


@every_transport
@settings(max_examples=example_count(40))
@given(program=programs(), steps=st.integers(1, 6), seed=st.integers(0, 2**32))
def test_messages_arrive_in_order_whole_and_once(
    group: Group, program: tuple[int, list[Line]], steps: int, seed: int
) -> None:
    n, lines = program
    with group(n, promised(lines)) as transports, ThreadPoolExecutor(n) as pool:
        played = [pool.submit(play, t, lines, steps, Random(seed + t.rank)) for t in transports]
        for future in as_completed(played):
            if future.exception():
                release(transports)
            future.result()
        for t in transports:
            assert t.arrivals == steps * sum((t.rank == line.receiver) + (t.rank == line.sender) for line in lines)
            sent = {line.data: steps * line.message(0).nbytes for line in lines if line.sender == t.rank}
            assert {channel: n for channel, n in t.counts.items() if channel[1] != Way.DONE} == sent


ROUTE = Line(5, 0, 1, (3,), np.dtype(np.float32))
GOOD, NAMED = np.ones(3, np.float32), r"rank 1, channel phase=1 way=0 micro=0 edge=5 chunk=0"
MISTAKES: dict[str, tuple[list[tuple[int, int, int, Array]], str]] = {
    "unknown channel": ([(0, 6, 0, GOOD)], "edge=6 .*expected nothing on this channel"),
    "another peer": ([(2, 5, 0, GOOD)], f"{NAMED}: .* from rank 2: expected .* from rank 0"),
    "another shape": ([(0, 5, 0, GOOD.reshape(3, 1))], rf"{NAMED}: float32 \(3, 1\).*: expected float32 \(3,\)"),
    "too long": ([(0, 5, 0, np.ones(4, np.float32))], rf"{NAMED}: float32 \(4,\).*: expected float32 \(3,\)"),
    "another dtype": ([(0, 5, 0, np.ones(3, np.int32))], f"{NAMED}: int32 .*: expected float32"),
    "a step twice": ([(0, 5, 0, GOOD), (0, 5, 0, GOOD)], f"{NAMED}: .*: expected a step after 0"),
    "a step back": ([(0, 5, 1, GOOD), (0, 5, 0, GOOD)], f"{NAMED}: .*: expected a step after 1"),
    "too far ahead": ([(0, 5, s, GOOD) for s in range(WINDOW + 1)], f"{NAMED}: .*: expected at most {WINDOW}"),
}


def listen_until_it_raises(transport: Transport) -> None:
    while transport.wait(DEADLINE):
        pass


@every_transport
@pytest.mark.parametrize(("sends", "says"), MISTAKES.values(), ids=MISTAKES)
def test_a_broken_promise_raises(group: Group, sends: list[tuple[int, int, int, Array]], says: str) -> None:
    with group(3, promised([ROUTE])) as transports:
        for sender, edge, step, array in sends:
            transports[sender].send((1, 0, 0, edge, 0), step, 1, array)
        with pytest.raises(TransportError, match=says):
            listen_until_it_raises(transports[1])
        with pytest.raises(TransportError, match=says):
            transports[1].receive(ROUTE.data, 0)
        with pytest.raises(TransportError, match=says):
            transports[1].send(ROUTE.done, 0, 0, np.empty(0, np.uint8))


@every_transport
def test_a_lost_message_raises(group: Group) -> None:
    with group(2, promised([ROUTE])) as transports:
        transports[0].send(ROUTE.data, 1, 1, GOOD)
        assert transports[1].wait(DEADLINE)
        with pytest.raises(TransportError, match=f"{NAMED}: expected step 0 from rank 0, got step 1"):
            transports[1].receive(ROUTE.data, 0)


@every_transport
def test_what_cannot_be_sent_raises_at_the_sender(group: Group) -> None:
    with group(2, promised([ROUTE])) as transports:
        for array, says in ((np.ones(3, complex), "dtypes"), (np.ones((1,) * 9, np.float32), "8 axes")):
            with pytest.raises(TransportError, match=says):
                transports[0].send(ROUTE.data, 0, 1, array)
        with pytest.raises(TransportError, match=r"rank.* got .*7"):
            transports[0].send(ROUTE.data, 0, 7, GOOD)
        assert transports[0].counts == {}


def leftovers() -> tuple[set[threading.Thread], set[str], str]:
    files = {path.name for folder in ("/tmp", "/dev/shm") for path in Path(folder).iterdir()}
    sockets = Path("/proc/net/unix").read_text(encoding="utf-8")
    return set(threading.enumerate()), {file for file in files if "netpart" in file}, sockets


def use(group: Group) -> list[str]:
    """Sends a large message; returns the names under which the transports could be reached."""
    big = Line(5, 0, 1, (100_000,), np.dtype(np.float32))
    with group(2, promised([big])) as transports:
        transports[0].send(big.data, 0, 1, big.message(0))
        assert transports[1].wait(DEADLINE)
        return [t.address.split("//")[1] for t in transports if isinstance(t, ZeroMQTransport)]


@every_transport
def test_nothing_is_left_after_close(group: Group) -> None:
    use(group)  # starts what a library keeps for the life of the process
    threads, files, _ = leftovers()
    names = use(group)
    after, left, sockets = leftovers()
    assert after <= threads
    assert left <= files
    assert not [name for name in names if name in sockets]


@every_transport
def test_waiting_costs_no_processor_time_and_ends_in_time(group: Group) -> None:
    with group(2, promised([ROUTE])) as transports:
        began, used = time.monotonic(), time.process_time()
        assert not transports[1].wait(0.3)
        assert time.monotonic() - began >= 0.3
        assert time.process_time() - used < 0.15
        assert transports[1].receive(ROUTE.data, 0) is None
