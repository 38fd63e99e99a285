"""netpart gradcam: maps of scans as NIfTI and PNG, of images as PNG alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netpart.choices import CAM_METHODS
from netpart.data.scans.nifti import NiftiScan, save_volume
from netpart.threads import THREAD_VARIABLES
from netpart.trained import gradcam
from tests.cli.conftest import JOB, Netpart
from tests.datasets.samples import scans
from tests.trained.test_gradcam import DEEP, TINY


@pytest.fixture(autouse=True)
def environment_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in THREAD_VARIABLES:
        monkeypatch.setenv(name, "1")


@pytest.fixture
def job(tmp_path: Path, netpart: Netpart) -> Path:
    """A job on scans that was run for a step."""
    scans(tmp_path, "ad-nc")
    path = tmp_path / "tiny.conf"
    path.write_text(TINY.format(input=DEEP, axes=3))
    assert netpart("run", path, "--launcher", "threads", "--workspace", tmp_path / "out").code == 0
    return path


def test_a_scan_gets_a_map_in_its_own_voxels_and_a_picture(job: Path, tmp_path: Path, netpart: Netpart) -> None:
    checkpoint = tmp_path / "out" / "checkpoint" / "step00000001.safetensors"
    target = tmp_path / "maps" / "map.nii.gz"
    answer = netpart("gradcam", job, "--checkpoint", checkpoint, "--sample", 1, "--layer", "conv", "-o", target)
    assert answer.code == 0
    assert answer.out.startswith("sample 1: class 1, probabilities 0.")
    found, scan = NiftiScan(target), NiftiScan(tmp_path / "scan-1.nii.gz")
    assert found.shape == scan.shape
    assert np.array_equal(found.affine, scan.affine)
    values = found.read(tuple((0, n) for n in found.shape))
    assert 0 <= values.min() <= values.max() <= 1
    assert target.with_name("map.png").read_bytes().startswith(b"\x89PNG")


def test_an_image_gets_a_picture_alone(tmp_path: Path, netpart: Netpart) -> None:
    path = tmp_path / "job.conf"
    path.write_text(JOB)
    assert netpart("run", path, "--launcher", "threads", "--workspace", tmp_path / "out").code == 0
    checkpoint = tmp_path / "out" / "checkpoint" / "step00000002.safetensors"
    answer = netpart("gradcam", path, "--checkpoint", checkpoint, "-o", tmp_path / "map.png")
    assert answer.code == 0
    assert "at conv" in answer.out
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    refused = netpart("gradcam", path, "--checkpoint", checkpoint, "-o", tmp_path / "map.nii.gz")
    assert refused.code == 2
    assert "a .png for a job that reads no scans" in refused.err
    assert netpart("gradcam", path, "--checkpoint", checkpoint, "-o", tmp_path / "map.gif").code == 2


@pytest.fixture
def mask(tmp_path: Path) -> Path:
    """A region of all voxels of the scans."""
    save_volume(tmp_path / "mask.nii.gz", np.ones((5, 4, 6), np.uint8), np.diag([2.0, 2.0, 2.0, 1.0]))
    return tmp_path / "mask.nii.gz"


@pytest.mark.parametrize(("method", "layer"), [("gradcam", "conv"), ("hirescam", "relu")])
def test_every_scan_of_a_class_is_looked_up_in_a_region(
    method: str, layer: str, job: Path, mask: Path, netpart: Netpart
) -> None:
    options = ("--untrained", "--region", mask, "--method", method, "--layer", layer)
    answer = netpart("gradcam", job, *options, "--every")
    assert answer.code == 0
    assert len(answer.out.splitlines()) == 3
    for number in (0, 1):
        one = netpart("gradcam", job, *options, "--every", "--class", number)
        assert one.code == 0
        line, last = one.out.splitlines()
        assert line.startswith(f"sample {number} of class {number}: class {number} 0.")
        hits = int("inside" in line)
        shared = f"{hits} of 1 scans of class {number} ({hits:.1%}) have the largest value"
        assert last == f"{shared} at {layer} inside {mask}"
        alone = netpart("gradcam", job, *options, "--sample", number, "--class", number)
        assert alone.out.splitlines()[-1] == line


def test_the_methods_are_those_there_are() -> None:
    assert tuple(gradcam.METHODS) == CAM_METHODS


def test_options_that_ask_for_nothing_are_refused(job: Path, mask: Path, netpart: Netpart) -> None:
    for options, message in (
        ((), "-o FILE, --region MASK or both"),
        (("--every", "-o", "map.png"), "--region MASK and no -o"),
        (("--every", "--region", mask, "-o", "map.png"), "--region MASK and no -o"),
    ):
        refused = netpart("gradcam", job, "--untrained", *options)
        assert refused.code == 2
        assert message in refused.err
