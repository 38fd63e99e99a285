"""What a worker of data parallelism takes does not grow with the number of workers: it is bounded by what one takes.

One worker makes its large gradients in strips, and several sum them as a whole: they take the largest one more.
"""

from __future__ import annotations

import pytest

from netpart.graph.passes.update_sharding import LARGE
from netpart.plan.partition import partition_by_scheme
from netpart.program.compile import compile_worker
from netpart.program.kernel_choice import job_kernel_class
from netpart.program.messages.wire_memory import wire_bytes
from netpart.proto.reader import read_job
from netpart.resources import zoo_folder
from netpart.updaters import build_updater

BUCKET = 1 << 22
"""Bytes at which a bucket is closed, unless one gradient has more."""
ALLOWANCE = 2 * BUCKET
"""For messages on their way, whatever the number of workers and of parameters."""
WHOLE = {"alexnet/alexnet": 4 * 4096 * 9216}
"""The largest gradient, in bytes, if it is large enough to be made in strips: that of fc6."""
ROWS = {"alexnet/alexnet": 4, "resnet/resnet18": 2}
"""Of each worker."""


def memory(name: str, workers: int, rows: int) -> list[int]:
    """Bytes of the first and the last of ``workers`` workers, each with ``rows`` rows."""
    job = read_job(zoo_folder() / f"{name}.conf")
    for layer in job.proto.neuralnet.layer:
        if layer.HasField("store_conf"):
            layer.store_conf.batchsize[:] = [rows * workers]
    cut, slots = (
        partition_by_scheme(job.proto, workers, job.folder, "DATA"),
        len(build_updater(job.proto.updater).states),
    )
    programs = (compile_worker(cut, worker, slots, kernels=job_kernel_class(job.proto)) for worker in {0, workers - 1})
    return [program.total_bytes + wire_bytes(program, slots=True) for program in programs]


@pytest.mark.parametrize(
    ("name", "workers"),
    [("alexnet/alexnet", 2), ("alexnet/alexnet", 8), ("alexnet/alexnet", 64), ("resnet/resnet18", 8)],
)
def test_of_data_parallelism_does_not_grow_with_the_workers(name: str, workers: int) -> None:
    alone, several = (max(memory(name, n, ROWS[name])) for n in (1, workers))
    assert several <= alone + WHOLE.get(name, 0) + ALLOWANCE


def test_of_messages_is_bounded_by_buckets() -> None:
    """AlexNet's parameters take 233 MiB; gradients of a MiB and more are summed, and shared out again, in place."""
    job = read_job(zoo_folder() / "alexnet" / "alexnet.conf")
    cut = partition_by_scheme(job.proto, 64, job.folder, "DATA")
    assert sum(bucket.sharded for bucket in cut.buckets) == 7
    assert 4 * sum(bucket.elements for bucket in cut.buckets) > 20 * LARGE
    assert wire_bytes(compile_worker(cut, 63, 1), slots=True) <= ALLOWANCE
