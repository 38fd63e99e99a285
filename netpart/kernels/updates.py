"""Updates of parameters: by default with the array module, as the updater does; a GPU has kernels for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from netpart.kernels.op import Array, Clock, Op
from netpart.kernels.verbs import Verbs


class UpdateFormula(NamedTuple):
    """An update rule that kernels implement, by ``name``, and its constants: momentum, rho, or beta1 and beta2."""

    name: str
    first: float = 0.0
    second: float = 0.0


class StepNumbers(NamedTuple):
    """The numbers of an update that change from step to step.

    ``rate`` multiplies the change, ``delta`` is added to its divisor, ``shrink`` multiplies the parameter before the
    change, and ``keep`` is the weight of the old value in averages.
    """

    rate: float
    delta: float
    shrink: float
    keep: float


class Updates(Verbs):
    """w, g, state: one shape, possibly strided views; w and state are changed in place, g is read.

    ``before`` has the newest values if w still has those that the forward pass of this mini-batch read; None: w has the
    newest.
    """

    def update(
        self, updater: Any, w: Array, g: Array, state: Sequence[Array], scale: Any, clock: Clock, norm: Array = None
    ) -> Op:
        """One update of ``w`` by ``g``, as in ``Updater.bind``; ``updater`` is an Updater, ``scale`` a Scale."""
        op = updater.bind(self.xp, w, g, state, scale, clock, norm)
        return Op(op.run, op.scratch, captured=False)  # the host computes the rate in every step

    def follow_mean(self, w: Array, g: Array, keep: float, before: Array | None = None) -> Op:
        """w <- keep · before + (1 - keep) · mean, computed as before + (1 - keep) (w - before + g).

        g is the mean of the mini-batch minus w.
        """
        xp = self.xp

        def run(step: Array) -> None:
            if before is None:
                xp.multiply(g, 1 - keep, out=step)
            else:
                xp.subtract(w, before, out=step)
                xp.add(step, g, out=step)
                xp.multiply(step, 1 - keep, out=step)
                xp.copyto(w, before)
            xp.add(w, step, out=w)

        return Op(run, [(w.shape, w.dtype)])

    def follow_variance(
        self, w: Array, g: Array, centre: Array, keep: float, count: int, before: Array | None = None
    ) -> Op:
        """w <- keep · before + (1 - keep) · variance; g and ``centre`` are the mini-batch's second and first moment.

        The variance is the unbiased one of ``count`` elements, as in cuDNN and PyTorch (of one element: 0).
        """
        xp = self.xp
        unbiased = (1 - keep) * count / max(1, count - 1)

        def run(step: Array) -> None:
            xp.multiply(centre, centre, out=step)
            xp.subtract(g, step, out=step)
            # Rounding may make a variance of almost 0 negative.
            xp.maximum(step, 0, out=step)
            xp.multiply(step, unbiased, out=step)
            xp.multiply(w if before is None else before, keep, out=w)
            xp.add(w, step, out=w)

        return Op(run, [(w.shape, w.dtype)])
