"""The pointing game: the largest value of a map is looked up in a region of the scan's own voxels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from netpart.data.scans.nifti import save_volume
from netpart.errors import ConfigError
from netpart.proto.reader import read_job
from netpart.trained.gradcam import SampleExplainer, SampleExplanation
from netpart.trained.pointing_game import TargetRegion, find_map_peak, play_pointing_game
from tests.datasets.samples import scans
from tests.trained.test_gradcam import DEEP, TINY, tiny

SHAPE = (5, 4, 6)
AFFINE = np.diag([2.0, 2.0, 2.0, 1.0])


@pytest.fixture
def explainer(tmp_path: Path) -> SampleExplainer:
    scans(tmp_path, "ad-nc", shape=SHAPE)
    (tmp_path / "tiny.conf").write_text(TINY.format(input=DEEP, axes=3))
    return SampleExplainer(read_job(tmp_path / "tiny.conf"), None, "conv")


def region(folder: Path, *voxels: tuple[int, ...], shape: tuple[int, ...] = SHAPE) -> TargetRegion:
    mask = np.zeros(shape, np.uint8)
    for voxel in voxels:
        mask[voxel] = 1
    save_volume(folder / "mask.nii.gz", mask, AFFINE)
    return TargetRegion(folder / "mask.nii.gz")


def pointing(found: SampleExplanation, *voxel: int) -> SampleExplanation:
    """The explanation with a map that is largest in one voxel."""
    heat = np.zeros(SHAPE)
    heat[voxel] = 1
    return replace(found, map=heat, sample=heat[None])


def test_a_hit_is_where_the_map_is_largest(explainer: SampleExplainer, tmp_path: Path) -> None:
    found, where = explainer.explain(1, 1), region(tmp_path, (1, 2, 3), (4, 3, 5))
    for voxel, inside in (((1, 2, 3), True), ((4, 3, 5), True), ((3, 2, 1), False)):
        hit = where.hit(1, pointing(found, *voxel))
        assert (hit.number, hit.place, hit.inside) == (1, voxel, inside)


def test_a_map_of_nothing_points_nowhere(explainer: SampleExplainer, tmp_path: Path) -> None:
    found = explainer.explain(1, 1)
    where = region(tmp_path, (0, 0, 0))
    assert where.hit(1, pointing(found, 0, 0, 0)).inside
    assert not where.hit(1, replace(found, map=np.zeros(SHAPE))).inside


def test_the_first_of_several_largest_values_counts() -> None:
    assert find_map_peak(np.array([[0, 2], [2, 1]])) == (0, 1)


@pytest.mark.parametrize(("target", "numbers"), [(None, [0, 1]), (0, [0]), (1, [1])])
def test_every_scan_of_a_class_is_played_for_that_class(
    target: int | None, numbers: list[int], explainer: SampleExplainer, tmp_path: Path
) -> None:
    hits = list(play_pointing_game(explainer, region(tmp_path, (1, 2, 3)), target))
    assert [hit.number for hit in hits] == numbers
    assert all(target in (None, hit.explanation.target) for hit in hits)
    assert [hit.explanation.label for hit in hits] == numbers


def test_what_cannot_be_played_is_told(explainer: SampleExplainer, tmp_path: Path) -> None:
    where = region(tmp_path, (1, 2, 3))
    with pytest.raises(ConfigError, match="a class that the test data has, got 2"):
        next(play_pointing_game(explainer, where, 2))
    with pytest.raises(ConfigError, match="a job that reads scans"):
        next(play_pointing_game(SampleExplainer(tiny(), None), where))
    with pytest.raises(ConfigError, match="a job that reads scans"):
        where.hit(0, SampleExplainer(tiny(), None).explain(0))
    other = region(tmp_path, (0, 0, 0), shape=(5, 4, 5))
    with pytest.raises(ConfigError, match="resample the region to the scans"):
        next(play_pointing_game(explainer, other))
