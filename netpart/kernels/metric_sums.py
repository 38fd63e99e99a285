"""Report: sums of metrics, to which each part adds the rows that it owns."""

from __future__ import annotations

from math import log

from netpart.kernels.label_weights import LabelFactors
from netpart.kernels.op import Array
from netpart.kernels.verbs import Verbs


class MetricSums:
    """Adder of the owned rows of a float64 column (rows, 1) to one of the metrics, each divided by ``share``.

    A row is owned if its first element is. Rows whose label is ignored by ``factors`` are omitted. ``scratch`` lists
    the column and its sum.
    """

    def __init__(
        self, verbs: Verbs, metrics: Array, owned: Array | None, rows: int, share: int = 1,
        factors: LabelFactors | None = None,
    ) -> None:  # fmt: skip
        self.xp = verbs.xp
        self.factors = factors
        self.counts = factors is not None and factors.skipped is not None
        self.metrics = metrics
        self.share = share
        foreign = unowned_mask(verbs, owned, rows)
        self.foreign = None if foreign is None else foreign[:, :1]
        self.scratch = [((rows, 1), "float64"), ((1,), "float64")]

    def add(self, slot: int, value: Array, total: Array) -> None:
        """metrics[slot] += Σ owned ``value``; overwrites both arrays."""
        if self.factors is not None:
            self.factors.omit(value)
        if self.foreign is not None:
            self.xp.copyto(value, 0, where=self.foreign)
        self.xp.sum(value, axis=0, out=total)
        if self.share > 1:
            self.xp.divide(total, self.share, out=total)
        target = self.metrics[slot : slot + 1]
        self.xp.add(target, total, out=target)

    def count(self, slot: int, value: Array, total: Array) -> None:
        """Add the number of rows to metrics[slot] if some labels are ignored; overwrites both arrays."""
        if self.counts:
            value.fill(1)
            self.add(slot, value, total)

    def in_bits(self) -> None:
        """Set the metric after those of a loss, if there is one, to the first in bits."""
        sums = 3 if self.counts else 2
        if len(self.metrics) > sums:
            self.xp.multiply(self.metrics[:1], 1 / log(2), out=self.metrics[sums:])


def unowned_mask(verbs: Verbs, owned: Array | None, rows: int) -> Array | None:
    """The mask (B, 1) or (B, F) of the elements that another part differentiates; None: this part differentiates
    all."""
    return None if owned is None else verbs.xp.logical_not(verbs.xp.asarray(owned)).reshape(rows, -1 if rows else 1)
