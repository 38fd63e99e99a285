"""Recomputation: the same bits from less memory, and nothing said, counted or followed twice."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import isqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.graph.partition import Partition, partition_job
from netpart.graph.recomputed import clear_recomputation, recomputed_nodes
from netpart.kernels.choose import kernel_class, probe_onednn
from netpart.kernels.counting import CountingKernels
from netpart.kernels.reference import Kernels
from netpart.plan.partition import partition_by_scheme
from netpart.plan.text.plan_table import tabulate_partition
from netpart.program.buffer_table import BufferTable
from netpart.program.compile import compile_worker
from netpart.program.instructions import Backward, Forward, Instruction
from netpart.program.messages.communication import list_communications
from netpart.program.passes.recompute import Recomputation, TurnInstructions, repeated_forwards
from netpart.program.program import WorkerProgram
from netpart.proto.job_pb2 import JobProto, Schedule
from netpart.proto.reader import read_job
from netpart.worker.ensemble import Ensemble
from netpart.worker.machine import ALIGN
from tests.graph.jobs import data, job, layer, product
from tests.house.tree import ROOT
from tests.laws.nets import Example, examples
from tests.laws.placements import Placed, placed_jobs
from tests.laws.workers import ChannelsLast, bits
from tests.thorough import example_count, sampled

ROWS, WIDTH = 8, 16
LAYER = ROWS * WIDTH * 8
"""Bytes of an activation of ``deep``."""
GRADIENTS = (WIDTH + 1) * WIDTH * 8 + 64
"""Bytes of the gradients of the parameters of one layer, as the arena aligns them; most are updated at once."""
kernel_sets = st.sampled_from([Kernels, ChannelsLast])
counts = st.integers(1, 6)
dtypes = st.sampled_from([JobProto.FLOAT64, JobProto.FLOAT32])


def deep(layers: int) -> JobProto:
    """A chain of equal layers, each of which backward reads the input of."""
    products = [product(f"fc{k}", f"fc{k - 1}" if k else "data", WIDTH) for k in range(layers)]
    source = data(rows=ROWS, shape=f"shape: {WIDTH}", classes=WIDTH)
    return job(source, *products, layer("loss", "kSoftmaxLoss", f"fc{layers - 1}", "data"))


def keeping(conf: JobProto, *names: str) -> JobProto:
    """``conf`` with these layers kept, whatever the net says."""
    for each in conf.neuralnet.layer:
        if each.name in names:
            each.recompute = False
    return conf


def both(cut: Partition, default: bool = True) -> tuple[Partition, Partition]:
    """``cut`` without recomputation, and with that of its layers, and of all that say nothing where ``default``."""
    jobs = [JobProto(), JobProto()]
    for conf in jobs:
        conf.CopyFrom(cut.job)
    clear_recomputation(jobs[0].neuralnet)
    jobs[1].neuralnet.recompute = default
    return replace(cut, job=jobs[0]), replace(cut, job=jobs[1])


@contextmanager
def segmented(count: int) -> Iterator[None]:
    """Cuts every forward pass into ``count`` segments, whatever that saves."""

    def always(
        memory: BufferTable, passes: list[TurnInstructions], width: int, marked: Collection[int], arena: object
    ) -> list[TurnInstructions]:
        return Recomputation(memory, passes, width, marked).passes(count)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("netpart.program.compile.choose_recomputation", always)
        yield


def trained(cut: Partition, kernels: type[Kernels] = Kernels, keep: bool = False) -> list[object]:
    """The metrics of three steps, and then every bit of parameters, running statistics and the updater's state."""
    ensemble = Ensemble(cut, order=1, keep=keep, poison=True, kernels=kernels)
    ensemble.initialise()
    return [*(ensemble.step("train", step) for step in range(3)), bits(ensemble)]


def arenas(cut: Partition, kernels: type[Kernels] = Kernels) -> list[int]:
    """Bytes of activations without and with recomputation, of the worker with most."""
    workers = range(cut.workers)
    return [max(compile_worker(c, w, kernels=kernels).phases["train"].arena for w in workers) for c in both(cut)]


@settings(max_examples=example_count(60))
@given(example=examples(), kernels=kernel_sets, count=counts, keep=st.booleans(), default=st.booleans(), dtype=dtypes)
def test_not_a_bit_differs_in_any_job(
    example: Example, kernels: type[Kernels], count: int, keep: bool, default: bool, dtype: JobProto.DType
) -> None:
    example.job.dtype = dtype
    check_same(partition_job(example.job, example.workers), kernels, count, keep, default)


@settings(max_examples=example_count(60))
@given(placed=placed_jobs(), kernels=kernel_sets, count=counts, default=st.booleans())
def test_not_a_bit_differs_in_any_placement(placed: Placed, kernels: type[Kernels], count: int, default: bool) -> None:
    check_same(placed.partition(), kernels, count, False, default)


def check_same(cut: Partition, kernels: type[Kernels], count: int, keep: bool, default: bool) -> None:
    """``cut`` trains alike and sends the same in ``count`` segments, and repeats only what is to be recomputed."""
    plain, again = both(cut, default)
    with segmented(count):
        assert trained(again, kernels, keep) == trained(plain, kernels)
        for worker in range(cut.workers):
            programs = [compile_worker(c, worker, kernels=kernels) for c in (plain, again)]
            assert list_communications(programs[0]) == list_communications(programs[1])
            check_repeated(again, programs[1])


def check_repeated(cut: Partition, compiled: WorkerProgram) -> None:
    """No part runs a third time, and none a second time whose layer keeps its activations."""
    program = compiled.phases["train"]
    calls = [(i.micro, i.part) for i in repeated_forwards(program.instructions)]
    assert len(set(calls)) == len(calls)
    for micro, part in calls:
        graph = program.micros[micro].graph
        assert graph.parts[part].node in recomputed_nodes(graph.net, cut.job.neuralnet)


@settings(max_examples=example_count(60))
@given(example=examples(), kernels=kernel_sets, default=st.booleans())
def test_it_never_takes_more(example: Example, kernels: type[Kernels], default: bool) -> None:
    cut = partition_job(example.job, example.workers)
    for worker in range(cut.workers):
        plain, again = (compile_worker(c, worker, kernels=kernels).phases["train"].arena for c in both(cut, default))
        assert again <= plain


@pytest.mark.parametrize("layers", sampled([16, 36, 100], 3))
def test_a_chain_takes_two_square_roots_of_its_layers(layers: int) -> None:
    """Beside them: the gradient that comes and the one that goes, and the labels and the loss."""
    plain, again = arenas(partition_job(deep(layers), 1))
    assert plain >= layers * LAYER
    assert again <= (2 * isqrt(layers) + 3) * LAYER + GRADIENTS


@pytest.mark.parametrize("layers", [16, 100])
def test_a_chain_goes_forward_less_than_twice(layers: int) -> None:
    _, again = both(partition_job(deep(layers), 1))
    instructions = compile_worker(again, 0).phases["train"].instructions
    calls = list(repeated_forwards(instructions))
    assert 0 < len(calls) < layers
    assert len({(i.micro, i.part) for i in calls}) == len(calls)
    assert all(i.metrics is None for i in calls)


def test_its_flops_are_those_that_the_kernels_count() -> None:
    counted, cuts = list[int](), both(partition_job(deep(16), 1))
    for cut in cuts:
        ensemble = Ensemble(cut, kernels=CountingKernels)
        ensemble.initialise()
        ensemble.step("train", 0)
        kernels = ensemble.players[0].machine.kernels
        assert isinstance(kernels, CountingKernels)
        counted.append(kernels.flops)
    plain, again = map(tabulate_partition, cuts)
    assert again.recomputed_flops == again.flops - plain.flops == counted[1] - counted[0] > 0
    assert sum(worker.flops for worker in again.workers) == again.flops


@pytest.mark.parametrize("kept", [(), range(0, 36, 6)])
def test_what_is_predicted_is_allocated(kept: Sequence[int]) -> None:
    cut = both(partition_job(keeping(deep(36), *(f"fc{k}" for k in kept)), 1))[1]
    machine = Ensemble(cut).players[0].machine
    assert machine.memory.nbytes == compile_worker(cut, 0).arena_bytes + ALIGN


def test_it_is_computed_right_before_it_is_read() -> None:
    """The segments of a chain of nine in three, by what is forward and backward; the last one is still there."""
    with segmented(3):
        assert backward_of(both(partition_job(deep(9), 1))[1]) == "Bloss B8 B7 F3 F4 F5 B6 B5 B4 B3 F0 F1 B2 B1 B0"


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ((2, 5, 8), "Bloss F6 F7 B8 B7 B6 F3 F4 B5 B4 B3 F0 F1 B2 B1 B0"),
        ((0, 1, 2, 3, 4, 5, 6, 8), "Bloss F7 B8 B7 B6 B5 B4 B3 B2 B1 B0"),
        ((3, 4), "Bloss B8 B7 B6 B5 B4 F0 F1 F2 B3 B2 B1 B0"),
        (range(9), "Bloss B8 B7 B6 B5 B4 B3 B2 B1 B0"),
    ],
)
def test_it_is_computed_from_the_nearest_kept_layers(kept: Sequence[int], expected: str) -> None:
    with segmented(1):
        assert backward_of(both(partition_job(keeping(deep(9), *(f"fc{k}" for k in kept)), 1))[1]) == expected


@pytest.mark.parametrize(
    ("kept", "expected"), [(("fc1", "loss"), "Bloss B3 B2 F0 B1 B0"), (("fc3", "loss"), "Bloss F0 F1 F2 B3 B2 B1 B0")]
)
def test_what_is_read_at_once_is_not_dropped(kept: Sequence[str], expected: str) -> None:
    """The loss reads its input again, whether it is kept or not."""
    with segmented(1):
        cut = both(partition_job(keeping(deep(4), *kept), 1))[1]
        assert backward_of(cut) == expected


def test_a_kept_layer_of_another_branch_ends_no_run() -> None:
    """Of two towers in turns, one that is kept and one that is recomputed, from its input alone."""
    towers = [product(f"{t}{k}", f"{t}{k - 1}" if k else "data", WIDTH) for k in range(3) for t in ("a", "b")]
    top = layer("sum", "kAdd", "a2", "b2"), layer("loss", "kSoftmaxLoss", "sum", "data")
    conf = keeping(
        job(data(rows=ROWS, shape=f"shape: {WIDTH}", classes=WIDTH), *towers, *top), "b0", "b1", "b2", "sum", "loss"
    )
    with segmented(1):
        assert backward_of(both(partition_job(conf, 1))[1]) == "Bloss Bsum Bb2 Fa0 Fa1 Ba2 Bb1 Ba1 Bb0 Ba0"


def test_a_delayed_stage_holds_borders_alone() -> None:
    """Of each mini-batch in flight: the last of three stages has one, so its activations are read at once."""
    conf = deep(36)
    conf.neuralnet.schedule = Schedule.DELAYED
    for k in range(36):
        conf.neuralnet.layer[k + 1].location.append(k // 12)
    conf.neuralnet.layer[37].location.append(2)
    plain, again = (
        [compile_worker(c, w).phases["train"].arena for w in range(3)] for c in both(partition_job(conf, 3))
    )
    assert plain[0] >= 3 * 12 * LAYER
    assert again[0] <= (3 + 12 + 3) * LAYER
    assert again[2] < plain[2]


def backward_of(cut: Partition) -> str:
    """What worker 0 runs in a step after the loss: F and B with the names of layers, without fc."""
    calls = [i for i in instructions_of(cut) if isinstance(i, Forward | Backward)]
    names = [f"{type(i).__name__[0]}{cut.graph.parts[i.part].name.removeprefix('fc')}" for i in calls]
    return " ".join(names[names.index("Floss") + 1 :])


def test_of_micro_batches_in_flight_one_is_held() -> None:
    """Of the others only the data: of 12 layers in 4 micro-batches that is 3, beside data and gradients. Those of all
    parameters are kept until the end."""
    conf = deep(12)
    conf.neuralnet.micro_batches, conf.neuralnet.schedule = 4, Schedule.GPIPE
    plain, again = arenas(partition_job(conf, 1))
    assert plain >= 12 * LAYER
    assert again <= 6 * LAYER + 12 * GRADIENTS


@pytest.mark.parametrize(("workers", "overrides"), [(1, []), (2, []), (2, ["neuralnet.micro_batches=2"])])
@pytest.mark.parametrize("name", ["reference", "onednn"])
def test_a_residual_net_takes_less(name: str, workers: int, overrides: list[str]) -> None:
    if name == "onednn" and probe_onednn():
        pytest.skip(probe_onednn())
    job, kernels = read_job(ROOT / "graphs" / "resnet" / "resnet34-small.conf", overrides), kernel_class(name)
    cut = partition_by_scheme(job.proto, workers, job.folder)
    plain, again = arenas(cut, kernels)
    assert again < 0.8 * plain
    assert trained(both(cut)[1], kernels) == trained(both(cut)[0], kernels)


def test_dropout_forgets_the_same_and_statistics_follow_once() -> None:
    norm = layer("norm", "kBM", "drop", more="bm_conf { momentum: 0.5 }")
    layers = product("fc", "data", WIDTH), layer("drop", "kDropout", "fc"), norm, product("top", "norm", WIDTH)
    source = data(rows=ROWS, shape=f"shape: {WIDTH}", classes=WIDTH)
    cut = partition_job(job(source, *layers, layer("loss", "kSoftmaxLoss", "top", "data")), 1)
    with segmented(4):
        names = [cut.graph.parts[i.part].name for i in repeated_forwards(instructions_of(both(cut)[1]))]
        assert {"drop", "norm"} <= set(names)
        assert trained(both(cut)[1]) == trained(both(cut)[0])


def instructions_of(cut: Partition) -> list[Instruction]:
    """What worker 0 does in a training step."""
    return compile_worker(cut, 0).phases["train"].instructions
