from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from netpart.errors import DataError
from netpart.launch.report.events import Summary
from netpart.launch.report.speedup import compute_speedup, read_summary

ONE = Summary("job", 1, 100, train_seconds=50.0, steps_per_epoch=20.0, accuracies=[(0, 0.9), (40, 0.5), (80, 0.9)])
FOUR = replace(ONE, workers=4, train_seconds=20.0, steps_per_epoch=5.0, accuracies=[(0, 0.1), (15, 0.95)])


def test_equation_13_is_the_product_of_its_factors() -> None:
    found = compute_speedup(ONE, FOUR, 0.9)
    assert found.training == 2.5
    assert found.step == 2.5
    assert found.steps == 4.0
    assert found.epochs == (80 / 20) / (15 / 5)
    assert found.equation_13 == pytest.approx(2.5 * 4 * 4 / 3)


def test_what_is_not_known_is_none() -> None:
    assert compute_speedup(ONE, FOUR, 0.99).epochs is None
    assert compute_speedup(ONE, FOUR, 0.99).equation_13 is None
    assert compute_speedup(ONE, replace(FOUR, steps=50), 0.9).training is None
    assert compute_speedup(replace(ONE, steps_per_epoch=None), FOUR, 0.9).steps is None


def test_a_summary_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text(json.dumps(asdict(ONE)))
    assert compute_speedup(read_summary(path), FOUR, 0.9) == compute_speedup(ONE, FOUR, 0.9)
    for text in ("", "[]", '{"name": "job"}'):
        path.write_text(text)
        with pytest.raises(DataError, match="expected a summary"):
            read_summary(path)
    with pytest.raises(DataError, match="expected a summary"):
        read_summary(tmp_path / "absent.json")
