"""Gradients in strips: the same training in less memory, where one update alone reads a gradient."""

from __future__ import annotations

from contextlib import AbstractContextManager
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.graph.partition import Partition, partition_job
from netpart.program.compile import compile_worker
from netpart.program.instructions import Backward, Update
from netpart.program.passes import strip_gradients
from netpart.proto.job_pb2 import JobProto
from netpart.proto.updater_pb2 import UpdaterType
from netpart.worker.ensemble import Ensemble
from tests.graph.jobs import data, job, layer, product
from tests.laws.nets import Example, examples
from tests.laws.workers import close, compare_metrics, reference, uncut_step
from tests.thorough import example_count

LOSS = layer("loss", "kSoftmaxLoss", "top", "data")
STEPS = 3


def net() -> JobProto:
    """Two inner products of 5 and 4 outputs."""
    return job(data(), product("below", "data", 5), layer("relu", "kReLU", "below"), product("top", "relu", 4), LOSS)


def small_strips() -> AbstractContextManager[object]:
    """All gradients in strips of two rows of four float32, or of one row of four float64."""
    return patch.multiple(strip_gradients, LEAST=1, STRIP=32)


def strips(cut: Partition, worker: int = 0) -> list[tuple[str, tuple[int, int]]]:
    """The parameter and the rows of each update of a strip."""
    program = compile_worker(cut, worker)
    updates = [each for each in program.phases["train"].instructions if isinstance(each, Update)]
    return [(program.holdings[u.holding].parameter.name, u.rows) for u in updates if u.rows is not None]


def test_each_strip_is_updated_before_the_next_is_made() -> None:
    with small_strips():
        program = compile_worker(partition_job(net(), 1), 0)
    rows = [
        each.rows for each in program.phases["train"].instructions if isinstance(each, Backward | Update) and each.rows
    ]
    assert len(rows) > 4
    assert rows[::2] == rows[1::2]


def test_the_rows_of_a_gradient_are_updated_once() -> None:
    with small_strips():
        found = strips(partition_job(net(), 1))
    assert {name for name, _ in found} == {"below/weight", "top/weight"}
    for name, outputs in (("below/weight", 5), ("top/weight", 4)):
        rows = [each for of, each in found if of == name]
        assert [row for lo, hi in rows for row in range(lo, hi)] == list(range(outputs))


def test_a_small_gradient_stays_whole() -> None:
    assert not strips(partition_job(net(), 1))


def test_a_gradient_that_others_read_stays_whole() -> None:
    with small_strips():
        assert not strips(partition_job(net(), 2)), "two workers sum it"
        clipped = net()
        clipped.updater.clip_norm = 1
        assert not strips(partition_job(clipped, 1)), "the norm of all gradients comes first"
        pieces = net()
        pieces.neuralnet.micro_batches = 2
        assert not strips(partition_job(pieces, 1)), "micro-batches add to it"
        assert not [
            each
            for each in compile_worker(partition_job(net(), 1), 0, keep=True).phases["train"].instructions
            if isinstance(each, Update) and each.rows
        ], "it is to be read after the step"


def test_workers_with_neurons_of_their_own_strip_their_gradients() -> None:
    conf = net()
    for each in conf.neuralnet.layer:
        if each.type == conf.neuralnet.layer[1].type:
            each.partition_dim = 1
    with small_strips():
        cut = partition_job(conf, 2)
        assert strips(cut, 0)
        assert strips(cut, 1)


@pytest.mark.parametrize("rule", [UpdaterType.kSGD, UpdaterType.kAdam, UpdaterType.kAdamW])
@pytest.mark.parametrize("cuts", [-1, 1])
@pytest.mark.parametrize("recompute", [False, True])
def test_training_is_the_same(rule: UpdaterType, cuts: int, recompute: bool) -> None:
    conf = net()
    conf.updater.type = rule
    conf.neuralnet.recompute = recompute
    for each in conf.neuralnet.layer:
        if cuts > 0 and each.type == conf.neuralnet.layer[1].type:
            each.partition_dim = cuts
    with small_strips():
        agree(partition_job(conf, 2 if cuts > 0 else 1))


@given(example=examples(), rows=st.integers(1, 40))
@settings(max_examples=example_count(60))
def test_random_nets_train_as_one_worker_does(example: Example, rows: int) -> None:
    with patch.multiple(strip_gradients, LEAST=1, STRIP=8 * rows):
        agree(partition_job(example.job, example.workers))


def agree(cut: Partition) -> None:
    """Holds ``cut``, with buffers that share memory, against one worker whose gradients are whole."""
    whole, parts = Ensemble(reference(cut.job), keep=True, poison=True), Ensemble(cut, poison=True)
    for ensemble in (whole, parts):
        ensemble.initialise()
    for step in range(STEPS):
        expected = uncut_step(whole, step)
        compare_metrics(parts.step("train", step), expected, f"step {step}")
        for parameter in whole.partition.parameters:
            close(parts.parameter(parameter.name), whole.parameter(parameter.name), f"{parameter.name}, step {step}")


@given(st.integers(1, 5000), st.integers(1, 600))
def test_the_number_of_strips_is_limited(outputs: int, inputs: int) -> None:
    with patch.object(strip_gradients, "STRIP", 1 << 10):
        found = strip_gradients._even_rows(outputs, strip_gradients.most_rows(outputs, 4 * inputs))
    assert len(found) <= strip_gradients.MOST_STRIPS
