"""Predictions with a label for every place, and the memory that a prediction takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netpart.data.scans.nifti import NiftiScan
from netpart.errors import ConfigError, NetpartError
from netpart.launch.evaluate import EvaluatedPhase, partition_evaluation
from netpart.program.compile import compile_worker
from netpart.proto.reader import Job, read_job
from netpart.trained.label_maps import nearest_labels
from netpart.trained.prediction_arrays import class_probabilities
from netpart.trained.prediction_files import PredictionOutput, open_output
from netpart.trained.prediction_job import PredictionJob, PredictionRequest, make_prediction_job
from netpart.worker import machine
from netpart.worker.memory_limit import RESERVE
from tests.datasets.samples import masked_scans, scans
from tests.end2end.running import mlp
from tests.trained.trained_jobs import CLOSE, Trained


def test_a_segmentation_labels_every_place(segmenter: Trained) -> None:
    rows = np.load(segmenter.folder / "rows.npy")
    wanted = class_probabilities(segmenter.uncut("places", rows), 1).reshape(5, 32, 32, 2)
    for workers in (1, 2, 3):
        assert np.abs(segmenter.array(workers) - wanted).max() <= CLOSE
        labels = segmenter.array(workers, every=False)
        assert labels.dtype == np.int32
        assert np.array_equal(labels, wanted.argmax(axis=-1))
    with pytest.raises(ConfigError, match="--output: expected one class per row for a table, got 1024 places per row"):
        segmenter.predict("a.csv")
    with pytest.raises(ConfigError, match=r"--output: expected labels of three axes for a NIfTI file, got places \(32"):
        segmenter.predict("a.nii.gz")


def test_a_cut_on_space_predicts_the_same(segmenter: Trained) -> None:
    """Convolutions cut on rows of the image exchange halos; the result is put together on one worker."""
    wanted = segmenter.array()
    for layer in segmenter.job.proto.neuralnet.layer:
        if "conv" in layer.name:
            layer.partition_dim = 2
    assert np.abs(segmenter.array(2) - wanted).max() <= CLOSE


VOLUMES = """
train_steps: 0 dtype: FLOAT64
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" %s }
  layer {
    name: "conv" type: kConvolution srclayers: "data" partition_dim: 2
    convolution_conf { num_filters: 3 kernel: 3 pad: 1 spatial_axes: 3 }
    param { init { type: kGaussian } } param { init { type: kConstant } }
  }
  layer { name: "flat" type: kReshape srclayers: "conv" reshape_conf { shape: [3, 60] } }
  layer { name: "places" type: kTranspose srclayers: "flat" transpose_conf { axis: [2, 1] } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "places" srclayers: "data" }
}
"""
MASKS = "type: kSyntheticMasks store_conf { batchsize: 2 shape: [1, 5, 4, 3] } synthetic_conf { classes: 3 }"


def volumes(folder: Path) -> Job:
    (folder / "volumes.conf").write_text(VOLUMES % MASKS)
    return read_job(folder / "volumes.conf")


def test_volumes_get_label_maps(tmp_path: Path) -> None:
    trained = Trained(volumes(tmp_path), tmp_path)
    rows = np.random.default_rng(7).normal(size=(3, 1, 5, 4, 3))
    np.save(tmp_path / "rows.npy", rows)
    labels = trained.array(2, every=False)
    assert labels.shape == (3, 5, 4, 3)
    trained.predict("maps/m.nii.gz", 2)
    assert sorted(path.name for path in (tmp_path / "maps").iterdir()) == [f"m-{row}.nii.gz" for row in range(3)]
    for row in range(3):
        found = NiftiScan(tmp_path / "maps" / f"m-{row}.nii.gz").read(((0, 5), (0, 4), (0, 3)))
        assert np.array_equal(found, labels[row])
    np.save(tmp_path / "rows.npy", rows[:1])
    trained.predict("one.nii", 1)
    assert np.array_equal(NiftiScan(tmp_path / "one.nii").read(((0, 5), (0, 4), (0, 3))), labels[0])


def test_a_label_map_of_a_scan_lies_in_its_voxels(tmp_path: Path) -> None:
    scans(tmp_path, "ad-nc")
    reads = 'type: kNiftiInput nifti_conf { path: "ad-nc-test.csv" batchsize: 2 shape: [5, 4, 3] }'
    (tmp_path / "scans.conf").write_text(VOLUMES % reads)
    job = read_job(tmp_path / "scans.conf")
    source = make_prediction_job(job, PredictionRequest()).input
    plan = PredictionJob(job, rows=2, batch=2, shape=(60, 3), places=1, space=(5, 4, 3), input=source)
    scores = np.random.default_rng(8).normal(size=(2, 60, 3))
    with open_output(PredictionOutput(tmp_path / "m.nii.gz"), plan, np.float64) as take:
        take(scores)
    for row, labels in enumerate(scores.argmax(axis=-1).reshape(2, 5, 4, 3)):
        scan = NiftiScan(tmp_path / f"scan-{row}.nii.gz")
        found = NiftiScan(tmp_path / f"m-{row}.nii.gz")
        assert found.shape == scan.shape == (5, 4, 6)
        assert np.array_equal(found.affine, scan.affine)
        assert np.array_equal(found.read(tuple((0, n) for n in found.shape)), labels.repeat(2, axis=2))


def test_scans_are_predicted_without_their_masks(tmp_path: Path) -> None:
    """Masks of the job's table that are missing do not matter, and a table of new scans has none."""
    nibabel = pytest.importorskip("nibabel")
    masked_scans(tmp_path, 2)
    reads = 'type: kNiftiInput nifti_conf { path: "masked.csv" batchsize: 2 shape: [5, 4, 3] }'
    (tmp_path / "scans.conf").write_text(VOLUMES % reads)
    trained = Trained(read_job(tmp_path / "scans.conf"), tmp_path)
    turned = nibabel.load(tmp_path / "masked-0.nii.gz").as_reoriented(np.array([[2, -1], [0, 1], [1, -1]]))
    nibabel.save(turned, tmp_path / "turned.nii.gz")
    (tmp_path / "new.csv").write_text("path\nturned.nii.gz\nmasked-1.nii.gz\n")
    for path in tmp_path.glob("mask-*"):
        path.unlink()
    trained.predict("own.nii.gz", 2, request=PredictionRequest())
    trained.predict("new.nii.gz", request=PredictionRequest(tmp_path / "new.csv"))
    own, new = (nibabel.load(tmp_path / f"{name}-0.nii.gz") for name in ("own", "new"))
    assert (own.shape, new.shape) == ((5, 4, 6), turned.shape)
    assert np.array_equal(new.affine, turned.affine)
    again = own.as_reoriented(np.array([[2, -1], [0, 1], [1, -1]]))
    assert np.array_equal(np.asarray(again.dataobj), np.asarray(new.dataobj))
    assert len(np.unique(np.asarray(new.dataobj))) > 1


def test_labels_are_resampled_to_the_nearest() -> None:
    labels = np.array([[1, 2], [3, 4]])
    assert nearest_labels(labels, (4, 2)).tolist() == [[1, 2], [1, 2], [3, 4], [3, 4]]
    assert nearest_labels(nearest_labels(labels, (6, 8)), (2, 2)).tolist() == labels.tolist()


def test_a_worker_holds_only_what_is_still_to_be_read(segmenter: Trained) -> None:
    """Forward alone, values are dropped after their last reader; three workers share them, and the parameters."""
    request = PredictionRequest(segmenter.folder / "rows.npy")
    plan = make_prediction_job(segmenter.job, request)
    one, three = (
        [
            compile_worker(partition_evaluation(plan.job, segmenter.checkpoint, EvaluatedPhase(batches=1), count), w)
            for w in range(count)
        ]
        for count in (1, 3)
    )
    kept = compile_worker(
        partition_evaluation(plan.job, segmenter.checkpoint, EvaluatedPhase(batches=1), 1), 0, keep=True
    )
    assert one[0].arena_bytes < kept.arena_bytes / 3
    assert max(program.arena_bytes for program in three) < 0.6 * one[0].arena_bytes
    assert all(gradient is None for program in (*one, *three) for gradient in program.gradients)


def test_a_net_too_large_for_one_worker_answers_on_three(classifier: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hidden layer of 60 000 neurons is cut over the workers, and a third of it fits where the whole does not."""
    text = mlp(classifier.folder, "wide", dtype="FLOAT64", train_steps=0).read_text()
    text = text.replace('srclayers: "data" innerproduct_conf', 'srclayers: "data" partition_dim: 1 innerproduct_conf')
    text = text.replace("num_output: 16", "num_output: 60000")
    text = text.replace("type: kReLU", "type: kReLU partition_dim: 1")
    (classifier.folder / "wide.conf").write_text(text.replace('"relu" partition_dim: 1', '"relu" cut { over: INPUT }'))
    wide = Trained(read_job(classifier.folder / "wide.conf"), classifier.folder)
    wanted = wide.array()
    hidden = wide.array(2, every=False, layer="relu")  # of more bytes than one message to the coordinator has
    assert np.abs(hidden - wide.uncut("relu", np.load(classifier.folder / "rows.npy"))).max() <= CLOSE
    limit = 6 << 20
    monkeypatch.setattr(machine, "available_memory", lambda held, mapped: limit + RESERVE - held)
    with pytest.raises(NetpartError, match=r"worker 0: .*needs .* cut the net over more workers"):
        wide.array(1)
    assert np.abs(wide.array(3) - wanted).max() <= CLOSE
