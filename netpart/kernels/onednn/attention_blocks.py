"""What attention in bfloat16 computes in float32: the scores before their softmax, and sums over blocks of queries."""

from __future__ import annotations

from functools import partial

from netpart.kernels.bfloat16 import is_bfloat16
from netpart.kernels.onednn.calls import Calls
from netpart.kernels.onednn.memory import DnnlMemory, MemoryDesc, dense_strides
from netpart.kernels.onednn.products import matmul_memory
from netpart.kernels.op import Array


class BlockScores:
    """The scores of a block of queries, in float32: in the place of its distributions, or in a temporary if those are
    bfloat16."""

    def __init__(self, calls: Calls, weights: Array) -> None:
        self.shape = weights.shape
        self._weights = weights
        self._narrow = is_bfloat16(weights)
        dense = MemoryDesc.strided(self.shape, dense_strides(self.shape))
        self.memory = calls.temporary(dense) if self._narrow else matmul_memory(weights)

    @property
    def array(self) -> Array:
        """The scores, in a run: the workspace with the temporary may be another array in the next one."""
        return self.memory.array.view("float32").reshape(self.shape) if self._narrow else self._weights


class KeyGradient:
    """The gradient of keys or values, ``target`` (..., S, D), to which ``blocks`` blocks of queries add in float32."""

    def __init__(self, calls: Calls, target: Array, blocks: int) -> None:
        self._calls = calls
        self._target = target
        dense = MemoryDesc.strided(target.shape, dense_strides(target.shape))
        self._total = calls.temporary(dense) if is_bfloat16(target) and blocks > 1 else None

    def rows(self, count: int) -> DnnlMemory:
        """The memory of the gradients of the first ``count`` keys."""
        if self._total is None:
            return matmul_memory(self._target[..., :count, :])
        shape = *self._target.shape[:-2], count, self._target.shape[-1]
        found = DnnlMemory(MemoryDesc.strided(shape, dense_strides(self._target.shape)))
        self._calls.then(partial(_follow, found, self._total))
        return found

    def finish(self) -> None:
        """Append the copy of the sums to the target."""
        if self._total is not None:
            self._calls.reorder(self._total, matmul_memory(self._target))


def _follow(part: DnnlMemory, whole: DnnlMemory) -> None:
    """Move ``part``, the first rows of each matrix of ``whole``, to where ``whole`` is in this run."""
    if part.array is not whole.array:
        part.move(whole.array)
