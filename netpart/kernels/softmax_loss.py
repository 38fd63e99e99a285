"""Softmax loss over all classes, and its gradient."""

from __future__ import annotations

from netpart.kernels.label_weights import LabelFactors, MeanFactor
from netpart.kernels.loss_arguments import SoftmaxLossArguments, SoftmaxLossGradientArguments
from netpart.kernels.metric_sums import MetricSums, unowned_mask
from netpart.kernels.op import Array, Op, chain_ops
from netpart.kernels.ranking import Ranking
from netpart.kernels.softmax import Softmax
from netpart.kernels.verbs import NOTHING, as_matrix


class SoftmaxLosses(Softmax):
    """x (B, ..., *F), label int32 (B, ...), owned bool (B, ...) or None; n classes = prod F."""

    def softmax_loss(self, a: SoftmaxLossArguments) -> Op:
        """y (B, ..., n) = softmax(x); metrics (2,) += [Σ -log p_label · scale, hits].

        -log p_label = (max x - x_label) + log Σ exp(x - max x), and the sum is 1 / max y. So it stays exact where the
        label's y underflows to 0 (Goodfellow et al., Deep Learning, 2016, section 6.2.2.3).
        With ``smoothing`` s, log p_label becomes (1 - s) · log p_label + s · mean log p over all classes
        (Szegedy et al., Rethinking the Inception Architecture, 2016, section 7). With ``weights``, the log p of each
        class is multiplied by the weight of the class. A hit is a row whose label is among the ``topk`` largest x
        (ties: the lower class first). Rows with the label ``ignored`` add nothing; metrics then have a third sum, the
        number of the other rows. One more element of ``metrics``, if there is one, is the first in bits.
        With ``total`` the loss is multiplied by ``batch`` / total.
        ``run`` raises DataError if a label that counts is not a class.
        """
        if not a.x.size:
            return NOTHING
        xp = self.xp
        x_bn = as_matrix(a.x, a.label.ndim)
        y_bn = as_matrix(a.y, a.label.ndim)
        column = ((a.label.size, 1), self.dtype)
        factors = LabelFactors(self, a.label, a.weights, a.ignored, a.smoothing)
        mean = None if a.total is None else MeanFactor(xp, a.total, a.batch)
        ranking = Ranking(self, factors.known, x_bn.shape[1], a.topk, a.ignored)
        report = MetricSums(self, a.metrics, a.owned, a.label.size, a.positions, factors)

        def run(picked: Array, top: Array, value: Array, total: Array, *scratch: Array) -> None:
            factors.read()
            ranking.hits(x_bn, picked, value, *scratch)
            factors.weigh()
            report.add(1, value, total)
            ranking.best(x_bn, top, *scratch)
            xp.subtract(top, picked, out=picked)
            if factors.weight is not None:
                xp.multiply(picked, factors.weight, out=picked)
            if a.smoothing:
                self._smooth(x_bn, top, picked, a.smoothing, factors.weights, *scratch[-2:])
            # ``best`` left the index of the maximum in the scratch: this reads y there, which is 1 / Σ exp.
            ranking.take(y_bn, top, *scratch)
            xp.log(top, out=top)
            if factors.mass is not None:
                xp.multiply(top, factors.mass, out=top)
            xp.subtract(picked, top, out=picked)
            xp.multiply(picked, a.scale, out=value)
            if mean is not None:
                xp.multiply(value, mean.read(), out=value)
            report.add(0, value, total)
            report.count(2, value, total)
            report.in_bits()

        smoothed = [(x_bn.shape, self.dtype), column] if a.smoothing else []
        loss = Op(run, [column, column, *report.scratch, *ranking.scratch, *smoothed])
        return chain_ops(self.softmax(x_bn, y_bn), loss)

    def _smooth(
        self, x_bn: Array, top: Array, picked: Array, smoothing: float, weights: Array | None, below: Array, mean: Array
    ) -> None:
        """Mixes the mean of top - x over all classes into ``picked``, which holds top - x of the label; both are
        weighted by ``weights``."""
        xp = self.xp
        xp.subtract(top, x_bn, out=below)
        if weights is not None:
            xp.multiply(below, weights, out=below)
        xp.sum(below, axis=1, keepdims=True, out=mean)
        xp.multiply(mean, smoothing / x_bn.shape[1], out=mean)
        xp.multiply(picked, 1 - smoothing, out=picked)
        xp.add(picked, mean, out=picked)

    def softmax_loss_gradient(self, a: SoftmaxLossGradientArguments) -> Op:
        """Overwrites dx = (y - (1 - s) · onehot(label) - s / n) · factor where it is owned, and 0 elsewhere.

        s is ``smoothing``. With ``weights`` w, dx = (y · Σ t - t) · factor, where the target t is
        (1 - s) · w · onehot(label) + s · w / n. It is 0 for the label ``ignored``, and multiplied by ``batch`` /
        ``total`` if there is a total.
        """
        if not a.dx.size:
            return NOTHING
        xp = self.xp
        y_bn = as_matrix(a.y, a.label.ndim)
        dx_bn = as_matrix(a.dx, a.label.ndim)
        factors = LabelFactors(self, a.label, a.weights, a.ignored, a.smoothing)
        mean = None if a.total is None else MeanFactor(xp, a.total, a.batch)
        foreign = unowned_mask(self, a.owned, a.label.size)
        first, n = a.among or (0, y_bn.shape[1])
        classes = xp.arange(first, first + y_bn.shape[1], dtype="int32")
        labels = factors.known.reshape(-1, 1)
        spread = a.smoothing / n
        if factors.weights is not None:
            spread = factors.weights[first : first + y_bn.shape[1]] * spread

        def run(onehot: Array, *weighted: Array) -> None:
            factors.read()
            factors.weigh()
            xp.equal(classes, labels, out=onehot)
            xp.copyto(dx_bn, onehot)
            if factors.weight is not None:
                xp.multiply(dx_bn, factors.weight, out=dx_bn)
            if a.smoothing:
                xp.multiply(dx_bn, 1 - a.smoothing, out=dx_bn)
                xp.add(dx_bn, spread, out=dx_bn)
            if factors.mass is not None:
                xp.multiply(y_bn, factors.mass, out=weighted[0])
            xp.subtract(weighted[0] if weighted else y_bn, dx_bn, out=dx_bn)
            xp.multiply(dx_bn, a.factor, out=dx_bn)
            if mean is not None:
                xp.multiply(dx_bn, mean.read(), out=dx_bn)
            factors.omit(dx_bn)
            if foreign is not None:
                xp.copyto(dx_bn, 0, where=foreign)

        return Op(run, [(y_bn.shape, bool), *([] if factors.mass is None else [(y_bn.shape, self.dtype)])])
