"""Predictions: on any number of workers what the uncut test net computes, a row for every row of the source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from netpart.data.scans.nifti import NiftiScan
from netpart.errors import ConfigError, DataError, NetpartError
from netpart.graph.scheme import set_scheme
from netpart.launch.evaluate import EvaluatedPhase, partition_evaluation
from netpart.launch.run import LaunchChoice, run_job
from netpart.program.compile import compile_worker
from netpart.proto.reader import Job, read_job
from netpart.trained.prediction import Prediction, predict_rows
from netpart.trained.prediction_files import PredictionOutput, class_probabilities, nearest_labels, open_output
from netpart.trained.prediction_job import PredictionJob, PredictionRequest, make_prediction_job
from netpart.trained.session import Session
from netpart.worker import machine
from netpart.worker.memory_limit import RESERVE
from tests.datasets.samples import image_store, pixels, scans
from tests.end2end.running import mlp
from tests.house.tree import ROOT

THREADS = LaunchChoice("threads")
CLOSE = 1e-11
Values = NDArray[Any]


class Trained:
    """A job after a few steps, and predictions with it."""

    def __init__(self, job: Job, folder: Path) -> None:
        self.job = job
        self.folder = folder
        summary = run_job(job, 2, launcher="threads", workspace=folder / "run")
        self.checkpoint = Path(summary.checkpoint)

    def predict(
        self, name: str, workers: int = 1, every: bool = False, request: PredictionRequest | None = None
    ) -> Prediction:
        output = PredictionOutput(self.folder / name, every)
        return predict_rows(
            self.job, self.checkpoint, request or PredictionRequest(self.folder / "rows.npy"), output,
            workers=workers, choice=THREADS, workspace=self.folder / "predict",
        )  # fmt: skip

    def array(self, workers: int = 1, every: bool = True, **request: Any) -> Values:
        given = PredictionRequest(**{"source": self.folder / "rows.npy", **request})
        self.predict("found.npy", workers, every, given)
        found: Values = np.load(self.folder / "found.npy")
        return found

    def uncut(self, layer: str, rows: Values, data: str = "data") -> Values:
        """The values of ``layer`` for ``rows``, of the whole net in this process."""
        session = Session(self.job, [layer], self.checkpoint, rows=len(rows))
        session.run({data: rows})
        return session.value(layer).copy()


@pytest.fixture
def classifier(tmp_path: Path) -> Trained:
    """A net of 4 classes that reads 6 rows of 8 numbers, and 20 rows in rows.npy."""
    np.save(tmp_path / "rows.npy", np.random.default_rng(3).normal(size=(20, 8)))
    return Trained(read_job(mlp(tmp_path, dtype="FLOAT64")), tmp_path)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_classifier_predicts_what_the_uncut_net_does(workers: int, classifier: Trained) -> None:
    rows = np.load(classifier.folder / "rows.npy")
    scores = classifier.uncut("fc2", rows)
    wanted = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    found = classifier.array(workers)
    assert found.shape == (20, 4)
    assert found.dtype == np.float64
    assert np.abs(found - wanted).max() <= CLOSE
    assert np.array_equal(classifier.array(workers, every=False), wanted.argmax(axis=1))
    assert np.abs(classifier.array(workers, every=False, layer="relu") - classifier.uncut("relu", rows)).max() <= CLOSE


@pytest.mark.parametrize("scheme", ["data", "naive", "altsplit", "column-row", "pipeline", "sequential"])
def test_a_scheme_predicts_the_same(scheme: str, classifier: Trained) -> None:
    """The training net that a pipeline is balanced by has no loss here."""
    wanted = classifier.array()
    for layer in classifier.job.proto.neuralnet.layer:
        layer.ClearField("partition_dim")
    set_scheme(classifier.job.proto, scheme)
    assert np.abs(classifier.array(2) - wanted).max() <= CLOSE


def test_values_are_sent_as_predicted(classifier: Trained) -> None:
    summary = classifier.predict("a.npy", 3).summary
    assert summary.bytes_counted == summary.bytes_predicted > 0


@pytest.mark.parametrize("count", [1, 5, 6, 7, 18])
def test_rows_that_do_not_fill_a_mini_batch_are_not_lost(count: int, classifier: Trained) -> None:
    whole = classifier.array(2)
    np.save(classifier.folder / "rows.npy", np.load(classifier.folder / "rows.npy")[:count])
    found = classifier.array(2)
    assert len(found) == count
    assert np.abs(found - whole[:count]).max() <= CLOSE


def test_tables_have_a_line_per_row_in_the_order_of_the_source(classifier: Trained) -> None:
    wanted = classifier.array()
    classifier.predict("a.csv")
    classifier.predict("all.csv", every=True)
    classifier.predict("a.jsonl")
    classifier.predict("all.jsonl", every=True)
    first, *lines = (classifier.folder / "a.csv").read_text().splitlines()
    assert first == "row,class,probability"
    best = wanted.argmax(axis=1)
    for row, (line, number) in enumerate(zip(lines, best, strict=True)):
        assert line.split(",")[:2] == [str(row), str(number)]
        assert float(line.split(",")[2]) == pytest.approx(wanted[row, number], rel=1e-11)
    first, *lines = (classifier.folder / "all.csv").read_text().splitlines()
    assert first == "row,class,p0,p1,p2,p3"
    assert np.array([line.split(",")[2:] for line in lines], float) == pytest.approx(wanted, rel=1e-11)
    told = [json.loads(line) for line in (classifier.folder / "a.jsonl").read_text().splitlines()]
    assert [each["row"] for each in told] == list(range(20))
    assert [each["class"] for each in told] == best.tolist()
    assert [each["probability"] for each in told] == pytest.approx(wanted.max(axis=1), rel=CLOSE)
    told = [json.loads(line) for line in (classifier.folder / "all.jsonl").read_text().splitlines()]
    assert np.array([each["probabilities"] for each in told]) == pytest.approx(wanted, rel=CLOSE)


def test_processes_predict_the_same(classifier: Trained) -> None:
    wanted = classifier.array()
    output = PredictionOutput(classifier.folder / "b.npy", every=True)
    request = PredictionRequest(classifier.folder / "rows.npy")
    predict_rows(
        classifier.job, classifier.checkpoint, request, output, workers=2, workspace=classifier.folder / "predict"
    )
    assert np.abs(np.load(output.path) - wanted).max() <= CLOSE


def test_a_job_predicts_for_its_own_test_data_in_order(classifier: Trained) -> None:
    """The synthetic data has no end, so the number of rows is to be said."""
    session = classifier.array(1, source=None, rows=9)
    assert len(session) == 9
    assert np.abs(classifier.array(3, source=None, rows=9) - session).max() <= CLOSE
    with pytest.raises(ConfigError, match="--rows: expected a number of rows, as the data has no end, got none"):
        classifier.array(1, source=None)
    with pytest.raises(ConfigError, match="--rows: expected at most the 20 rows of the data, got 21"):
        classifier.array(1, rows=21)


def csv_job(folder: Path, rows: Values) -> Job:
    """The classifier, which reads lines of a shuffled CSV file."""
    lines = [",".join(["1", *map(repr, row.tolist())]) for row in rows]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    text = mlp(folder, dtype="FLOAT64").read_text()
    source = 'type: kCSVInput store_conf { path: "rows.csv" shuffle: true random_skip: 5 batchsize:'
    (folder / "csv.conf").write_text(
        text.replace("type: kSyntheticInput", source + " 6 }")
        .replace("store_conf { shape: 8 batchsize: 12 } synthetic_conf { classes: 4 }", "")
        .replace("store_conf { shape: 8 batchsize: 6 } synthetic_conf { classes: 4 }", "")
    )
    return read_job(folder / "csv.conf")


def test_a_file_of_the_same_kind_replaces_the_path_and_is_read_in_order(tmp_path: Path) -> None:
    rows = np.random.default_rng(4).normal(size=(20, 8))
    trained = Trained(csv_job(tmp_path, rows), tmp_path)
    np.save(tmp_path / "rows.npy", rows)
    wanted = trained.array()
    assert np.abs(trained.array(2, source=None) - wanted).max() <= CLOSE
    (tmp_path / "others.csv").write_text((tmp_path / "rows.csv").read_text().split("\n", 7)[-1])
    assert np.abs(trained.array(2, source=tmp_path / "others.csv") - wanted[7:]).max() <= CLOSE
    (tmp_path / "rows.csv").unlink()
    assert np.abs(trained.array() - wanted).max() <= CLOSE  # an array needs none of the job's own data


def test_arrays_of_a_job_are_scaled_as_it_says(tmp_path: Path) -> None:
    """Other rows have no labels, and are read by the job's own layer."""
    rows = np.random.default_rng(9).normal(size=(20, 8))
    np.save(tmp_path / "x.npy", rows)
    np.save(tmp_path / "y.npy", np.arange(20) % 4)
    arrays = 'type: kArrayInput array_conf { path: "x.npy" label_path: "y.npy" shuffle: true mean_value: 3 batchsize:'
    text = mlp(tmp_path, dtype="FLOAT64").read_text()
    for size in (12, 6):
        given = f"type: kSyntheticInput include: {'kTrain' if size == 12 else 'kTest'} partition_dim: -1"
        conf = f"store_conf {{ shape: 8 batchsize: {size} }} synthetic_conf {{ classes: 4 }}"
        text = text.replace(given, given.replace("type: kSyntheticInput", f"{arrays} {size} }}")).replace(conf, "")
    (tmp_path / "arrays.conf").write_text(text)
    trained = Trained(read_job(tmp_path / "arrays.conf"), tmp_path)
    wanted = class_probabilities(trained.uncut("fc2", rows - 3), 0)
    assert np.abs(trained.array(2, source=None) - wanted).max() <= CLOSE
    np.save(tmp_path / "rows.npy", rows[7:])
    assert np.abs(trained.array(2) - wanted[7:]).max() <= CLOSE


RECORDS = """
train_steps: 0 dtype: FLOAT64
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: kShardData sharddata_conf { path: "images.bin" batchsize: 4 random_skip: 3 } }
  layer { name: "pixels" type: kMnist srclayers: "data" mnist_conf { norm_a: 255 } }
  layer { name: "label" type: kLabel srclayers: "data" }
  layer { name: "fc" type: kInnerProduct srclayers: "pixels" partition_dim: 0 innerproduct_conf { num_output: 10 }
    param { init { type: kGaussian } } param { init { type: kConstant } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc" srclayers: "label" }
}
"""


def test_an_array_takes_the_place_of_a_parser_of_records(tmp_path: Path) -> None:
    images = pixels(9, (6, 6))
    image_store(tmp_path / "images.bin", images)
    (tmp_path / "records.conf").write_text(RECORDS)
    trained = Trained(read_job(tmp_path / "records.conf"), tmp_path)
    wanted = trained.array(1, source=None)
    assert len(wanted) == 9
    np.save(tmp_path / "rows.npy", images / 255)
    for workers in (1, 2):
        assert np.abs(trained.array(workers, source=None) - wanted).max() <= CLOSE
        assert np.abs(trained.array(workers) - wanted).max() <= CLOSE
    image_store(tmp_path / "others.bin", images[5:])
    assert np.abs(trained.array(2, source=tmp_path / "others.bin") - wanted[5:]).max() <= CLOSE


@pytest.fixture
def segmenter(tmp_path: Path) -> Trained:
    """A small U-Net in float64, and 5 images."""
    changes = ["dtype=FLOAT64", "train_steps=2", "kernels=REFERENCE", "data.store_conf.batchsize=4"]
    np.save(tmp_path / "rows.npy", np.random.default_rng(5).normal(size=(5, 1, 32, 32)))
    return Trained(read_job(ROOT / "graphs" / "unet" / "unet2d-small.conf", changes), tmp_path)


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


@pytest.fixture
def writer(tmp_path: Path) -> Trained:
    """The tiny GPT of the zoo, with a short window, in float64."""
    (tmp_path / "text.txt").write_bytes(np.random.default_rng(6).integers(0, 256, 4000, np.uint8).tobytes())
    changes = [
        f"text.text_conf.files={tmp_path}/text.txt", "text.text_conf.window=16", "text.text_conf.batchsize=4",
        "dtype=FLOAT64", "train_steps=1", "test_steps=0", "kernels=REFERENCE",
    ]  # fmt: skip
    return Trained(read_job(ROOT / "graphs" / "gpt" / "tiny.conf", changes), tmp_path)


def test_a_text_is_read_window_by_window(writer: Trained) -> None:
    (writer.folder / "other.txt").write_bytes(b"def netpart(cuts):\n    return workers\n# five rows of tokens, padded")
    text = (writer.folder / "other.txt").read_bytes()
    rows = np.frombuffer(text.ljust(80, b"\0"), np.uint8).reshape(5, 16)
    wanted = class_probabilities(writer.uncut("logits", rows, "text"), 1)
    for workers in (1, 2, 3):
        found = writer.array(workers, source=writer.folder / "other.txt")
        assert found.shape[:2] == (5, 16)
        assert np.abs(found - wanted).max() <= CLOSE
    np.save(writer.folder / "rows.npy", rows)
    assert np.abs(writer.array(2) - wanted).max() <= CLOSE


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


def test_rows_of_another_shape_are_refused(classifier: Trained) -> None:
    np.save(classifier.folder / "rows.npy", np.zeros((5, 9)))
    with pytest.raises(ConfigError, match=r"--input: expected rows of shape \(8,\), as data reads them, got \(9,\)"):
        classifier.array()


def test_what_cannot_be_predicted_is_told(classifier: Trained) -> None:
    with pytest.raises(ConfigError, match="--layer: expected a layer of the test net, got 'fc9'; it has data, fc1"):
        classifier.array(layer="fc9", every=False)
    with pytest.raises(ConfigError, match="expected a layer that needs no labels, got 'loss'; omit --layer"):
        classifier.array(layer="loss", every=False)
    with pytest.raises(ConfigError, match=r"a \.npy as --output, and no --all"):
        classifier.array(layer="fc1")
    with pytest.raises(ConfigError, match=r"--output: expected a name that ends with .csv, .jsonl"):
        classifier.predict("a.png")
    with pytest.raises(ConfigError, match=r"a .npy of rows, as data \(kSyntheticInput\) reads no file, got rows.csv"):
        classifier.array(source=Path("rows.csv"))
    (classifier.folder / "folder.npy").mkdir()
    with pytest.raises(ConfigError, match="--output: expected a new or a regular file"):
        classifier.predict("folder.npy")
    (classifier.folder / "rows.npy").unlink()
    with pytest.raises(DataError, match=r"rows.npy: expected a file of rows, got nothing there; correct --input"):
        classifier.array()


def test_a_net_without_a_class_loss_needs_a_layer(tmp_path: Path) -> None:
    text = mlp(tmp_path, dtype="FLOAT64", test_steps=0).read_text()
    path = tmp_path / "mlp.conf"
    path.write_text(text.replace('  layer { name: "loss"', '  layer { name: "loss" include: kTrain'))
    with pytest.raises(ConfigError, match="expected a job with one kSoftmaxLoss, got 0 of them; name an output with"):
        make_prediction_job(read_job(path), PredictionRequest())


def test_a_checkpoint_of_another_net_is_refused_before_anything_starts(classifier: Trained) -> None:
    for layer in classifier.job.proto.neuralnet.layer:
        if layer.name == "fc1":
            layer.innerproduct_conf.num_output = 17
    with pytest.raises(DataError, match=r"fc1/w1: expected shape .* use this net's checkpoint"):
        classifier.array()
    assert not (classifier.folder / "found.npy").exists()
