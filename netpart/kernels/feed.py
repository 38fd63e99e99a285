"""Values that the host computes: samples that it reads, and operations that no device has."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import Verbs


class Feed(Verbs):
    """Kernels that run on the host."""

    def feed(self, ys: Sequence[Array], fill: Callable[..., None], xs: Sequence[Array] = ()) -> Op:
        """Overwrite ``ys`` with what ``fill(*outputs, *inputs)`` writes into host arrays of their shapes and dtypes.

        Its inputs are ``xs`` as host arrays; a None among ``ys`` is passed on as None.

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

        return Op(run, captured=False)  # a CUDA graph would repeat the copies without calling ``fill``
