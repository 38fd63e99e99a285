"""Which messages peers may write where they belong: sums that come back, and nothing that is still looked at. Which
they may read where they lie: addends whose sums come back, and nothing that is written meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

import numpy as np
import pytest

from netpart.collectives.kinds import SWAP
from netpart.graph.partition import Partition
from netpart.program.arena import owning_buffer
from netpart.program.buffers import FIXED
from netpart.program.compile import compile_worker
from netpart.program.instructions import AddSquares, Channel, CollectiveStart, CollectiveWait, Instruction, Update, Way
from netpart.program.messages.wire_memory import (
    peer_read_buffers,
    peer_read_messages,
    peer_written_buffers,
    peer_written_messages,
)
from netpart.program.program import WorkerProgram
from netpart.spec import intersect
from netpart.transport.shm import ShmTransport
from netpart.transport.transport import Array
from netpart.transport.transport import Channel as TransportChannel
from netpart.worker.actions import WAIT
from netpart.worker.ensemble import Ensemble
from netpart.worker.wait_reasons import WaitReason
from tests.laws import groups
from tests.laws.wired import Wired
from tests.thorough import sampled
from tests.worker.jobs import LENET, partition


def programs(workers: int, *overrides: str) -> list[WorkerProgram]:
    cut = partition(LENET, workers, *overrides)
    return [compile_worker(cut, worker) for worker in range(workers)]


def buckets(program: WorkerProgram) -> list[CollectiveStart]:
    return [s for s in program.phases["train"].collectives if s.channel.way == Way.BUCKET]


@pytest.mark.parametrize("workers", [2, 3, 4])
def test_of_a_ring_the_blocks_that_others_sum_are_written_where_they_belong(workers: int) -> None:
    for program in programs(workers, "collectives=RING"):
        for start in buckets(program):
            views = [view for _, view in peer_written_messages(program, start)]
            assert len(views) == workers - 1
            assert all(view in start.target for view in views)
            assert all(intersect(a.box, b.box) is None for a in views for b in views if a is not b)


def test_addends_are_written_nowhere() -> None:
    for program in programs(3, "collectives=RING"):
        for start in buckets(program):
            added = {index for index, message in enumerate(start.exchange.schedule) if message.add}
            assert added
            assert not added & dict(peer_written_messages(program, start)).keys()


def test_a_swap_brings_addends_alone() -> None:
    for program in programs(2):
        assert {start.exchange.algorithm for start in buckets(program)} == {SWAP}
        assert peer_written_buffers(program) == set()


def test_what_lies_in_the_arena_is_left_alone() -> None:
    """There another tensor may lie when a peer is early: of all collectives those of gradients alone are concerned."""
    for program in programs(2, "collectives=RING"):
        assert any(start.channel.way != Way.BUCKET for start in program.phases["train"].collectives)
        found = [program.buffers[b] for b in peer_written_buffers(program)]
        assert found
        assert all(buffer.kind == FIXED and buffer.name.startswith("bucket") for buffer in found)


PATIENCE = 0.01
"""Seconds without any message after which a late reader reads one: others may wait for what it then sends."""
BATCH = ("ip1.partition_dim=0", "relu1.partition_dim=0", "drop1.partition_dim=0")
SHARDED = (*BATCH, "shard_updates=YES")
PLANS = {
    "sharded": (2, SHARDED),
    "sharded, clipped": (2, (*SHARDED, "updater.clip_norm=0.1")),
    "sharded, micro-batches": (2, (*SHARDED, "neuralnet.micro_batches=3")),
} | {
    f"{algorithm.lower()}{', sharded' * bool(how)}": (workers, (*how, f"collectives={algorithm}"))
    for algorithm, workers in (("DIRECT", 3), ("DOUBLING", 4), ("RING", 3), ("TREE", 3))
    for how in ((), SHARDED)
}  # fmt: skip
every_plan = pytest.mark.parametrize(("workers", "overrides"), PLANS.values(), ids=PLANS)
and_a_swap = pytest.mark.parametrize(
    ("workers", "overrides"),
    sampled([pytest.param(*plan, id=name) for name, plan in {SWAP: (2, ()), **PLANS}.items()], 4),
)


def of_training(workers: int, overrides: tuple[str, ...]) -> Iterator[tuple[WorkerProgram, CollectiveStart]]:
    for program in programs(workers, *overrides):
        yield from ((program, start) for start in program.phases["train"].collectives)


@every_plan
def test_addends_of_gradients_are_read_where_they_lie(workers: int, overrides: tuple[str, ...]) -> None:
    for program, start in of_training(workers, overrides):
        summing = start.channel.way == Way.BUCKET
        for index, view in peer_read_messages(program, start):
            message = start.exchange.schedule[index]
            assert message.add
            assert message.source == start.exchange.place(program.worker)
            assert program.buffers[view.buffer].kind == FIXED
        assert summing or not list(peer_read_messages(program, start))
    assert all(peer_read_buffers(program) for program in programs(workers, *overrides)) or "TREE" in str(overrides)


@every_plan
def test_both_ends_know_what_stays(workers: int, overrides: tuple[str, ...]) -> None:
    found: dict[Channel, set[frozenset[int]]] = {}
    for _, start in of_training(workers, overrides):
        found.setdefault(start.channel, set()).add(start.exchange.staying)
    assert all(len(each) == 1 for each in found.values())


@every_plan
def test_nobody_writes_what_peers_read_before_they_have_answered(workers: int, overrides: tuple[str, ...]) -> None:
    """From a start to the wait for its answer only exchanges, and instructions that read, touch the buffer, and there
    is such a wait before the step ends."""
    checked = 0
    for program in programs(workers, *overrides):
        instructions = program.phases["train"].instructions
        for at, start in enumerate(instructions):
            if not isinstance(start, CollectiveStart):
                continue
            for _, view in peer_read_messages(program, start):
                answer = start.channel._replace(way=Way.VALUES) if start.exchange.answer else start.channel
                end = next(i for i, w in enumerate(instructions) if waited(w) == answer)
                root = owning_buffer(program.buffers, view.buffer)
                touching = [i for i in instructions[at + 1 : end] if root in roots(program, i)]
                assert all(isinstance(i, CollectiveStart | CollectiveWait | AddSquares | Update) for i in touching)
                checked += 1
    assert checked


def waited(instruction: Instruction) -> Channel | None:
    return instruction.start.channel if isinstance(instruction, CollectiveWait) else None


def roots(program: WorkerProgram, instruction: Instruction) -> set[int]:
    return {owning_buffer(program.buffers, view.buffer) for view in instruction.views}


class Late(ShmTransport):
    """Once it has ``patience``, it takes in no gradient, sum or value until everybody else has ended the step, or
    nothing has come for that many seconds: then one message, so that others get what it has to pass on."""

    patience = 0.0
    idle = 0.0
    looks = 0
    ended = Event()

    @property
    def arrivals(self) -> int:
        self.looks += 1
        return super().arrivals + self.looks

    def receive(self, channel: TransportChannel, step: int) -> Array | None:
        summed = channel[1] in (Way.BUCKET, Way.VALUES)
        if summed and self.idle < self.patience and not self.ended.is_set():
            return None
        found = super().receive(channel, step)
        self.idle = self.idle if found is None else 0.0
        return found

    def wait(self, seconds: float) -> bool:
        if not self.patience:
            return super().wait(seconds)
        self.idle = 0.0 if super().wait(PATIENCE) else self.idle + PATIENCE
        return True


class Spoiled(Wired):
    """Who ends a step spoils at once what peers read, so who reads it later gets no number."""

    late = others = 0

    def be_late(self, worker: int, patience: float) -> None:
        self.late = worker
        self.reader.patience, self.reader.ended = patience, Event()

    @property
    def reader(self) -> Late:
        found = self.transports[self.late]
        assert isinstance(found, Late)
        return found

    def play(self, worker: int, steps: Iterator[WaitReason]) -> None:
        super().play(worker, steps)
        player = self.players[worker]
        for b in peer_read_buffers(player.program):
            player.machine.fixed[b].fill(np.nan)
        self.others -= worker != self.late
        if not self.others:
            self.reader.ended.set()

    def step(self, phase: str, step: int, drain: bool = True) -> dict[str, float]:
        self.others = len(self.players) - 1
        self.reader.ended.clear()
        return super().step(phase, step, drain)


@contextmanager
def spoiled(monkeypatch: pytest.MonkeyPatch, cut: Partition) -> Iterator[Spoiled]:
    made: list[Spoiled] = []
    monkeypatch.setattr(groups, "ShmTransport", Late)
    with groups.shm(cut.workers, lambda ranks: made.append(Spoiled(cut, ranks, poison=True))):
        yield made[0]


def differing(found: Ensemble, steps: int) -> list[str]:
    """The parameters that differ after ``steps`` steps from those of workers that copy all that they send."""
    expected = Ensemble(found.partition, poison=True)
    for ensemble in (found, expected):
        ensemble.initialise()
        for step in range(steps):
            ensemble.step("train", step)
    names = [p.name for p in found.partition.parameters]
    return [name for name in names if not np.array_equal(found.parameter(name), expected.parameter(name))]


@and_a_swap
def test_what_is_written_as_soon_as_a_step_ends_has_been_read(
    workers: int, overrides: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for late in range(workers):
        with spoiled(monkeypatch, partition(LENET, workers, *overrides)) as ensemble:
            ensemble.be_late(late, PATIENCE)
            assert differing(ensemble, 2) == []


@pytest.mark.parametrize("algorithm", ["DIRECT", "DOUBLING", "RING", "TREE"])
def test_what_is_written_before_it_has_been_answered_is_read(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So the test above can fail: here worker 0 ends its step without the values that come back."""
    with spoiled(monkeypatch, partition(LENET, 2, *SHARDED, f"collectives={algorithm}")) as ensemble:
        ensemble.be_late(1, groups.DEADLINE)
        for turn in ensemble.players[0].replayed["train"]:
            turn[:] = [(d, a) for d, a in turn if not (a.kind == WAIT and a.channel and a.channel.way == Way.VALUES)]
        assert differing(ensemble, 1)
