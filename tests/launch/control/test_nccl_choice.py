"""Which runs have collectives of NCCL, and what is said where they cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.errors import ConfigError
from netpart.graph.partition import Partition
from netpart.launch.control import nccl_choice as nccl
from netpart.launch.control.nccl_choice import settle_collectives
from netpart.plan.partition import partition_by_scheme
from netpart.proto.job_pb2 import Collectives, Scheme
from netpart.proto.reader import read_job
from tests.graph.jobs import data, job, layer, product

ROOT = Path(__file__).resolve().parents[3]
AUTO = Collectives.AUTO
RING = Collectives.RING
NCCL = Collectives.NCCL
APART = ["cuda:0", "cuda:1", "cuda:2", "cuda:3"]


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nccl, "missing_nccl", lambda: "")


def cut(collectives: Collectives.Algorithm, workers: int = 4) -> Partition:
    conf = job(data(8), product("top", "data", 6), layer("loss", "kSoftmaxLoss", "top", "data"))
    conf.collectives, conf.neuralnet.scheme = collectives, Scheme.DATA
    return partition_by_scheme(conf, workers)


def settled(collectives: Collectives.Algorithm, places: list[str], workers: int = 4) -> Collectives.Algorithm:
    found = cut(collectives, workers)
    settle_collectives(found, places)
    return found.job.collectives


def test_auto_takes_nccl_where_every_worker_has_a_gpu_of_its_own() -> None:
    assert settled(AUTO, APART) == NCCL
    assert settled(NCCL, APART) == NCCL
    assert settled(RING, APART) == RING
    assert settled(AUTO, [*APART[:3], "cuda:0"]) == AUTO
    assert settled(AUTO, []) == AUTO


def test_one_worker_does_not_look_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nccl, "missing_nccl", lambda: pytest.fail("looked for NCCL"))
    assert settled(AUTO, APART[:1], 1) == AUTO


@pytest.mark.parametrize(
    ("places", "said"),
    [
        (["cuda:0", "cuda:1", "cuda:0", "cuda:1"], r"got workers 0, 2 on cuda:0, workers 1, 3 on cuda:1"),
        (["cuda:0", "cpu", "cuda:1", "cpu"], r"got workers 1, 3 on the CPU"),
        ([], r"got threads, or workers of other hosts"),
    ],
)
def test_asking_for_it_where_it_cannot_be_says_why(places: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=rf"--collectives nccl: expected .* a GPU of its own, {said}; use --coll"):
        settled(NCCL, places)


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nccl, "missing_nccl", lambda: "no NCCL")
    assert settled(AUTO, APART) == AUTO
    with pytest.raises(ConfigError, match="got no NCCL"):
        settled(NCCL, APART)


def test_workers_that_start_collectives_in_different_orders_have_none() -> None:
    """Its table of tokens is read by the scores, so its gradient is ready on one of them while the other goes on."""
    found = read_job(ROOT / "graphs/gpt/gpt2-small-layers.conf")
    found.proto.collectives = NCCL
    with pytest.raises(ConfigError, match=r"in different orders: train: 2 workers wait .*\n  worker 0 stands at start"):
        settle_collectives(partition_by_scheme(found.proto, 2, found.folder), APART[:2])
