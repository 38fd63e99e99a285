"""Player: what a step allocates, in which order things leave, how far a worker may run ahead."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest

from netpart.program.instructions import CollectiveStart
from netpart.spec import Region, size, split_box
from netpart.transport.memory import MemoryHub
from netpart.transport.transport import Transport
from netpart.transport.zeromq import ZeroMQTransport
from netpart.worker.flow_control import WINDOW
from netpart.worker.player import Player
from tests.worker.jobs import LENET, in_threads, partition, players, step, steps

ALLOWED = 64 << 10
"""Bytes that all workers together may hold more at any moment of a step than at its start."""


@contextmanager
def memory(workers: int) -> Iterator[list[Transport]]:
    hub = MemoryHub(workers)
    yield [hub[rank] for rank in range(workers)]


@contextmanager
def zeromq(workers: int) -> Iterator[list[Transport]]:
    with ExitStack() as stack:
        yield [stack.enter_context(ZeroMQTransport(rank, b"testruns")) for rank in range(workers)]


def connect(transports: list[Transport]) -> None:
    if all(isinstance(t, ZeroMQTransport) for t in transports):
        addresses = {t.rank: t.bind("ipc") for t in transports}
        for t in transports:
            t.connect({rank: address for rank, address in addresses.items() if rank != t.rank})


@pytest.mark.parametrize("wires", [memory, zeromq])
def test_a_step_allocates_nothing_that_grows_with_its_layers(wires: object) -> None:
    """numpy's own buffer for strided operands (see tests/kernels/harness.py) is made small: it must not count."""
    usual = np.getbufsize()
    peaks: list[int] = []
    kept: list[int] = []

    def begin() -> None:
        tracemalloc.reset_peak()
        kept.append(tracemalloc.get_traced_memory()[0])

    def end() -> None:
        peaks.append(tracemalloc.get_traced_memory()[1] - kept[-1])

    before, after = threading.Barrier(3, action=begin), threading.Barrier(3, action=end)

    def play(player: Player) -> None:
        np.setbufsize(16)
        try:
            for number in range(20):
                if number >= 10:
                    before.wait()
                step(player, "train", number)
                if number >= 10:
                    after.wait()
        finally:
            np.setbufsize(usual)

    with wires(3) as transports:  # type: ignore[operator]
        team = players(partition(LENET, 3, "bucket_bytes=256"), transports)
        connect(transports)
        tracemalloc.start()
        try:
            in_threads(team, play)
        finally:
            tracemalloc.stop()
    assert (kept[-1] - kept[0]) / (len(kept) - 1) < ALLOWED / 16
    assert max(peaks) < ALLOWED, peaks


def test_the_first_bucket_leaves_before_backward_ends() -> None:
    with zeromq(3) as transports:
        team = players(partition(LENET, 3, "bucket_bytes=256"), transports)
        connect(transports)
        for player in team:
            player.trace.events = []
        in_threads(team, lambda player: steps(player, 3))
    for player in team:
        program = player.program.phases["train"]
        buckets = [i for i in program.instructions if isinstance(i, CollectiveStart)]
        assert len(buckets) > 2
        assert player.trace.events is not None
        sends = [(t.start, t.end) for t in player.trace.events if t.name == "send all-reduce bucket 0"]
        backward = [t.end for t in player.trace.events if t.name.startswith("backward")]
        per_send, per_backward = len(sends) // 3, len(backward) // 3
        assert per_send > 0
        for number in range(3):
            first_sent = sends[number * per_send][1]
            assert first_sent < backward[(number + 1) * per_backward - 1]
            assert first_sent > backward[number * per_backward]


PRODUCER = """
name: "ahead" train_steps: 50 test_steps: 3 validate_steps: 3 train_one_batch { alg: kBP }
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.01 } }
neuralnet {
  layer {
    name: "data" type: kSyntheticInput location: 0 partition_dim: -1
    store_conf { shape: 6 batchsize: 4 } synthetic_conf { classes: 2 }
  }
  layer {
    name: "fc" type: kInnerProduct srclayers: "data" location: 1 partition_dim: -1 innerproduct_conf { num_output: 2 }
    param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant } }
  }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc" srclayers: "data" location: 1 partition_dim: -1 }
}
"""


def ends(player: Player, phase: str, number: int) -> bool:
    """True if the player gets through a step without anything new arriving."""
    return next(player.play(phase, number), None) is None


@pytest.mark.parametrize("phase", ["train", "test", "val"])
def test_a_producer_that_needs_no_gradients_stays_two_steps_ahead(phase: str) -> None:
    with memory(2) as transports:
        producer, consumer = players(partition(PRODUCER, 2), transports)
        for number in range(WINDOW):
            assert ends(producer, phase, number)
        ahead = producer.play(phase, WINDOW)
        for _ in range(3):
            waiting = next(ahead)
            assert (waiting.name, waiting.peer) == ("the end of an earlier step", 1)
        assert transports[1].arrivals == 2 * WINDOW
        for number in range(4):
            assert ends(consumer, phase, number)
            assert next(ahead, None) is None
            ahead = producer.play(phase, WINDOW + number + 1)
            assert next(ahead) is not None


@pytest.mark.parametrize("box", [((2, 9), (0, 5)), ((0, 1), (3, 4), (0, 50)), ((4, 4), (0, 9)), ((0, 7),), ()])
def test_pieces_are_small_and_tile_the_box(box: Region) -> None:
    found = list(split_box(box, elements=6))
    assert sum(size(piece) for piece in found) == size(box)
    assert all(size(piece) <= 6 for piece in found)
    assert len(set(found)) == len(found)
