"""The section on scans of docs/data.md: its files are made, its layer reads them, its job learns and predicts."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from netpart.data.scans.nifti import NiftiScan
from tests.house.page_package import first_rows, page_blocks, run_python

nibabel = pytest.importorskip("nibabel")

BLOCKS = page_blocks("data.md", "Scans")
COMMANDS = BLOCKS[""][0].splitlines()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the page is followed, with the files that it makes."""
    path = tmp_path_factory.mktemp("page")
    (path / "block.py").write_text(BLOCKS["python"][0])
    run_python(path, "block.py")
    return path


def test_the_layer_reads_scans_and_masks(folder: Path) -> None:
    data, label = first_rows(BLOCKS["protobuf"][0], folder)
    assert data.shape == (4, 1, 12, 10, 8)
    assert label.shape == (4, 960)
    inside = label.reshape(data[:, 0].shape) == 1
    assert 0.02 < inside.mean() < 0.3
    assert data[:, 0][inside].mean() > data[:, 0][~inside].mean() + 1.5


@pytest.mark.thorough
def test_the_job_finds_the_balls_and_writes_them_in_the_space_of_the_scans(folder: Path) -> None:
    (folder / "balls.conf").write_text(BLOCKS["protobuf"][1])
    printed = [run_python(folder, "-m", *shlex.split(command)) for command in COMMANDS]
    assert "rows of 1x8x8x8, 512 labels, batch 4; 16 scans opened: 12x10x8" in printed[0]
    assert (folder / "scans.png").stat().st_size > 1000
    lines = map(json.loads, (folder / "out/balls/metrics.jsonl").read_text().splitlines())
    tested = [line["metrics"]["loss/accuracy"] for line in lines if line["phase"] == "test"]
    assert tested[-1] > 0.95
    for row, scan in enumerate((16, 17)):
        mask, found = (
            nibabel.load(folder / name) for name in (f"scans/{scan}-mask.nii.gz", f"found/ball-{row}.nii.gz")
        )
        assert np.array_equal(found.affine, mask.affine)
        wanted, got = (np.asarray(each.dataobj) == 1 for each in (mask, found))
        assert 2 * (wanted & got).sum() / (wanted.sum() + got.sum()) > 0.75
        assert NiftiScan(folder / f"found/ball-{row}.nii.gz").shape == (12, 10, 8)
