"""Sources of predictions: files of the kind that a job reads, arrays, texts, tokens; at URLs too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netpart.errors import DataError, NetpartError
from netpart.proto.reader import Job, read_job
from netpart.trained.prediction_arrays import class_probabilities
from netpart.trained.prediction_source import parse_source
from tests.datasets.remote.servers import file_server
from tests.datasets.samples import image_store, pixels
from tests.end2end.running import mlp
from tests.house.tree import ROOT
from tests.trained.trained_jobs import CLOSE, Trained, Values


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


def test_a_source_may_be_at_a_url(classifier: Trained, tmp_path: Path) -> None:
    wanted = {workers: classifier.array(workers) for workers in (1, 2)}
    with file_server({"/rows.npy": (classifier.folder / "rows.npy").read_bytes()}) as web:
        text = f"http://{web.address}/rows.npy?sig=SECRET"
        classifier.job.proto.data_cache.folder = str(tmp_path / "kept")
        for workers in (1, 2):
            found = classifier.array(workers, source=parse_source(classifier.job, text))
            assert np.array_equal(found, wanted[workers])
        assert list((tmp_path / "kept").rglob("0"))
        for name, message in (
            ("none.npy", r"--input: http://[^?]*/none\.npy: expected a file of rows, got HTTP 404 \(Not Found\)"),
            ("rows.bin", r"--input: expected a \.npy of rows, .* got http://[^?]*/rows\.bin; save the rows"),
        ):
            with pytest.raises(NetpartError, match=message) as refused:
                classifier.array(source=parse_source(classifier.job, f"http://{web.address}/{name}?sig=SECRET"))
            assert "SECRET" not in str(refused.value)
    with pytest.raises(DataError, match=r"ftp://h/x\.npy: expected one of s3://"):
        parse_source(classifier.job, "ftp://h/x.npy")


TOKENS = """
name: "tokens" train_steps: 1 test_steps: 1 dtype: FLOAT64
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: kTokenInput token_conf { files: "train.bin" window: 7 batchsize: 4 element: %s } }
  layer {
    name: "embed" type: kEmbedding srclayers: "data" embedding_conf { vocab_size: 300 feature_dim: 4 }
    param { init { type: kUniform } }
  }
  layer {
    name: "ip" type: kInnerProduct srclayers: "embed" partition_dim: 1 innerproduct_conf { num_output: 5 axis: 2 }
    param { init { type: kUniform } } param { init { type: kConstant } }
  }
  layer { name: "loss" type: kEuclideanLoss srclayers: "ip" srclayers: "ip" }
}
"""


@pytest.mark.parametrize(("element", "dtype"), [("UINT16", "<u2"), ("UINT32", "<u4")])
def test_raw_tokens_are_read_window_by_window(element: str, dtype: str, tmp_path: Path) -> None:
    drawn = np.random.default_rng(7)
    drawn.integers(0, 300, 1000).astype(dtype).tofile(tmp_path / "train.bin")
    (tmp_path / "job.conf").write_text(TOKENS % element)
    trained = Trained(read_job(tmp_path / "job.conf"), tmp_path)
    tokens = drawn.integers(0, 300, 40)
    tokens.astype(dtype).tofile(tmp_path / "more.bin")
    rows = np.pad(tokens, (0, 2)).reshape(6, 7)
    wanted = trained.uncut("ip", rows)
    for workers in (1, 2):
        found = trained.array(workers, False, source=tmp_path / "more.bin", layer="ip")
        assert found.shape == (6, 7, 5)
        assert np.abs(found - wanted).max() <= CLOSE
    with file_server({"/more.bin": (tmp_path / "more.bin").read_bytes()}) as web:
        source = parse_source(trained.job, f"http://{web.address}/more.bin")
        trained.job.proto.data_cache.folder = str(tmp_path / "kept")
        assert np.array_equal(trained.array(2, False, source=source, layer="ip"), found)
    (tmp_path / "odd.bin").write_bytes(b"odd")
    size = np.dtype(dtype).itemsize
    with pytest.raises(
        DataError, match=rf"odd\.bin: expected tokens of {size} bytes each, got 3 bytes; set token_conf"
    ):
        trained.array(source=tmp_path / "odd.bin", layer="ip", every=False)
    (tmp_path / "odd.bin").write_bytes(b"")
    with pytest.raises(DataError, match=r"odd\.bin: expected one row or more, got none; write rows to it"):
        trained.array(source=tmp_path / "odd.bin", layer="ip", every=False)
