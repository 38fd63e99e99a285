"""What cannot be predicted is one error, before a worker starts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netpart.errors import ConfigError, DataError
from netpart.proto.reader import read_job
from netpart.trained.prediction_job import PredictionRequest, make_prediction_job
from tests.end2end.running import mlp
from tests.trained.trained_jobs import Trained


def test_rows_of_another_shape_are_refused(classifier: Trained) -> None:
    np.save(classifier.folder / "rows.npy", np.zeros((5, 9)))
    with pytest.raises(ConfigError, match=r"--input: expected rows of shape \(8,\), as data reads them, got \(9,\)"):
        classifier.array()


def test_what_cannot_be_predicted_is_told(classifier: Trained) -> None:
    with pytest.raises(ConfigError, match="--layer: expected a layer of the test net, got 'fc9'; it has data, fc1"):
        classifier.array(layer="fc9", every=False)
    with pytest.raises(ConfigError, match="expected a layer that needs no labels, got 'loss'; omit --layer"):
        classifier.array(layer="loss", every=False)
    with pytest.raises(ConfigError, match="--layer: expected no --all, got both"):
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
