"""Fusion: an activation becomes part of the instruction before it, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from netpart.graph.partition import partition_job
from netpart.kernels.choose import kernel_class, probe_onednn
from netpart.kernels.reference import Kernels
from netpart.program.compile import compile_worker
from netpart.program.instructions import Backward, Forward
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job_text
from netpart.worker.ensemble import Ensemble
from tests.laws.workers import ChannelsLast
from tests.program.passes.test_buffer_sharing import RESIDUAL

FILLED = ("init { type: kUniformSqrtFanIn }", "init { type: kConstant value: 0.1 }")


NORM = 'layer { name: "norm" type: kBM srclayers: "stem" } layer { name: "relu" type: kReLU srclayers: "norm" }'


def normalised() -> JobProto:
    """The same, with the output of its first layer normalised."""
    text = RESIDUAL.replace('layer { name: "relu" type: kReLU srclayers: "stem" }', NORM)
    text = text.replace('"w" }', f'"w" {FILLED[0]} }}').replace('"b" }', f'"b" {FILLED[1]} }}')
    return read_job_text(text).proto


def job() -> JobProto:
    """A residual block whose parameters have initial values."""
    text = RESIDUAL.replace('"w" }', f'"w" {FILLED[0]} }}').replace('"b" }', f'"b" {FILLED[1]} }}')
    return read_job_text(text).proto


@pytest.mark.parametrize(("kernels", "fused"), [(Kernels, []), (ChannelsLast, ["relu", "out"])])
@pytest.mark.parametrize("keep", [False, True])
def test_only_what_lies_in_its_place_is_fused(kernels: type[Kernels], fused: list[str], keep: bool) -> None:
    cut = partition_job(job(), 1)
    found = compile_worker(cut, 0, keep=keep, kernels=kernels).phases["train"].instructions
    then = [i.then for i in found if isinstance(i, Forward) and i.then is not None]
    assert [cut.graph.parts[i.part].name for i in then] == ([] if keep else fused)


@pytest.mark.parametrize("keep", [False, True])
def test_backward_a_relu_is_fused_with_what_it_was_fused_with(keep: bool) -> None:
    cut = partition_job(normalised(), 1)
    found = compile_worker(cut, 0, keep=keep, kernels=ChannelsLast).phases["train"].instructions
    pairs = [(i, i.first) for i in found if isinstance(i, Backward) and i.first is not None]
    names = [(cut.graph.parts[i.part].name, cut.graph.parts[j.part].name) for i, j in pairs]
    assert names == ([] if keep else [("norm", "relu")])
    assert all(i.dy == j.dy and j not in found for i, j in pairs)


SUM = """
name: "net" train_steps: 1
train_one_batch { alg: kBP }
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: kSyntheticInput store_conf { shape: 6 batchsize: 4 } synthetic_conf { classes: 6 } }
  layer { name: "in" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 6 } param { } param { } }
  layer { name: "norm" type: kLayerNorm srclayers: "in" }
  layer { name: "out" type: kInnerProduct srclayers: "norm" innerproduct_conf { num_output: 6 } param { } param { } }
  layer { name: "add" type: kAdd srclayers: "in" srclayers: "out" }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "add" srclayers: "data" }
}
"""


def summed() -> JobProto:
    """A residual sum of rows, whose parameters have initial values."""
    return read_job_text(SUM.replace("param { } param { }", " ".join(f"param {{ {each} }}" for each in FILLED))).proto


@pytest.mark.parametrize(("kernels", "fused"), [(Kernels, []), (ChannelsLast, [("out", "add")])])
@pytest.mark.parametrize("keep", [False, True])
def test_a_product_is_added_to_what_its_sum_overwrites(
    kernels: type[Kernels], fused: list[tuple[str, str]], keep: bool
) -> None:
    cut = partition_job(summed(), 1)
    found = compile_worker(cut, 0, keep=keep, kernels=kernels).phases["train"].instructions
    pairs = [(i, i.then) for i in found if isinstance(i, Forward) and i.then is not None]
    names = [(cut.graph.parts[i.part].name, cut.graph.parts[j.part].name) for i, j in pairs]
    assert names == ([] if keep else fused)


def test_a_product_that_others_read_is_not_fused() -> None:
    both = '  layer { name: "both" type: kAdd srclayers: "add" srclayers: "out" }\n  layer { name: "loss"'
    text = SUM.replace('"add" srclayers: "data"', '"both" srclayers: "data"').replace('  layer { name: "loss"', both)
    job = read_job_text(text).proto
    found = compile_worker(partition_job(job, 1), 0, kernels=ChannelsLast).phases["train"].instructions
    assert not any(i.then for i in found if isinstance(i, Forward))


@pytest.mark.parametrize("job", [job, normalised, summed])
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", ["fused", "onednn"])
def test_what_is_trained_is_the_same(name: str, workers: int, job: Callable[[], JobProto]) -> None:
    if name == "onednn" and probe_onednn():
        pytest.skip(probe_onednn())
    kernels = ChannelsLast if name == "fused" else kernel_class(name)
    cut = partition_job(job(), workers)
    found, expected = Ensemble(cut, kernels=kernels), Ensemble(partition_job(job(), 1))
    for ensemble in (found, expected):
        ensemble.initialise()
        for step in range(3):
            ensemble.step("train", step)
    for parameter in cut.parameters:
        values = expected.parameter(parameter.name)
        error = np.linalg.norm(found.parameter(parameter.name) - values)
        assert error <= 1e-5 * np.linalg.norm(values), parameter.name
