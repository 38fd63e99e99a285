"""The descriptions of a convolution's primitives, for channels-last tensors."""

from __future__ import annotations

from netpart.kernels.onednn.gradient_windows import has_right_gradients
from netpart.kernels.onednn.library import OneDnnRefused
from netpart.kernels.onednn.memory import DnnlMemory, MemoryDesc, dims_array
from netpart.kernels.onednn.names import Algorithm, PropKind
from netpart.kernels.onednn.primitive import Attributes, PrimitiveDesc
from netpart.kernels.op import Array, Window

DIRECT = Algorithm.CONVOLUTION_DIRECT


class ConvolutionDescs:
    """The descriptions of a convolution's three primitives."""

    def __init__(self, x: Array, w: Array, b: Array | None, y: Array, window: Window, groups: int) -> None:
        self.shape = w.shape if groups == 1 else (groups, len(w) // groups, *w.shape[1:])
        self.x = MemoryDesc.last(x.shape, x.dtype.name)
        self.y = MemoryDesc.last(y.shape, y.dtype.name)
        self.w = MemoryDesc.any(self.shape, x.dtype.name)
        self.dw = MemoryDesc.any(self.shape)
        self.b = None if b is None else MemoryDesc.of(b)
        self.problem = x, y, window, groups
        dilation = window.dilation or tuple(1 for _ in window.kernel)
        low, high = zip(*window.pads, strict=True)
        self.window = (
            dims_array(window.stride),
            dims_array([d - 1 for d in dilation]),  # oneDNN counts the elements between, 0 for a dense kernel
            dims_array(low),
            dims_array(high),
        )

    def weights(self, w: Array) -> DnnlMemory:
        """The memory of the weights (F, C / groups, ...), with an axis for the groups if there are several."""
        strides = [s // w.itemsize for s in w.strides]
        if len(self.shape) > w.ndim:
            strides = [self.shape[1] * strides[0], *strides]
        return DnnlMemory(MemoryDesc.strided(self.shape, strides, w.dtype.name), w)

    def forward(self, attributes: Attributes | None = None) -> PrimitiveDesc:
        args = PropKind.FORWARD_TRAINING, DIRECT, self.x, self.w, self.b, self.y, *self.window
        return PrimitiveDesc("convolution_forward", *args, attributes=attributes)

    def data(self) -> PrimitiveDesc:
        # A backward description takes the forward one as a hint.
        args = DIRECT, self.x, self.w, self.y, *self.window, self.forward()
        return self._expect_right(PrimitiveDesc("convolution_backward_data", *args))

    def gradient(self) -> PrimitiveDesc:
        args = DIRECT, self.x, self.dw, self.b, self.y, *self.window, self.forward()
        return self._expect_right(PrimitiveDesc("convolution_backward_weights", *args))

    def _expect_right(self, desc: PrimitiveDesc) -> PrimitiveDesc:
        """The description of a gradient; raises OneDnnRefused if its kernel is wrong for the window."""
        if desc.implementation.startswith("jit") and not has_right_gradients(*self.problem):
            raise OneDnnRefused(f"oneDNN: {desc.kind} by {desc.implementation} is wrong for this window")
        return desc
