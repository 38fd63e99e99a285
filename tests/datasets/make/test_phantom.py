"""The cohort of phantoms is as docs/mri.md says: what is altered, by how much, and how well a volume alone tells it."""

from __future__ import annotations

import csv
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from netpart.data.make.anatomy import Anatomy, Disease
from netpart.data.make.phantom import (
    ALTERED,
    ATROPHY,
    CLASSES,
    LOSS,
    PUSH,
    SHRINK,
    TASKS,
    draw_cohort,
    make_phantom,
    shuffled_quantiles,
)
from netpart.data.scans.nifti import NiftiScan
from netpart.data.scans.scan_table import read_scan_table
from netpart.spec import whole_region

pytest.importorskip("nilearn")

SPACING = 3
SUBJECTS = 20
SEED = 3
MOST = {"ad-nc": 0.97, "smci-pmci": 0.85}
"""The largest area under the ROC curve that a threshold on a volume may have."""
COHORT = 800


@pytest.fixture(scope="module")
def anatomy() -> Anatomy:
    return Anatomy(SPACING)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("phantom")
    assert make_phantom(path, SUBJECTS, SPACING, SEED) == SUBJECTS
    return path


def area(healthy: NDArray[Any], ill: NDArray[Any]) -> float:
    """The share of pairs in which the ill one has more."""
    return float(np.mean((ill[:, None] > healthy) + 0.5 * (ill[:, None] == healthy)))


def test_a_disease_alters_a_tenth_of_the_brain_at_most_and_nothing_else(anatomy: Anatomy) -> None:
    assert 0.01 < anatomy.altered.sum() / anatomy.brain.sum() <= 0.1
    changed = anatomy.with_disease(Disease(push=3, shrink=0.2, loss=0.3)) != anatomy.template
    assert not (changed & ~anatomy.altered).any()
    assert (changed & anatomy.altered).sum() > 0.5 * anatomy.altered.sum()
    assert np.array_equal(anatomy.with_disease(Disease()), anatomy.template)


def test_atrophy_means_more_fluid_and_loss_means_darker_lobes(anatomy: Anatomy) -> None:
    fluids = [anatomy.fluid(anatomy.with_disease(Disease(PUSH * a, SHRINK * a))) for a in (-2, 0, 2, 4)]
    assert fluids == sorted(fluids)
    assert fluids[-1] > 1.1 * fluids[1]
    place = tuple(np.rint(np.linalg.solve(anatomy.affine, (27, -20, -16, 1))[:3]).astype(int))
    assert anatomy.with_disease(Disease(loss=0.3))[place] < 0.8 * anatomy.template[place]


@pytest.mark.parametrize("task", TASKS)
def test_a_threshold_on_the_altered_volume_alone_is_not_enough(task: str, anatomy: Anatomy) -> None:
    """The volume grows with atrophy, which nothing else of it tells: so what holds for one holds for the other."""
    grid = np.arange(-4.0, 7.0, 2.0)
    fluids = [anatomy.fluid(anatomy.with_disease(Disease(PUSH * a, SHRINK * a))) for a in grid]
    assert fluids == sorted(fluids)
    assert anatomy.fluid(anatomy.with_disease(Disease(PUSH, SHRINK, loss=0.4))) == anatomy.fluid(
        anatomy.with_disease(Disease(PUSH, SHRINK))
    )
    people = list(draw_cohort(COHORT, SEED))
    atrophy = [np.array([p.atrophy for p in people if p.group == group]) for group in TASKS[task]]
    for measure in (atrophy, [np.interp(values, grid, fluids) for values in atrophy]):
        assert 0.6 < area(measure[0], measure[1]) <= MOST[task]


def test_classes_have_the_means_that_are_said_and_vary_alike() -> None:
    people = list(draw_cohort(COHORT, SEED))
    for group, means in CLASSES.items():
        for what in (ATROPHY, LOSS):
            values = np.array([getattr(person, what) for person in people if person.group == group])
            assert abs(values.mean() - means[what]) < 0.01
            assert abs(values.std() - 1) < 0.02
        assert abs(np.corrcoef([[p.atrophy, p.loss] for p in people if p.group == group], rowvar=False)[0, 1]) < 0.2
    assert Counter(person.group for person in people) == dict.fromkeys(CLASSES, COHORT // 4)


def test_a_subject_is_in_one_split_only_and_both_have_all_classes(folder: Path) -> None:
    for task in TASKS:
        train, test = (read_scan_table(folder / f"{task}-{split}.csv") for split in ("train", "test"))
        assert not {s.path for s in train} & {s.path for s in test}
        assert len(train) + len(test) == SUBJECTS // 2
        assert Counter(s.label for s in test) == {0: 1, 1: 1}
        assert Counter(s.label for s in train) == {0: 4, 1: 4}
    with open(folder / "subjects.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["class"] for row in rows[:4]] == list(CLASSES)
    assert all(float(row["fluid_ml"]) > 0 for row in rows)


def test_scans_differ_and_lie_where_the_template_lies(folder: Path, anatomy: Anatomy) -> None:
    table = [
        s for task in TASKS for split in ("train", "test") for s in read_scan_table(folder / f"{task}-{split}.csv")
    ]
    scans = [NiftiScan(labelled.path) for labelled in table[:6]]
    volumes = [scan.read(whole_region(scan.shape)) for scan in scans]
    for scan, values in zip(scans, volumes, strict=True):
        assert np.allclose(scan.affine, anatomy.affine)
        overlap = (values > 0) & anatomy.brain
        assert overlap.sum() > 0.85 * anatomy.brain.sum()
    assert all(np.corrcoef(a.ravel(), b.ravel())[0, 1] < 0.99 for a, b in pairwise(volumes))
    altered = NiftiScan(folder / ALTERED)
    assert np.array_equal(altered.read(whole_region(altered.shape)) > 0, anatomy.altered)


def test_a_cohort_is_the_same_each_time_and_another_with_another_seed(folder: Path, tmp_path: Path) -> None:
    make_phantom(tmp_path, 2, SPACING, SEED)
    make_phantom(tmp_path / "again", 2, SPACING, SEED)
    make_phantom(tmp_path / "other", 2, SPACING, SEED + 1)
    first, again, other = (
        (place / "scans" / "sub-0001.nii.gz").read_bytes()
        for place in (tmp_path, tmp_path / "again", tmp_path / "other")
    )
    assert first == again != other


def test_quantiles_come_in_an_order_of_their_own() -> None:
    one, two = shuffled_quantiles(50, 0, 0), shuffled_quantiles(50, 0, 1)
    assert np.allclose(np.sort(one), np.sort(two))
    assert not np.array_equal(one, two)
    assert shuffled_quantiles(0, 0, 0).size == 0
