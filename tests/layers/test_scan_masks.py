"""kNiftiInput with masks: the same bits for any cut, and jobs that cannot run."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from netpart.errors import ConfigError, DataError
from netpart.graph.build import build_net
from netpart.kernels.op import Clock
from netpart.kernels.reference import Kernels
from netpart.layers.part import Call
from netpart.proto.reader import read_job_text
from netpart.spec import INT, Spec, extent
from netpart.testing.play_part import poisoned_array, run_poisoned
from tests.datasets.samples import masked_scans
from tests.layers.input_layers import BATCH, make, read
from tests.thorough import sampled

pytest.importorskip("nibabel")

CONF = f'nifti_conf {{ path: "masked.csv" batchsize: {BATCH} shape: [4, 5, 3] flip: true shuffle: true drift: 0.5 %s }}'


@pytest.fixture(scope="module")
def masks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven scans with masks, in two tables."""
    folder = tmp_path_factory.mktemp("masks")
    masked_scans(folder)
    (folder / "bare.csv").write_text("path\n" + "".join(f"masked-{k}.nii.gz\n" for k in range(7)))
    return folder


@pytest.mark.parametrize("more", sampled(["cache_mib: 1", ""], 2))
def test_masks_are_the_same_bits_for_any_number_of_workers_and_after_a_resume(more: str, masks: Path) -> None:
    layer = make("kNiftiInput", masks, CONF % more)[0]
    assert layer.outputs[1] == Spec((BATCH, 60), INT)
    straight = [read((layer, None), step, 0, BATCH) for step in range(4)]
    for workers in (1, 2, 5):
        ends = [BATCH * k // workers for k in range(workers + 1)]
        parts = [make("kNiftiInput", masks, CONF % more) for _ in range(workers)]
        # As after a resume: these readers did not see the steps before.
        found = [read(part, 3, *pair) for part, pair in zip(parts, pairwise(ends), strict=True)]
        for k, expected in enumerate(straight[3]):
            assert np.array_equal(np.concatenate([each[k] for each in found]), expected)
    assert not np.array_equal(straight[0][1], straight[1][1])


def test_scans_with_masks_may_be_cut_in_space(masks: Path) -> None:
    layer = make("kNiftiInput", masks, CONF % "")[0]
    whole, labels = read((layer, None), 3, 0, BATCH)
    region = (1, 4), (0, 1), (1, 3), (2, 5), (0, 2)
    y = [poisoned_array(extent(r), s.dtype) for r, s in zip(layer.outputs_of(region), layer.outputs, strict=True)]
    call = Call(region, layer.needs(region), None, [], [], y, rows=BATCH, clock=Clock(3))
    run_poisoned(layer.forward(Kernels(np, "float64"), call))
    assert np.allclose(y[0], whole[tuple(slice(*ends) for ends in region)], atol=1e-6)
    assert np.array_equal(y[1], labels[1:4])


def test_a_table_without_labels_has_one_output(masks: Path) -> None:
    layer = make("kNiftiInput", masks, (CONF % "").replace("masked.csv", "bare.csv"))[0]
    assert [spec.shape for spec in layer.outputs] == [(BATCH, 1, 4, 5, 3)]
    assert np.array_equal(
        read((layer, None), 1, 0, BATCH)[0], read(make("kNiftiInput", masks, CONF % ""), 1, 0, BATCH)[0]
    )


NET = """neuralnet { layer { name: "data" type: kNiftiInput %s }
  layer { name: "flat" type: kReshape srclayers: "data" reshape_conf { shape: [60, 1] } }
  layer { name: "ip" type: kInnerProduct srclayers: "flat" innerproduct_conf { num_output: 2 axis: 2 }
    param { init { type: kConstant } } param { init { type: kConstant } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "ip" srclayers: "data" } }"""


def test_masks_are_checked_against_the_classes_of_the_loss(masks: Path) -> None:
    net = build_net(read_job_text(NET % (CONF % ""), "job.conf").proto, "train", masks)
    layer = net.by_name["data"].layer
    layer.check_labels(3)
    with pytest.raises(DataError, match=r"mask-0\.nii\.gz: expected classes from 0 to 1, got 2; correct it"):
        layer.check_labels(2)


def test_a_loss_needs_labels(masks: Path) -> None:
    job = read_job_text(NET % (CONF % "").replace("masked.csv", "bare.csv"), "job.conf")
    with pytest.raises(ConfigError, match=r"loss: expected .* labels"):
        build_net(job.proto, "train", masks)


def test_files_of_an_epoch_are_scans_and_masks(masks: Path) -> None:
    files = make("kNiftiInput", masks, CONF % "")[0].data_files()  # type: ignore[attr-defined]
    assert {path.name for path in files} == {path.name for path in masks.iterdir()} - {"bare.csv"}
