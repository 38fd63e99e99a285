"""Losses and accuracy; metrics are float64 sums over the rows that this part owns (None: all rows)."""

from __future__ import annotations

from netpart.kernels.label_weights import LabelFactors
from netpart.kernels.metric_sums import MetricSums, unowned_mask
from netpart.kernels.op import Array, Op
from netpart.kernels.ranking import Ranking
from netpart.kernels.softmax_loss import SoftmaxLosses
from netpart.kernels.verbs import NOTHING, as_matrix


class Losses(SoftmaxLosses):
    """x (B, ..., *F), label int32 (B, ...), owned bool (B, ...) or None; n classes = prod F.

    A row has ``positions`` with a label each, on this part or on others: each counts as 1 / ``positions`` of a row.
    """

    def euclidean_loss(self, x: Array, t: Array, y: Array, metrics: Array, owned: Array | None) -> Op:
        """y = x - t; metrics (1,) += Σ y² over the owned rows."""
        if not y.size:
            return NOTHING
        xp = self.xp
        x_bf = as_matrix(x)
        t_bf = as_matrix(t)
        y_bf = as_matrix(y)
        report = MetricSums(self, metrics, owned, len(x))

        def run(square: Array, row: Array, value: Array, total: Array) -> None:
            xp.subtract(x_bf, t_bf, out=y_bf)
            xp.multiply(y_bf, y_bf, out=square)
            xp.sum(square, axis=1, keepdims=True, out=row)
            xp.copyto(value, row)
            report.add(0, value, total)

        rows = len(y_bf)
        return Op(run, [(y_bf.shape, self.dtype), ((rows, 1), self.dtype), *report.scratch])

    def euclidean_loss_gradient(self, y: Array, dx: Array, factor: float, owned: Array | None) -> Op:
        """Overwrites dx = y · factor in the owned rows, 0 in the others."""
        xp = self.xp
        y_bf = as_matrix(y)
        dx_bf = as_matrix(dx)
        foreign = unowned_mask(self, owned, len(y))

        def run() -> None:
            xp.multiply(y_bf, factor, out=dx_bf)
            if foreign is not None:
                xp.copyto(dx_bf, 0, where=foreign)

        return Op(run)

    def accuracy(
        self, x: Array, label: Array, metrics: Array, topk: int, owned: Array | None, positions: int = 1,
        ignored: int | None = None,
    ) -> Op:  # fmt: skip
        """metrics (1,) += the owned rows whose label is among the ``topk`` largest of x.

        With ``ignored``, metrics (2,) += [those of the rows that have another label, the number of these].
        ``run`` raises DataError if a label that counts is not a class.
        """
        if not x.size:
            return NOTHING
        x_bn = as_matrix(x, label.ndim)
        factors = LabelFactors(self, label, None, ignored)
        report = MetricSums(self, metrics, owned, label.size, positions, factors)
        ranking = Ranking(self, factors.known, x_bn.shape[1], topk, ignored)

        def run(picked: Array, value: Array, total: Array, *scratch: Array) -> None:
            factors.read()
            ranking.hits(x_bn, picked, value, *scratch)
            report.add(0, value, total)
            report.count(1, value, total)

        return Op(run, [((len(x_bn), 1), self.dtype), *report.scratch, *ranking.scratch])

    def largest(self, x: Array, y: Array) -> Op:
        """y (B, ..., k) int32 = the classes of each row's k largest x, largest first; ties: the lower class first."""
        if not y.size:
            return NOTHING
        xp = self.xp
        x_bn = as_matrix(x, y.ndim - 1)
        y_bk = as_matrix(y, y.ndim - 1)
        classes = xp.arange(x_bn.shape[1], dtype="int32")

        def run(rest: Array, taken: Array, best: Array) -> None:
            xp.copyto(rest, x_bn)
            for k in range(y_bk.shape[1]):
                xp.argmax(rest, axis=1, out=best)
                xp.copyto(y_bk[:, k], best, casting="same_kind")
                xp.equal(classes, best.reshape(-1, 1), out=taken)
                xp.copyto(rest, -xp.inf, where=taken)

        return Op(run, [(x_bn.shape, self.dtype), (x_bn.shape, bool), ((len(x_bn),), "int64")])
