"""Collectives by NCCL bring what they are to bring, wherever blocks lie, in the order of streams."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import pairwise
from threading import Barrier
from time import monotonic
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from netpart.collectives import KINDS
from netpart.collectives.kinds import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    REDUCE,
    REDUCE_SCATTER,
    cut_into_blocks,
)
from netpart.errors import TransportError
from netpart.kernels.choose import kernel_class
from netpart.kernels.cuda.device import thread_stream
from netpart.kernels.device import count_gpus
from netpart.plan.partition import partition_by_scheme
from netpart.program.compile import compile_worker
from netpart.program.exchange import Blocks, Exchange, plan_exchange
from netpart.proto.job_pb2 import Collectives, Scheme
from netpart.proto.reader import read_job_text
from netpart.spec import Region, extent, relative_slices
from netpart.transport.memory import MemoryHub
from netpart.updaters import build_updater
from netpart.worker.actions import START, WAIT
from netpart.worker.gpu.communicators import Communicators
from netpart.worker.gpu.nccl_collectives import NcclCall
from netpart.worker.player import Player
from tests.cuda.foreign import watched
from tests.cuda.module import ON_GPU, cupy, provide
from tests.cuda.nets import NETS

SECONDS = 60.0
WHOLE: Region = ((0, 6), (0, 7))
Values = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def _devices(monkeypatch: pytest.MonkeyPatch) -> None:
    provide(monkeypatch, gpus=3)


def together(n: int, bind: Callable[[Communicators], Any], play: Callable[[Any], Any]) -> list[Any]:
    """What ``play`` makes of what ``bind`` returns, by member, each a thread on a GPU of its own."""
    if ON_GPU and count_gpus() < n:
        pytest.skip(f"needs {n} GPUs, and there are {count_gpus()}")
    ids: dict[tuple[int, ...], bytes] = {}
    bound = Barrier(n, timeout=SECONDS)

    def member(rank: int) -> Any:
        cupy().cuda.Device(rank).use()
        thread_stream(cupy())  # of kernels, and what else this thread asks for
        with closing(Communicators(rank)) as communicators:
            found = bind(communicators)
            ids.update(communicators.begin())
            bound.wait()
            communicators.connect(ids, SECONDS)
            return play(found)

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(member, range(n), timeout=SECONDS))


def call(owner: Communicators, found: Exchange, ranks: tuple[int, ...], local: Any, target: Any) -> NcclCall:
    """``found`` in float64."""
    return NcclCall(owner, kernel_class("cuda")(cupy(), "float64"), found, ranks, local, target, np.float64)


def regions(kind: str, n: int, cut: str) -> Blocks:
    """A block of WHOLE for each member, of rows or columns; "uneven" ones differ, and one is empty."""
    if cut == "columns":
        found: Blocks = tuple((WHOLE[0], (at, at + 2)) for at in range(0, 2 * n, 2))
    else:
        ends = list(range(0, 2 * n + 1, 2)) if cut == "even" else [0, 0, *range(3, 3 + n - 1)]
        found = tuple(((lo, hi), WHOLE[1]) if lo < hi else None for lo, hi in pairwise(ends))
    if kind == ALL_TO_ALL:
        return tuple(each for b in found for each in (cut_into_blocks(b, n) if b else [None] * n))
    return found if kind in (ALL_GATHER, REDUCE_SCATTER) else ()


def wanted(kind: str, found: Exchange, brought: list[Values], place: int) -> Values:
    """What the member at ``place`` has when it is complete."""
    n, out = len(brought), np.zeros_like(brought[0])
    for b, block in enumerate(found.blocks):
        if block is not None:
            at = relative_slices(block, WHOLE)
            total = np.sum([each[at] for each in brought], axis=0)
            come = {
                ALL_REDUCE: total, ALL_GATHER: brought[b % n][at], BROADCAST: brought[0][at],
                REDUCE_SCATTER: total if b == place else None, REDUCE: total if place == 0 else None,
                ALL_TO_ALL: brought[b // n][at] if b % n == place else None,
            }[kind]  # fmt: skip
            out[at] = 0 if come is None else come
    return out


@pytest.mark.parametrize("cut", ["even", "uneven", "columns"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 3])
def test_every_member_gets_what_it_should(n: int, kind: str, cut: str) -> None:
    """Blocks of columns do not lie in one run, and are packed."""
    found = plan_exchange(kind, tuple(range(n)), WHOLE, regions(kind, n, cut), "nccl", 8)
    brought = [np.random.default_rng(rank).random(extent(WHOLE)) for rank in range(n)]

    def bind(communicators: Communicators) -> tuple[NcclCall, Any, Any]:
        rank = communicators.rank
        given, out = cupy().zeros(extent(WHOLE)), cupy().zeros(extent(WHOLE))
        local, target = (
            [
                None if b not in mine or block is None else array[relative_slices(block, WHOLE)]
                for b, block in enumerate(found.blocks)
            ]
            for array, mine in zip((given, out), own(kind, rank, n, len(found.blocks)), strict=True)
        )
        return call(communicators, found, found.members, local, target), given, out

    def play(bound: tuple[NcclCall, Any, Any]) -> Values:
        made, given, out = bound
        given[...] = cupy().asarray(brought[made.owner.rank])  # not done yet, nor is what follows
        made.start()
        made.wait()
        result = cupy().zeros(extent(WHOLE))
        result[...] = out
        return result.get()  # type: ignore[no-any-return]

    for place, got in enumerate(together(n, bind, play)):
        np.testing.assert_allclose(got, wanted(kind, found, brought, place), rtol=1e-14)


def own(kind: str, place: int, n: int, blocks: int) -> tuple[set[int], set[int]]:
    """The blocks that the member at ``place`` has something of, and those that it wants."""
    every = set(range(blocks))
    mine = {place} & every
    return {
        ALL_REDUCE: (every, every), ALL_GATHER: (mine, every), REDUCE_SCATTER: (every, mine), BROADCAST: (mine, every),
        REDUCE: (every, mine), ALL_TO_ALL: (set(range(place * n, place * n + n)), set(range(place, blocks, n))),
    }[kind]  # fmt: skip


def test_blocks_that_lie_in_one_run_are_not_packed() -> None:
    """The sum of a bucket is made where it lies."""
    found = plan_exchange(ALL_REDUCE, (0, 1), ((0, 10),), (), "nccl", 8)
    bucket = cupy().zeros(10)
    blocks = [bucket[lo:hi] for ((lo, hi),) in filter(None, found.blocks)]
    made = call(Communicators(1), found, (0, 1), blocks, blocks)
    assert (made.nbytes, made.memory) == (0, [])
    assert next(iter(made.out.values())) == bucket.data.ptr


@pytest.mark.skipif(ON_GPU, reason="NCCL itself waits on, in a thread that nobody can end")
def test_a_member_that_does_not_come_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that waits in vain is gone when the test is: what it does would be seen by others."""
    monkeypatch.setattr(cupy().cuda.nccl, "SECONDS", 0.3)
    found, communicators = plan_exchange(ALL_REDUCE, (0, 1), ((0, 4),), (), "nccl", 8), Communicators(0)
    call(communicators, found, (0, 1), [None] * 2, [None] * 2)
    expected = r"rank 0: expected a communicator of ranks 0, 1, got no answer from the others in 0.1 s; read NCCL"
    with pytest.raises(TransportError, match=expected):
        communicators.connect(communicators.begin(), 0.1)
    for thread in threading.enumerate():
        if thread.name == "netpart-nccl":
            thread.join(SECONDS)
    assert "netpart-nccl" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.skipif(ON_GPU, reason="needs to have two members on one GPU at a time")
def test_two_members_on_one_gpu_are_refused() -> None:
    found = plan_exchange(ALL_REDUCE, (0, 1), ((0, 4),), (), "nccl", 8)

    def member(rank: int) -> str:
        communicators = Communicators(rank)
        call(communicators, found, (0, 1), [None] * 2, [None] * 2)
        with pytest.raises(TransportError) as caught:
            communicators.connect({(0, 1): name}, SECONDS)
        return str(caught.value)

    name = cupy().cuda.nccl.get_unique_id()
    with ThreadPoolExecutor(2) as pool:
        assert all("Duplicate GPU" in said for said in pool.map(member, range(2)))


def player(
    rank: int = 0, collectives: Collectives.Algorithm = Collectives.NCCL, scheme: Scheme = Scheme.DATA,
    communicators: Communicators | None = None, hub: MemoryHub | None = None,
) -> Player:  # fmt: skip
    """One of two workers, which sum their gradients if nothing else is said."""
    job = read_job_text(NETS["mlp"]).proto
    job.collectives, job.neuralnet.scheme = collectives, scheme
    rule, owner = build_updater(job.updater), communicators or Communicators(rank)
    program = compile_worker(partition_by_scheme(job, 2), rank, len(rule.states), kernels=kernel_class("cuda"))
    return Player(program, (hub or MemoryHub(2))[rank], cupy(), rule, job.seed, communicators=owner)


@pytest.mark.skipif(ON_GPU, reason="the emulation counts")
def test_a_step_has_no_kernel_of_cupys_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor has what is packed."""
    found, hub = list[list[str]](), MemoryHub(2)
    ready = Barrier(2, lambda: found.append(watched(monkeypatch)), SECONDS)

    def bind(communicators: Communicators) -> Player:
        worker = player(communicators.rank, scheme=Scheme.GATHER_SCATTER, communicators=communicators, hub=hub)
        worker.parameters.initialise()
        assert any(running.call and running.call.memory for running in worker.bound["train"].running)
        return worker

    def play(worker: Player) -> None:
        ready.wait()
        deadline = monotonic() + SECONDS
        for turns in (*(worker.play("train", step) for step in range(4)), worker.finish("train")):
            for waiting in turns:
                assert monotonic() < deadline, waiting
                os.sched_yield()

    together(2, bind, play)
    assert found == [[]]


def test_a_host_waits_for_a_gpu_that_waits_for_others_where_it_can_be_reached() -> None:
    worker = player()
    assert worker.marks.joint is not None
    assert list(worker.finish("train")) == []
    mark = SimpleNamespace(done=False)
    worker.marks.made.append(mark)
    waits = worker.finish("train")
    for _ in range(3):
        waiting = next(waits)
        assert str(waiting).startswith("collectives of NCCL (edge ")
        assert (waiting.peer, waiting.phase, waiting.step) == (1, "train", 0)
        assert waiting.look < 0.01
    mark.done = True
    assert list(waits) == []


def test_what_nccl_moves_takes_no_slots_and_is_called_outside_of_graphs() -> None:
    worker = player()
    calls = [running.call for running in worker.bound["train"].running]
    assert calls
    assert None not in calls
    assert worker.machine.wire_bytes < player(collectives=Collectives.DIRECT).machine.wire_bytes
    kinds = [action.kind for _, action in worker.replayed["train"][0]]
    assert kinds.count(START) == kinds.count(WAIT) == len(calls)
