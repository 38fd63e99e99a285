"""What is compiled: no copy where a view will do, one update for each holding, sums that leave during backward."""

from __future__ import annotations

from hypothesis import given, settings

from netpart.graph.partition import Partition, partition_job
from netpart.program.buffers import Buffer, View, is_contiguous
from netpart.program.compile import compile_worker
from netpart.program.instructions import (
    Backward,
    CollectiveStart,
    CollectiveWait,
    Copy,
    Instruction,
    Receive,
    Send,
    Update,
)
from tests.graph.jobs import data, job, layer, product
from tests.laws.nets import Example, examples
from tests.thorough import example_count

LOSS = layer("loss", "kSoftmaxLoss", "top", "data")


def instructions(partition: Partition, worker: int, phase: str = "train") -> list[Instruction]:
    return compile_worker(partition, worker).phases[phase].instructions


def test_one_worker_copies_and_sends_nothing() -> None:
    conf = job(data(), product("below", "data", 5), layer("relu", "kReLU", "below"), product("top", "relu", 4), LOSS)
    found = instructions(partition_job(conf, 1), 0)
    assert not [i for i in found if isinstance(i, Copy | Send | Receive | CollectiveStart)]


def test_rows_are_sent_as_views_of_the_batch() -> None:
    partition = partition_job(job(data(), product("top", "data", 4), LOSS), 3)
    sends = [i for i in instructions(partition, 0) if isinstance(i, Send) and i.source.shape == (2, 4)]
    assert [i.source.box for i in sends] == [((2, 4), (0, 4)), ((4, 6), (0, 4))]
    assert len({i.source.buffer for i in sends}) == 1


def test_the_first_sum_leaves_before_backward_ends() -> None:
    layers = [product("below", "data", 64), product("top", "below", 4)]
    conf = job(data(), *layers, LOSS)
    conf.bucket_bytes = 64
    found = instructions(partition_job(conf, 2), 0)
    kinds = [type(i) for i in found]
    assert kinds.index(CollectiveStart) < len(kinds) - 1 - kinds[::-1].index(Backward)


@given(examples())
@settings(max_examples=example_count(60))
def test_every_program_is_whole(example: Example) -> None:
    """Sends meet receives, sums that start are awaited, and what is trained is updated once, after its sums."""
    partition = partition_job(example.job, example.workers)
    compiled = [compile_worker(partition, worker) for worker in range(example.workers)]
    for phase in partition.phases:
        lists = [list(program.phases[phase].in_turn) for program in compiled]
        sent = {
            (w, i.peer, i.channel, i.source.shape)
            for w, found in enumerate(lists)
            for i in found
            if isinstance(i, Send)
        }
        came = {
            (i.peer, w, i.channel, i.target.shape)
            for w, found in enumerate(lists)
            for i in found
            if isinstance(i, Receive)
        }
        assert sent == came
        for program, found in zip(compiled, lists, strict=True):
            started = [i.channel for i in found if isinstance(i, CollectiveStart)]
            assert sorted(started) == sorted(i.start.channel for i in found if isinstance(i, CollectiveWait))
            updated = [i.holding for i in found if isinstance(i, Update)]
            trained = [h for h, held in enumerate(program.holdings) if held.parameter.name in partition.trained]
            assert sorted(updated) == (trained if phase == "train" else [])


def test_one_run_of_memory_is_told_from_another() -> None:
    shape = Buffer("b", (4, 3, 2)).shape
    runs = [((0, 4), (0, 3), (0, 2)), ((1, 3), (0, 3), (0, 2)), ((1, 2), (1, 2), (0, 1)), ((2, 3), (0, 2), (0, 2))]
    gaps = [((0, 4), (0, 2), (0, 2)), ((0, 2), (1, 2), (0, 2)), ((0, 1), (0, 2), (0, 1))]
    assert all(is_contiguous(View(0, box), shape) for box in runs)
    assert not any(is_contiguous(View(0, box), shape) for box in gaps)


def test_a_crop_of_a_view_is_a_view_of_the_same_buffer() -> None:
    rows = View(7, ((2, 6), (0, 5)))
    assert rows.crop(((11, 13), (1, 2)), ((10, 14), (0, 5))) == View(7, ((3, 5), (1, 2)))


def test_workers_share_the_views_of_blocks() -> None:
    """Of n workers each program would have n views of each bucket."""
    partition = partition_job(job(data(), product("top", "data", 64), LOSS), 3)
    starts = [[i for i in instructions(partition, w) if isinstance(i, CollectiveStart)] for w in range(3)]
    assert all(len(found) == len(starts[0]) > 0 for found in starts)
    for first, *others in zip(*starts, strict=True):
        assert all(other.local is first.local and other.target is first.target for other in others)
