"""netpart.evaluate and netpart.predict return what the verbs of the command line print and write."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import netpart
from netpart.cli.main import main
from tests.trained.trained_jobs import CLOSE, Trained


@pytest.fixture
def here(classifier: Trained, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a job in which it was trained, with checkpoints in its workspace."""
    monkeypatch.chdir(classifier.folder)
    classifier.job.proto.cluster.workspace = "run"
    return classifier.folder


def test_rows_of_a_file_and_of_an_array(classifier: Trained, here: Path) -> None:
    rows = np.load("rows.npy")
    wanted = classifier.array()
    job, saved = classifier.job, classifier.checkpoint
    found = netpart.predict(job, saved, "rows.npy", 2, probabilities=True, launcher="threads")
    assert found.shape == (20, 4)
    assert found.dtype == np.float64
    assert np.abs(found - wanted).max() <= CLOSE
    classes = netpart.predict(job, saved, rows, launcher="threads")
    assert classes.shape == (20,)
    assert classes.dtype == np.int32
    assert np.array_equal(classes, wanted.argmax(axis=1))
    # The newest checkpoint of the workspace, a path, the first rows alone, processes.
    assert np.array_equal(netpart.predict(job, input=Path("rows.npy"), rows=7), classes[:7])
    # The array is saved for its workers, and removed.
    assert not [name for name in os.listdir("/tmp") if name.startswith("netpart-") and name.endswith("input.npy")]
    hidden = netpart.predict(job, saved, rows[::2], layer="fc2", launcher="threads")
    assert np.abs(hidden - classifier.uncut("fc2", rows[::2])).max() <= CLOSE


def test_the_test_data_of_the_job(classifier: Trained, here: Path) -> None:
    job = classifier.job
    assert netpart.predict(job, rows=9, launcher="threads").shape == (9,)
    summary = netpart.evaluate(job, steps=3, launcher="threads")
    again = netpart.evaluate(job, classifier.checkpoint, 3, steps=3, launcher="threads", workspace="other")
    assert summary.test.keys() == again.test.keys() != set()
    assert all(abs(summary.test[name] - again.test[name]) <= CLOSE for name in summary.test)
    assert Path("other/metrics.jsonl").exists()
    assert summary.bytes_counted == summary.bytes_predicted


def test_a_segmentation_has_a_class_for_every_place(segmenter: Trained) -> None:
    given = segmenter.job, segmenter.checkpoint, segmenter.folder / "rows.npy"
    classes = netpart.predict(*given, launcher="threads", workspace=segmenter.folder / "w")
    every = netpart.predict(*given, probabilities=True, launcher="threads", workspace=segmenter.folder / "w")
    assert classes.shape == every.shape[:-1] == (5, 32, 32)
    assert np.array_equal(every.argmax(axis=-1), classes)
    assert np.abs(every.sum(axis=-1) - 1).max() <= CLOSE


def test_the_command_line_agrees(classifier: Trained, here: Path) -> None:
    saved = str(classifier.checkpoint)
    conf = next(path for path in here.iterdir() if path.suffix == ".conf")
    asked = ["--checkpoint", saved, "--input", "rows.npy", "--launcher", "threads", "--workspace", "w"]
    assert main(["predict", str(conf), *asked, "--set", "dtype=FLOAT64", "-o", "found.npy"]) == 0
    assert np.array_equal(np.load("found.npy"), netpart.predict(classifier.job, saved, "rows.npy", launcher="threads"))


def test_what_does_not_fit_is_one_error(classifier: Trained, here: Path) -> None:
    job, saved = classifier.job, classifier.checkpoint

    def refused(message: str, **given: object) -> None:
        with pytest.raises(netpart.NetpartError, match=message):
            netpart.predict(job, saved, **{"launcher": "threads", **given})  # type: ignore[arg-type]

    refused(r"input: expected an array \(rows, \*sample\) of numbers, got object of sha", input=np.array([[None]]))
    refused(r"input: expected an array \(rows, \*sample\) of numbers, got int64 of shape \(3,\)", input=np.arange(3))
    refused(r"input: expected a path, a URL, a NumPy array or None, got a list; convert rows", input=[[1.0]])
    refused(r"input: expected rows of shape \(8,\)", input=np.zeros((3, 9)))
    refused(r"absent\.npy: expected a file of rows, got nothing there", input="absent.npy")
    refused(r"rows: expected 1 or more, got 0", rows=0)
    refused(r"probabilities: expected none with a layer, got fc2", layer="fc2", probabilities=True, input="rows.npy")
    refused(r"layer: expected a layer of the test net, got 'fc9'", layer="fc9", input="rows.npy")
    refused(r"launcher.*'rocket'|launcher: .*rocket", launcher="rocket", input="rows.npy")
    with pytest.raises(netpart.ConfigError, match=r"phase: expected test or val, got 'train'"):
        netpart.evaluate(job, saved, phase="train")
    with pytest.raises(netpart.DataError, match=r"absent\.safetensors"):
        netpart.evaluate(job, "absent.safetensors", launcher="threads")
    job.proto.cluster.workspace = "nowhere"
    with pytest.raises(netpart.DataError, match=r"nowhere/checkpoint: expected a checkpoint, got none; train with"):
        netpart.predict(job)
    with pytest.raises(TypeError, match="rows: expected a whole number"):
        netpart.predict(job, saved, rows=2.5)  # type: ignore[arg-type]
