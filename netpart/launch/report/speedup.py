"""Speedup of several workers over one: section 4.1 and equation 13 of Akintoye et al., 2021."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path

from netpart.errors import DataError, os_error_text
from netpart.files import read_file
from netpart.launch.report.events import Summary

LARGEST = 1e300
"""Upper bound on every figure of a summary, against overflow in the ratios."""


@dataclass(frozen=True)
class Speedup:
    """``training`` is S = Ts / Tp of the training times; the other fields are the factors of equation 13.

    The factors are T1 / Tm of the seconds per step, TS1 / TSm of the steps per epoch, and E1 / Em of the epochs to an
    accuracy. None means unknown.
    """

    training: float | None
    step: float | None
    steps: float | None
    epochs: float | None

    @property
    def equation_13(self) -> float | None:
        """The product of the factors; None if one is unknown."""
        if self.step is None or self.steps is None or self.epochs is None:
            return None
        return self.step * self.steps * self.epochs


def compute_speedup(one: Summary, many: Summary, accuracy: float) -> Speedup:
    """The speedup of ``many`` over ``one``, two runs of one job. Epochs count until a test reached ``accuracy``, 0 to
    1."""
    same = one.steps == many.steps
    return Speedup(
        training=_known_ratio(one.train_seconds, many.train_seconds) if same else None,
        step=_known_ratio(_step_seconds(one), _step_seconds(many)),
        steps=_known_ratio(one.steps_per_epoch, many.steps_per_epoch),
        epochs=_known_ratio(_epochs_to_accuracy(one, accuracy), _epochs_to_accuracy(many, accuracy)),
    )


def _step_seconds(summary: Summary) -> float | None:
    """Mean seconds of a training step."""
    return summary.train_seconds / summary.steps if summary.steps else None


def _epochs_to_accuracy(summary: Summary, accuracy: float) -> float | None:
    """Epochs of training until a test first reached ``accuracy``; None if no test did."""
    step = next((step for step, found in summary.accuracies if found >= accuracy and step), None)
    return _known_ratio(step, summary.steps_per_epoch)


def _known_ratio(a: float | None, b: float | None) -> float | None:
    """a / b if both are known, else None."""
    return a / b if a is not None and b else None


def _check_figures(summary: Summary) -> Summary:
    """Return ``summary`` if its figures are numbers. Raises ValueError otherwise."""
    pairs = [tuple(pair) for pair in summary.accuracies]
    steps = [n for pair in pairs for n in pair]
    for figure in (summary.steps, summary.train_seconds, summary.steps_per_epoch or 0, *steps):
        if not isinstance(figure, int | float) or not abs(figure) < LARGEST:
            raise ValueError(f"a figure {str(figure)[:40]!r}")
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError("accuracies that are not pairs")
    return summary


def read_summary(path: Path) -> Summary:
    """Read a file that ``netpart run --summary`` wrote. Raises DataError for any other file."""
    try:
        found = json.loads(read_file(path))
        # Unknown fields are dropped, so that a summary of another version of netpart can be read.
        known = {field.name for field in fields(Summary)}
        return _check_figures(Summary(**{key: value for key, value in found.items() if key in known}))
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        got = os_error_text(error) if isinstance(error, OSError) else error
        hint = "run the job on one worker with --summary"
        raise DataError(f"{path}: expected a summary of `netpart run --summary`, got {got}; {hint}") from error
