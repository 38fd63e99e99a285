"""Ranking: the rank of each label among the scores of its row."""

from __future__ import annotations

from functools import cached_property

from netpart.errors import DataError
from netpart.kernels.op import Array
from netpart.kernels.verbs import Verbs


class Ranking:
    """The rank of each label among the scores of its row.

    The last arguments of its methods are the arrays of ``scratch``: two columns of indices and, for topk above 1, the
    arrays for counting.
    """

    def __init__(self, verbs: Verbs, label: Array, classes: int, topk: int, ignored: int | None = None) -> None:
        """``ignored``: the label that counts for nothing, which ``label`` does not contain; named in errors only."""
        xp = verbs.xp
        self.ignored = ignored
        shape = (label.size, classes)
        self.xp = xp
        self.label = label
        self.labels = label.reshape(-1, 1)
        self.needed = classes - topk
        self.count = classes
        self.mode = {"mode": "clip"} if xp.__name__ == "numpy" else {}  # in other modes numpy buffers the output
        counted = [(shape, bool)] * 2 + [(shape, verbs.dtype), ((label.size, 1), verbs.dtype)]
        self.alone = topk == 1
        self.scratch = [((label.size,), "int64")] * 2 + ([] if self.alone else counted)

    # Not when it is bound: a plan binds calls of whole nets only to ask for their scratch.
    @cached_property
    def classes(self) -> Array:
        """All classes, int32 (n,)."""
        return self.xp.arange(self.count, dtype="int32")

    @cached_property
    def starts(self) -> Array:
        """The place of each row's first score, int64 (B,)."""
        return self.xp.arange(0, self.label.size * self.count, self.count, dtype="int64")

    def hits(self, scores: Array, picked: Array, value: Array, *scratch: Array) -> None:
        """Write the label's score to ``picked`` (B, 1), and 1 or 0 for a hit to ``value`` (B, 1). A NaN is no hit."""
        check_labels(self.label, self.count, self.ignored)
        self.xp.add(self.starts, self.label.reshape(-1), out=scratch[0])
        self.take(scores, picked, *scratch)
        if self.alone:
            self._first(scores, picked, value, *scratch[:2])
        else:
            self._among(scores, picked, value, *scratch[2:6])

    def best(self, scores: Array, top: Array, *scratch: Array) -> None:
        """Write the largest score of each row to ``top`` (B, 1), after ``hits`` of the same."""
        if not self.alone:
            self.xp.argmax(scores, axis=1, out=scratch[1])
        self.xp.add(self.starts, scratch[1], out=scratch[0])
        self.take(scores, top, *scratch)

    def take(self, values: Array, out: Array, index: Array, *_: Array) -> None:
        """Write to ``out`` (B, 1) the element of each row of ``values`` at the flat ``index`` of the last method."""
        self.xp.take(values.reshape(-1), index, out=out.reshape(-1), **self.mode)

    def _first(self, scores: Array, picked: Array, value: Array, index: Array, best: Array) -> None:
        xp = self.xp
        xp.argmax(scores, axis=1, out=best)
        xp.equal(best, self.label.reshape(-1), out=index, casting="unsafe")
        xp.equal(picked, picked, out=value, casting="unsafe")  # 0 for a NaN, which argmax would rank first
        xp.multiply(value, index.reshape(-1, 1), out=value)

    def _among(
        self, scores: Array, picked: Array, value: Array, beaten: Array, other: Array, part: Array, count: Array
    ) -> None:
        """As ``_first``, for a label among the topk."""
        xp = self.xp
        # Counts the classes that the label beats, itself included, and not those that beat it: so a NaN is no hit.
        xp.less_equal(scores, picked, out=beaten)
        xp.copyto(part, beaten)
        xp.less(scores, picked, out=beaten)
        xp.less(self.classes, self.labels, out=other)
        xp.copyto(part, beaten, where=other)
        xp.sum(part, axis=1, keepdims=True, out=count)
        xp.copyto(value, count)
        xp.subtract(value, self.needed, out=value)
        xp.clip(value, 0, 1, out=value)


def check_labels(label: Array, classes: int, ignored: int | None = None) -> None:
    """Raise DataError unless every label, at least one, is a class. ``ignored`` is named in the error as legal too."""
    if int(label.view("uint32").max()) >= classes:  # one pass: negative labels are large as uint32
        low = int(label.min())
        high = int(label.max())
        raise DataError(describe_bad_label(low if low < 0 else high, classes, ignored))


def describe_bad_label(label: int, classes: int, ignored: int | None = None) -> str:
    """The error text for ``label``."""
    also = "" if ignored is None else f" or {ignored}, which is ignored"
    return (
        f"label: expected classes 0 to {classes - 1}{also}, got {label}; "
        "check the store's labels, or give the layer below the loss as many outputs as there are classes"
    )
