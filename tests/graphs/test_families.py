"""The published nets are as tools/make_zoo.py makes them and pass check at any number of workers; small ones learn."""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import cache
from itertools import cycle, product
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from hypothesis import settings

from netpart.graph.partition import partition_job
from netpart.graph.ready import find_run_faults
from netpart.plan.partition import partition_by_scheme
from netpart.plan.text.plan_table import tabulate_partition
from netpart.proto.reader import read_job
from netpart.worker.ensemble import Ensemble
from tests.datasets.samples import scans
from tests.graphs.test_zoo import MADE, follows_the_uncut_net, name, small
from tests.thorough import sampled
from tools import make_zoo

JOBS = sorted(MADE)
PUBLISHED = [path for path in JOBS if "-small" not in path.stem]
SMALL = [path for path in JOBS if path not in PUBLISHED]
WORKERS = 1, 3, 4, 8
LARGE = list(zip(PUBLISHED, cycle(WORKERS), strict=False) if settings().derandomize else product(PUBLISHED, WORKERS))
"""Each at one of the numbers of workers, in turn; `--hypothesis-profile=hunt` takes all of them."""
WRITTEN = "as-written"
CUTS = [(path, cut) for path in SMALL for cut in ((2, "gather-scatter"), (3, WRITTEN))]
MINUTE = 60.0
"""Seconds within which a small job shows that it learns."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place from which ../../data holds scans, as it does from graphs/FAMILY."""
    root = tmp_path_factory.mktemp("zoo")
    scans(root / "data" / "phantom", "ad-nc", "smci-pmci")
    (root / "graphs" / "family").mkdir(parents=True)
    return root / "graphs" / "family"


def slow(cases: Iterable[tuple[object, ...]]) -> list[ParameterSet]:
    return [pytest.param(*case, marks=pytest.mark.slow) for case in cases]


def test_the_jobs_are_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert make_zoo.main(["--check"]) == 0, capsys.readouterr().err


def test_check_names_what_is_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make_zoo, "ROOT", tmp_path)
    monkeypatch.setattr(make_zoo, "fresh", cache(make_zoo.fresh))  # all jobs are built once
    assert make_zoo.main([]) == 0
    assert make_zoo.committed(tmp_path) == make_zoo.fresh()
    (tmp_path / "graphs" / "vgg" / "vgg16.conf").write_text("edited")
    (tmp_path / "graphs" / "vit" / "vit-b16.conf").unlink()
    (tmp_path / "graphs" / "gpt" / "gone.conf").write_text(make_zoo.MARK)
    (tmp_path / "graphs" / "gpt" / "by-hand.conf").write_text("# Somebody else's.")
    assert make_zoo.stale(tmp_path) == ["gpt/gone.conf", "vgg/vgg16.conf", "vit/vit-b16.conf"]
    assert make_zoo.main(["--check"]) == 1


@pytest.mark.parametrize(
    ("conf", "workers"),
    sampled([*product(SMALL, (4, 8)), *slow(product(SMALL, (1, 2, 3))), *slow(LARGE)], 6),
    ids=name,
)
def test_a_job_passes_check(conf: Path, workers: int, folder: Path) -> None:
    cut = partition_by_scheme(read_job(conf).proto, workers, folder)
    assert not list(find_run_faults(cut))
    table = tabulate_partition(cut)
    assert len(table.workers) == workers
    assert all(row.parts for row in table.workers)


@pytest.mark.parametrize(("conf", "cut"), sampled(CUTS, 4), ids=name)
def test_a_small_job_trains_like_the_uncut_net(conf: Path, cut: tuple[int, str]) -> None:
    workers, scheme = cut
    job = small(conf).proto
    follows_the_uncut_net(partition_by_scheme(job, workers, conf.parent, scheme), partition_job(job, 1, uncut=True))


@pytest.mark.slow
@pytest.mark.parametrize("conf", sampled(SMALL, 8), ids=name)
def test_a_small_job_learns_within_a_minute(conf: Path) -> None:
    job, began = read_job(conf), time.monotonic()
    ensemble = Ensemble(partition_by_scheme(job.proto, 1, job.folder))
    ensemble.initialise()
    losses = [ensemble.step("train", step)["loss/loss"] for step in range(job.proto.train_steps)]
    tenth = len(losses) // 10
    assert sum(losses[-tenth:]) < 0.6 * sum(losses[:tenth]), losses
    assert time.monotonic() - began < MINUTE
