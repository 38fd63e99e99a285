"""Class counts: how often each class is among the labels of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ClassCount:
    """A class: its number, its name ("" if it has none), and how many of all labels, and which share, have it."""

    label: int
    name: str
    count: int
    share: float


class LabelCounter:
    """Counter of labels, which are added block after block."""

    def __init__(self) -> None:
        self._counts = Counter[int]()

    def add(self, labels: NDArray[Any]) -> None:
        """Add labels of any shape."""
        numbers, counts = np.unique(labels, return_counts=True)
        self._counts.update(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))

    def counts(self, names: Sequence[str] = (), ignored: Collection[int] = ()) -> tuple[ClassCount, ...]:
        """The classes by their numbers; those that have a name and no label are among them, ``ignored`` labels are not.

        Shares are those of the labels that are not ignored.
        """
        total = max(1, self._counts.total() - sum(self._counts[n] for n in ignored))
        numbers = sorted({*self._counts, *range(len(names))} - {*ignored})
        return tuple(ClassCount(n, class_name(n, names), self._counts[n], self._counts[n] / total) for n in numbers)

    def ignored_counts(self, ignored: Collection[int]) -> tuple[ClassCount, ...]:
        """The ``ignored`` labels, with their shares of all labels."""
        total = max(1, self._counts.total())
        return tuple(ClassCount(n, "", self._counts[n], self._counts[n] / total) for n in sorted(ignored))


def class_name(label: int, names: Sequence[str]) -> str:
    """The name of a class, "" if it has none."""
    return names[label] if 0 <= label < len(names) else ""
