"""Law: what is worked out for one of several workers of equal shape is right for each of them.

A worker that is compiled by itself needs the memory of its model, and speaks on the channels that were translated from
those of its model.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from netpart.graph.partition import Partition, partition_job
from netpart.graph.saved_holdings import list_staged_bytes
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.worker_memory import model_workers, process_memory
from netpart.program.compile import compile_worker
from netpart.program.kernel_choice import job_kernel_class
from netpart.program.messages.communication import Phases, list_communications
from netpart.program.messages.translate_channels import translate_communications
from netpart.program.worker_shape import MemoryShape, WorkerShape
from netpart.proto.reader import read_job
from netpart.updaters import build_updater
from tests.laws.nets import Example, examples
from tests.thorough import example_count, sampled

GRAPHS = Path(__file__).parents[2] / "graphs"
SCHEMES = ("DATA", "COLUMN_ROW", "GATHER_SCATTER", "ALTSPLIT", "PIPELINE")
NETS = ("mnist/conv.conf", "gpt/tiny.conf", "resnet/resnet18-small.conf", "unet/unet2d-small.conf")


@given(example=examples())
@settings(max_examples=example_count(60))
def test_workers_of_equal_shape_are_equal_in_random_nets(example: Example) -> None:
    check_models(partition_job(example.job, example.workers))


@pytest.mark.parametrize(("net", "scheme"), sampled([(net, s) for net in NETS for s in SCHEMES], 4))
@pytest.mark.parametrize("workers", sampled([4, 6], 2))
def test_workers_of_equal_shape_are_equal_in_the_zoo(net: str, scheme: str, workers: int) -> None:
    job = read_job(GRAPHS / net, [])
    check_models(partition_by_scheme(job.proto, workers, job.folder, scheme))


def test_few_workers_of_many_are_compiled() -> None:
    job = read_job(GRAPHS / "alexnet/alexnet-small.conf", [])
    cut = partition_by_scheme(job.proto, 16, job.folder, "DATA")
    models = {each.model.worker for each in model_workers(cut, 1)}
    assert len(models) <= 4


def check_models(cut: Partition, kind: type[WorkerShape] = WorkerShape) -> None:
    """Compare every worker with its model, by a ``kind`` of shape."""
    slots = len(build_updater(cut.job.updater).states)
    kernels = job_kernel_class(cut.job)
    spoken: dict[int, Phases] = {}
    copies = list_staged_bytes(cut, slots)
    for each in model_workers(cut, slots, kind=kind):
        own = compile_worker(cut, each.shape.worker, slots, kernels=kernels)
        assert process_memory(own, cut.job) + copies[each.shape.worker] == each.memory
        said = spoken.setdefault(each.model.worker, list_communications(each.program, shared=True))
        translated = translate_communications(said, each.model, each.shape)
        assert without_names(translated) == without_names(list_communications(own, shared=True))


def without_names(phases: Phases) -> Phases:
    """The communications without their names, in which a model's bucket or collective may be named."""
    return {phase: [c._replace(name="") for c in found] for phase, found in phases.items()}


@pytest.mark.parametrize(("net", "workers"), [("unet/unet2d.conf", 16), ("unet/unet3d-small.conf", 4)])
def test_workers_that_read_the_same_in_another_order_take_the_same_memory(net: str, workers: int) -> None:
    job = read_job(GRAPHS / net, [])
    cut = partition_by_scheme(job.proto, workers, job.folder, compact=True)
    slots = len(build_updater(cut.job.updater).states)
    exact = list(model_workers(cut, slots))
    alike = list(model_workers(cut, slots, kind=MemoryShape))
    check_models(cut, MemoryShape)
    assert [each.memory for each in alike] == [each.memory for each in exact]
    assert len({each.model.worker for each in alike}) <= min(4, len({each.model.worker for each in exact}))
