"""Held choice: what the workers hold of an output with one choice of its layer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from netpart.plan.optimal.choice_arrays import Array, ChoiceArrays
from netpart.spec import Region


@dataclass(frozen=True)
class HeldChoice:
    """One choice of a source: the ``regions`` of an output [w, axis, end] by worker, and the replicas and addends."""

    arrays: ChoiceArrays
    c: int
    regions: Array

    @cached_property
    def key(self) -> bytes:
        """What the price of messages depends on."""
        return b"|".join(a.tobytes() for a in (self.regions, self.arrays.classes[self.c], self.arrays.terms[self.c]))

    @cached_property
    def boxes(self) -> list[Region | None]:
        """The region of each worker; None without a shard."""
        has = self.arrays.classes[self.c] >= 0
        return [
            tuple((lo, hi) for lo, hi in box) if own else None
            for own, box in zip(has, self.regions.tolist(), strict=True)
        ]

    @cached_property
    def order(self) -> list[int]:
        """The workers in the order in which readers take what they hold: addend by addend, by position."""
        terms = self.arrays.terms[self.c]
        return sorted((w for w, box in enumerate(self.boxes) if box), key=lambda w: (terms[w], self.boxes[w]))

    def replicas(self) -> Iterator[tuple[tuple[int, ...], Region]]:
        """The workers of each class of several replicas, and what each of these holds."""
        classes = self.arrays.classes[self.c]
        for number in range(classes.max() + 1):
            members = tuple(np.flatnonzero(classes == number).tolist())
            box = self.boxes[members[0]]
            if len(members) > 1 and box is not None:
                yield members, box
