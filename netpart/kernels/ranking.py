"""Ranking: where labels stand among the scores of their rows."""

from __future__ import annotations

from netpart.errors import DataError
from netpart.kernels.op import Array
from netpart.kernels.verbs import Verbs


class Ranking:
    """Where the label stands among the scores of its row."""

    def __init__(self, verbs: Verbs, label: Array, classes: int, topk: int) -> None:
        xp, shape = verbs.xp, (label.size, classes)
        self.xp, self.label, self.labels, self.needed = xp, label, label.reshape(-1, 1), classes - topk
        self.classes = xp.arange(classes, dtype="int32")
        self.starts = xp.arange(0, label.size * classes, classes, dtype="int64")
        self.mode = {"mode": "clip"} if xp.__name__ == "numpy" else {}  # numpy would buffer what it might refuse
        kinds = [((label.size,), "int64")] * 2 if topk == 1 else [(shape, bool)] * 2
        self.scratch = [*kinds, (shape, verbs.dtype), ((label.size, 1), verbs.dtype)]
        self.hits = self._best if topk == 1 else self._among

    def _best(self, scores: Array, picked: Array, value: Array, index: Array, best: Array, *_: Array) -> None:
        """Writes the label's score to ``picked`` (B, 1), and 1 or 0 for a hit to ``value`` (B, 1). A NaN is no hit."""
        xp = self.xp
        check_labels(self.label, len(self.classes))
        xp.add(self.starts, self.label.reshape(-1), out=index)
        xp.take(scores.reshape(-1), index, out=picked.reshape(-1), **self.mode)
        xp.argmax(scores, axis=1, out=best)
        xp.equal(best, self.label.reshape(-1), out=index, casting="unsafe")
        xp.equal(picked, picked, out=value, casting="unsafe")
        xp.multiply(value, index.reshape(-1, 1), out=value)

    def _among(
        self, scores: Array, picked: Array, value: Array, beaten: Array, other: Array, part: Array, count: Array
    ) -> None:
        """As ``_best``, for a label among the topk."""
        xp = self.xp
        check_labels(self.label, len(self.classes))
        xp.equal(self.classes, self.labels, out=other)
        part.fill(0)
        xp.copyto(part, scores, where=other)
        xp.sum(part, axis=1, keepdims=True, out=picked)
        # Counts what the label beats, itself included, not what beats it: a NaN then is no hit.
        xp.less_equal(scores, picked, out=beaten)
        xp.copyto(part, beaten)
        xp.less(scores, picked, out=beaten)
        xp.less(self.classes, self.labels, out=other)
        xp.copyto(part, beaten, where=other)
        xp.sum(part, axis=1, keepdims=True, out=count)
        xp.copyto(value, count)
        xp.subtract(value, self.needed, out=value)
        xp.clip(value, 0, 1, out=value)


def check_labels(label: Array, classes: int) -> None:
    """Raises DataError unless every label, at least one, is a class."""
    if int(label.view("uint32").max()) >= classes:  # what is negative is large
        low, high = int(label.min()), int(label.max())
        raise DataError(no_class(low if low < 0 else high, classes))


def no_class(label: int, classes: int) -> str:
    """What is wrong with ``label``."""
    return (
        f"label: expected classes 0 to {classes - 1}, got {label}; "
        "check the store's labels, or give the layer below the loss as many outputs as there are classes"
    )
