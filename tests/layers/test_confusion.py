"""kConfusion: its figures are those of the textbook, from counts that parts of a batch add up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from netpart.errors import ConfigError, DataError
from netpart.kernels.confusion import BINS, PER_UNIT
from netpart.layers.confusion import Confusion
from netpart.layers.part import Call
from netpart.spec import INT, Spec
from netpart.testing.play_part import KERNELS, run_poisoned
from tests.laws.cases import layer_proto

ROWS = 40


def layer(classes: int = 2, rows: int = ROWS) -> Confusion:
    return Confusion(layer_proto("kConfusion"), (Spec((rows, classes)), Spec((rows,), INT)))


def sums(scores: NDArray[Any], labels: NDArray[Any], owned: Any = None) -> list[float]:
    """What a part that has ``scores`` and ``labels`` counts."""
    made = layer(scores.shape[1], len(scores))
    call = Call(made.output.whole, made.needs(made.output.whole), None, [scores, labels.astype(np.int32)], [],
                [np.zeros((len(scores), 1), np.int32)], metrics=np.zeros(len(made.metrics)), owned=owned)  # fmt: skip
    run_poisoned(made.forward(KERNELS, call))
    return list(call.metrics)


def on_grid(random: np.random.Generator, labels: NDArray[Any]) -> NDArray[Any]:
    """Scores of two classes whose log-odds lie in the middle of bins, so that no two in one bin differ."""
    odds = random.integers(-60, 60, len(labels)) + 30 * labels + 0.5
    return np.stack([np.zeros(len(labels)), odds / PER_UNIT], axis=1)


def pairs(scores: NDArray[Any], labels: NDArray[Any]) -> float:
    """The area under the ROC curve, pair by pair."""
    odds = scores[:, 1] - scores[:, 0]
    above = odds[labels == 1][:, None] - odds[labels == 0]
    return float(np.mean((above > 0) + 0.5 * (above == 0)))


@given(st.integers(0, 1000))
def test_two_classes_have_all_figures(seed: int) -> None:
    random = np.random.default_rng(seed)
    labels = np.append([0, 1], random.integers(0, 2, ROWS - 2))
    scores = on_grid(random, labels)
    found = layer().figures(sums(scores, labels), ROWS)
    said = scores.argmax(axis=1)
    assert found["accuracy"] == np.mean(said == labels)
    assert found["sensitivity"] == np.mean(said[labels == 1] == 1)
    assert found["specificity"] == np.mean(said[labels == 0] == 0)
    assert found["auc"] == pytest.approx(pairs(scores, labels), abs=1e-12)


def test_parts_add_up_and_count_what_they_own_only() -> None:
    random = np.random.default_rng(5)
    labels = random.integers(0, 3, 10)
    scores = random.normal(size=(10, 3))
    whole = sums(scores, labels)
    owned = np.arange(6)[:, None] < 4
    parts = np.add(sums(scores[:6], labels[:6], owned), sums(scores[4:], labels[4:]))
    assert np.array_equal(parts, whole)
    table = layer(3, 10).tables(whole)["confusion"]
    assert np.array_equal(np.sum(table, axis=1), np.bincount(labels, minlength=3))
    assert layer(3, 10).figures(whole, 10) == {"accuracy": np.trace(table) / 10}


def test_scores_that_differ_by_a_bin_are_told_apart_and_the_widest_are_kept() -> None:
    scores = np.array([[0, -1e9], [0, 0.001], [0, 1 / PER_UNIT + 0.001], [0, 1e9]])
    bins = np.flatnonzero(np.array(sums(scores, np.array([0, 0, 1, 1]))[4:]))
    assert bins.tolist() == [0, BINS // 2, BINS + BINS // 2 + 1, 2 * BINS - 1]


def test_what_no_row_tells_is_left_out() -> None:
    found = layer(2, 3).figures(sums(np.zeros((3, 2)), np.zeros(3)), 3)
    assert found == {"accuracy": 1.0, "specificity": 1.0}


def test_wrong_sources_and_labels_are_told() -> None:
    with pytest.raises(ConfigError, match="classes"):
        layer(65)
    with pytest.raises(DataError, match="label"):
        sums(np.zeros((2, 2)), np.array([0, 2]))
