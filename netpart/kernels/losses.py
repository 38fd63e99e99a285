"""Losses and accuracy; metrics are float64 sums over the rows that this part owns (None: all rows)."""

from __future__ import annotations

from netpart.kernels.metric_sums import MetricSums, unowned_mask
from netpart.kernels.op import Array, Op, chain_ops
from netpart.kernels.ranking import Ranking
from netpart.kernels.softmax import Softmax
from netpart.kernels.verbs import NOTHING, as_matrix


class Losses(Softmax):
    """x (B, ..., *F), label int32 (B, ...), owned bool (B, ...) or None; n classes = prod F.

    A row has ``positions`` with a label each, on this part or on others: each counts as 1 / ``positions`` of a row.
    """

    def softmax_loss(
        self, x: Array, label: Array, y: Array, metrics: Array, owned: Array | None, topk: int, scale: float,
        positions: int = 1, smoothing: float = 0.0,
    ) -> Op:  # fmt: skip
        """y (B, ..., n) = softmax(x); metrics (2,) += [Σ -log p_label · scale, hits].

        -log p_label = (max x - x_label) + log Σ exp(x - max x), and the sum is 1 / max y. So it stays exact where the
        label's y underflows to 0 (Goodfellow et al., Deep Learning, 2016, section 6.2.2.3).
        A third element of ``metrics``, if there is one, is the first in bits.
        With ``smoothing`` s, log p_label becomes (1 - s) · log p_label + s · mean log p over all classes
        (Szegedy et al., Rethinking the Inception Architecture, 2016, section 7). A hit is a row whose label is
        among the ``topk`` largest x (ties: the lower class first).
        ``run`` raises DataError if a label is not a class.
        """
        if not x.size:
            return NOTHING
        xp = self.xp
        x_bn = as_matrix(x, label.ndim)
        y_bn = as_matrix(y, label.ndim)
        column = ((label.size, 1), self.dtype)
        ranking = Ranking(self, label, x_bn.shape[1], topk)
        report = MetricSums(self, metrics, owned, label.size, positions)

        def run(picked: Array, top: Array, value: Array, total: Array, *scratch: Array) -> None:
            ranking.hits(x_bn, picked, value, *scratch)
            report.add(1, value, total)
            ranking.best(x_bn, top, *scratch)
            xp.subtract(top, picked, out=picked)
            if smoothing:
                self._smooth(x_bn, top, picked, smoothing, *scratch[-2:])
            # ``best`` left the index of the maximum in the scratch: this reads y there, which is 1 / Σ exp.
            ranking.take(y_bn, top, *scratch)
            xp.log(top, out=top)
            xp.subtract(picked, top, out=picked)
            xp.multiply(picked, scale, out=value)
            report.add(0, value, total)
            report.in_bits()

        smoothed = [(x_bn.shape, self.dtype), column] if smoothing else []
        loss = Op(run, [column, column, *report.scratch, *ranking.scratch, *smoothed])
        return chain_ops(self.softmax(x_bn, y_bn), loss)

    def _smooth(self, x_bn: Array, top: Array, picked: Array, smoothing: float, below: Array, mean: Array) -> None:
        """Mixes the mean of top - x over all classes into ``picked``, which holds top - x of the label."""
        xp = self.xp
        xp.subtract(top, x_bn, out=below)
        xp.sum(below, axis=1, keepdims=True, out=mean)
        xp.multiply(mean, smoothing / x_bn.shape[1], out=mean)
        xp.multiply(picked, 1 - smoothing, out=picked)
        xp.add(picked, mean, out=picked)

    def softmax_loss_gradient(
        self, y: Array, label: Array, dx: Array, owned: Array | None, factor: float, smoothing: float = 0.0,
        among: tuple[int, int] | None = None,
    ) -> Op:  # fmt: skip
        """Overwrites dx = (y - (1 - s) · onehot(label) - s / n) · factor where it is owned, and 0 elsewhere.

        s is ``smoothing``. ``among``: the number of the first class of y and n, that of all classes; None: y has all.
        """
        if not dx.size:
            return NOTHING
        xp = self.xp
        y_bn = as_matrix(y, label.ndim)
        dx_bn = as_matrix(dx, label.ndim)
        foreign = unowned_mask(self, owned, label.size)
        first, n = among or (0, y_bn.shape[1])
        classes = xp.arange(first, first + y_bn.shape[1], dtype="int32")
        labels = label.reshape(-1, 1)

        def run(onehot: Array) -> None:
            xp.equal(classes, labels, out=onehot)
            xp.copyto(dx_bn, onehot)
            if smoothing:
                xp.multiply(dx_bn, 1 - smoothing, out=dx_bn)
                xp.add(dx_bn, smoothing / n, out=dx_bn)
            xp.subtract(y_bn, dx_bn, out=dx_bn)
            xp.multiply(dx_bn, factor, out=dx_bn)
            if foreign is not None:
                xp.copyto(dx_bn, 0, where=foreign)

        return Op(run, [(y_bn.shape, bool)])

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
        self, x: Array, label: Array, metrics: Array, topk: int, owned: Array | None, positions: int = 1
    ) -> Op:
        """metrics (1,) += the owned rows whose label is among the ``topk`` largest of x.

        ``run`` raises DataError if a label is not a class.
        """
        if not x.size:
            return NOTHING
        x_bn = as_matrix(x, label.ndim)
        report = MetricSums(self, metrics, owned, label.size, positions)
        ranking = Ranking(self, label, x_bn.shape[1], topk)

        def run(picked: Array, value: Array, total: Array, *scratch: Array) -> None:
            ranking.hits(x_bn, picked, value, *scratch)
            report.add(0, value, total)

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
