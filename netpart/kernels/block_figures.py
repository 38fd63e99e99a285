"""Figures of blocks of classes, from which a softmax loss over classes that are cut is computed.

Figures of a block, for every row: Σ exp(x - max) | Σ w (max - x), with the class weights w or 1 | x of the label, if it
is in the block, else 0 | topk largest x, in descending order | and their classes. So f is (rows, blocks, 3 + 2·topk). A
block with fewer classes than topk fills the rest with the lowest finite number. Class numbers are exact up to 2**24 in
float32.
"""

from __future__ import annotations

from itertools import pairwise
from math import fsum
from typing import Any

from netpart.kernels.label_weights import LabelFactors
from netpart.kernels.loss_arguments import ClassLossArguments
from netpart.kernels.op import Array

EXPS, TOTAL, SCORE, TOP = range(4)


def count_block_figures(topk: int) -> int:
    """The number of figures of a block."""
    return TOP + 2 * topk


def class_bounds(classes: int, blocks: int) -> list[int]:
    """The first class of each of ``blocks`` equal blocks, and the end of the last one."""
    return [k * classes // blocks for k in range(blocks + 1)]


class BlockFigures:
    """The figures (rows, blocks, figures) of all blocks in the arguments ``a``; columns are (rows, 1)."""

    def __init__(self, xp: Any, a: ClassLossArguments, factors: LabelFactors) -> None:
        f_rkf = a.f.reshape(a.label.size, -1, count_block_figures(a.topk))
        self.xp = xp
        self.topk = a.topk
        self.smoothing = a.smoothing
        self.classes = a.classes
        self.factors = factors
        self.labels = factors.known.reshape(-1, 1, 1)
        self.exps, self.totals, self.scores, self.peaks = (f_rkf[:, :, i] for i in (EXPS, TOTAL, SCORE, TOP))
        bounds = class_bounds(a.classes, f_rkf.shape[1])
        weights = a.weights
        sums = [hi - lo if weights is None else fsum(weights[lo:hi]) for lo, hi in pairwise(bounds)]
        self.widths = xp.asarray(sums, f_rkf.dtype)
        self.tops = f_rkf[:, :, TOP : TOP + a.topk]
        self.numbers = f_rkf[:, :, TOP + a.topk :]

    def together(self, peak: Array, norm: Array, exps: Array) -> None:
        """Writes the largest x of each row to ``peak`` and Σ exp(x - peak) to ``norm``."""
        xp = self.xp
        xp.max(self.peaks, axis=1, keepdims=True, out=peak)
        xp.subtract(self.peaks, peak, out=exps)
        xp.exp(exps, out=exps)
        xp.multiply(exps, self.exps, out=exps)
        xp.sum(exps, axis=1, keepdims=True, out=norm)

    def score(self, picked: Array) -> None:
        """Writes x of the label to ``picked``."""
        self.xp.sum(self.scores, axis=1, keepdims=True, out=picked)

    def hits(self, picked: Array, beaten: Array, tie: Array, later: Array, count: Array, value: Array) -> None:
        """Writes 1 to ``value`` if fewer than topk candidates rank above the label, else 0; a NaN ranks below all."""
        xp = self.xp
        score = picked[:, :, None]
        xp.less(self.tops, score, out=beaten)
        xp.equal(self.tops, score, out=tie)
        xp.greater_equal(self.numbers, self.labels, out=later)
        xp.logical_and(tie, later, out=tie)
        xp.logical_or(beaten, tie, out=beaten)
        xp.sum(beaten, axis=(1, 2), out=count)
        xp.copyto(value, count.reshape(-1, 1))
        xp.subtract(value, beaten[0].size - self.topk, out=value)
        xp.clip(value, 0, 1, out=value)

    def surprise(self, picked: Array, peak: Array, norm: Array, below: Array) -> None:
        """Turns x of the label, in ``picked``, into minus the logarithm of its probability, weighted; overwrites the
        others."""
        xp = self.xp
        xp.subtract(peak, picked, out=picked)
        if self.factors.weight is not None:
            xp.multiply(picked, self.factors.weight, out=picked)
        if self.smoothing:
            self.smooth(picked, peak, below)
        xp.log(norm, out=norm)
        if self.factors.mass is not None:
            xp.multiply(norm, self.factors.mass, out=norm)
        xp.add(picked, norm, out=picked)

    def smooth(self, picked: Array, peak: Array, below: Array) -> None:
        """Mixes the mean of peak - x over all classes into ``picked``, which holds peak - x of the label."""
        xp = self.xp
        # Σ w (peak - x) of a block is its Σ w (max - x) plus (peak - max) · w for each of its classes.
        xp.subtract(peak, self.peaks, out=below)
        xp.multiply(below, self.widths, out=below)
        xp.add(below, self.totals, out=below)
        xp.sum(below, axis=1, keepdims=True, out=peak)
        xp.multiply(peak, self.smoothing / self.classes, out=peak)
        xp.multiply(picked, 1 - self.smoothing, out=picked)
        xp.add(picked, peak, out=picked)
