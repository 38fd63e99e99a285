"""Values that the host computes: samples that it reads, and what only it can do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import Verbs


class Feed(Verbs):
    """Kernels that run on the host."""

    def feed(self, ys: Sequence[Array], fill: Callable[..., None], xs: Sequence[Array] = ()) -> Op:
        """``ys`` are overwritten with what ``fill(*outputs, *inputs)`` writes into host arrays of their shapes and
        dtypes, given ``xs`` in others; None stays None.

        ``fill`` is called in every step, and may be called before ``ys`` of the last one have been read.
        """
        if self.xp is np:
            return Op(lambda: fill(*ys, *xs), captured=False)
        hosts = [None if y is None else np.empty(y.shape, y.dtype) for y in ys]

        def run() -> None:
            fill(*hosts, *map(self.xp.asnumpy, xs))
            for y, host in zip(ys, hosts, strict=True):
                if y is not None:
                    y[...] = self.xp.asarray(host)

        return Op(run, captured=False)
