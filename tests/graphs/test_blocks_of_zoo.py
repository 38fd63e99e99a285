"""A job of the zoo with blocks and its flat text are one job: the same message, graphs, and bits of two steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.graph.partition import Partition
from netpart.graph.partition_codec import encode_partition
from netpart.plan.partition import partition_by_scheme
from netpart.proto.blocks.flat_text import write_flat_job
from netpart.proto.reader import read_job, read_job_text
from netpart.worker.ensemble import Ensemble
from tests.graphs.test_families import PUBLISHED
from tests.graphs.test_zoo import ZOO, fewest, name, small
from tests.laws.workers import bits
from tests.thorough import sampled

WITH_BLOCKS = [conf for conf in ZOO if "block" in (text := conf.read_text(encoding="utf-8")) or "include:" in text]
STEPS = 2


def trained_bits(cut: Partition) -> list[bytes]:
    """All parameters and states after two training steps."""
    ensemble = Ensemble(cut)
    ensemble.initialise()
    for step in range(STEPS):
        ensemble.step("train", step)
    return bits(ensemble)


@pytest.mark.parametrize("conf", sampled(WITH_BLOCKS, 12), ids=name)
def test_a_job_and_its_flat_text_are_one_job(conf: Path, folder: Path) -> None:
    """Published nets, which take long, have smaller ones of the same blocks: those are trained."""
    published = conf in PUBLISHED
    job = read_job(conf) if published else small(conf)
    if job.expansion is None:
        return
    workers = max(2, fewest(job.proto))
    flat = read_job_text(write_flat_job(job.expansion, job.proto)).proto
    assert flat == job.proto
    one, other = (partition_by_scheme(proto, workers, folder) for proto in (job.proto, flat))
    assert all(encode_partition(one, rank) == encode_partition(other, rank) for rank in range(workers))
    assert published or trained_bits(one) == trained_bits(other)
