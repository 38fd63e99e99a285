"""Predictions: on any number of workers what the uncut test net computes, a row for every row of the source."""

from __future__ import annotations

import json

import numpy as np
import pytest

from netpart.errors import ConfigError
from netpart.graph.scheme import set_scheme
from netpart.trained.prediction import predict_rows
from netpart.trained.prediction_files import PredictionOutput
from netpart.trained.prediction_job import PredictionRequest
from tests.trained.trained_jobs import CLOSE, Trained


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
