"""Convolution by cuDNN, or by matrix products where that is missing or has no engine.

Engines need packed tensors with the channels last, and copies are made only of others. So weights that other workers
share are copied, as they are in the order of the job. Where bfloat16 is faster (``narrowing.py``) all tensors are
copied, as the copy rounds them:

    x ──frame──▶ ┐
    w ──turn───▶ ┴ engine ──unframe (+ bias, relu)──▶ y
"""

from __future__ import annotations

from math import prod
from typing import Protocol

from netpart.kernels import convolution
from netpart.kernels.activation import Kind
from netpart.kernels.cuda import dnn
from netpart.kernels.cuda.geometry import ALIGNED, ConvolutionGeometry, channels_last_shape, is_packed, three_axes_view
from netpart.kernels.cuda.launch import Launchable, LaunchScratch, check_kernel_size
from netpart.kernels.cuda.lowered import LoweredEngine, Tensor
from netpart.kernels.cuda.narrowing import BFLOAT16, multiplied_precision
from netpart.kernels.cuda.problem import DATA, FORWARD, WEIGHTS, B, ConvolutionProblem, CudnnRefused, W, X, Y
from netpart.kernels.cuda.products import ProductVerbs
from netpart.kernels.cuda.view import strided_view
from netpart.kernels.op import Array, Op, Window, chain_ops
from netpart.kernels.verbs import NOTHING, data_address
from netpart.spec import Shape

SOURCE = "convolution.cu"
HALF = "uint16"
"""The dtype of scratch for bfloat16, which CuPy's arrays do not have."""
Launches = list[Launchable | None]


class ConvolutionEngine(Protocol):
    """The interface of what computes a convolution, or one of its gradients, on packed tensors.

    ``narrow``: the tensors are bfloat16. ``fused``: it also adds the bias and applies the relu.
    """

    narrow: bool
    fused: bool

    def forward(self, x: Tensor, w: Tensor, b: Array | None, y: Tensor) -> Launches: ...

    def data(self, dy: Tensor, w: Tensor, dx: Tensor) -> Launches: ...

    def weights(self, x: Tensor, dy: Tensor, dw: Tensor) -> Launches: ...


class CudnnEngine:
    """cuDNN as an engine."""

    def __init__(self, plan: dnn.ConvolutionPlan, narrow: bool, fused: bool) -> None:
        self.plan = plan
        self.narrow = narrow
        self.fused = fused

    def forward(self, x: Tensor, w: Tensor, b: Array | None, y: Tensor) -> Launches:
        return [self.plan.on({X: x, W: w, Y: y} | ({B: b} if self.fused else {}))]

    def data(self, dy: Tensor, w: Tensor, dx: Tensor) -> Launches:
        return [self.plan.on({Y: dy, W: w, X: dx})]

    def weights(self, x: Tensor, dy: Tensor, dw: Tensor) -> Launches:
        return [self.plan.on({X: x, Y: dy, W: dw})]


class Convolution(convolution.Convolution, ProductVerbs):
    """x (B, C, *in), w (F, C / groups, *k), b (F,), y (B, F, *out); tensors may be strided views."""

    def convolution(
        self, x: Array, w: Array, b: Array | None, y: Array, window: Window, groups: int = 1,
        activation: Kind | None = None,
    ) -> Op:  # fmt: skip
        """y = activation(w * x + b)."""
        if not y.size:
            return NOTHING
        relu = activation == "relu"
        found = self.launches(*self._forward(x, w, b, y, window, groups, relu))
        return found if relu or activation is None else chain_ops(found, self.activation(activation, y, y))

    def _forward(
        self, x: Array, w: Array, b: Array | None, y: Array, window: Window, groups: int, relu: bool
    ) -> Launches:
        if not w.size:
            return [self._placed(y, None, y.shape, None, False, b, relu)]
        geometry = ConvolutionGeometry.of(x, w, y, window, groups)
        # cuDNN needs an aligned bias; any other is added by the kernel ``unframe``.
        fuse = b is not None and data_address(b) % ALIGNED == 0
        engine = self._engine(FORWARD, geometry, fuse, relu and fuse)
        seen, frame = self._framed(x, geometry.x, geometry.frame, engine.narrow)
        weights, turn = self._turned(w, engine.narrow)
        made = self._target(y, geometry.y, engine.narrow)
        launches = [frame, turn, *engine.forward(seen, weights, b, made)]
        left = not engine.fused and (b is not None or relu)
        if made is not y or left:
            rest = (b, relu) if left else (None, False)
            launches.append(self._placed(y, made, geometry.y, None, engine.narrow, *rest))
        return launches

    def convolution_data(self, dy: Array, w: Array, dx: Array, window: Window, groups: int = 1) -> Op:
        """Overwrite dx with the gradient of x; input that no window reads gets 0."""
        if not dx.size or not dy.size:
            return self.zeroed(dx)
        geometry = ConvolutionGeometry.of(dx, w, dy, window, groups)
        engine = self._engine(DATA, geometry)
        above, pack = self._framed(dy, geometry.y, None, engine.narrow)
        weights, turn = self._turned(w, engine.narrow)
        made = self._target(dx, geometry.x, engine.narrow, framed=geometry.frame is not None)
        back = None if made is dx else self._placed(dx, made, geometry.x, geometry.frame, engine.narrow)
        return self.launches(pack, turn, *engine.data(above, weights, made), back)

    def convolution_weights(
        self, x: Array, dy: Array, dw: Array, db: Array | None, window: Window, groups: int = 1
    ) -> Op:
        """Overwrite dw and db with the gradients of the weights and the bias."""
        found = self.launches(*self._weights(x, dy, dw, window, groups)) if dy.size and dw.size else self.zeroed(dw)
        return chain_ops(found, self.bias_gradient(dy, db))

    def _weights(self, x: Array, dy: Array, dw: Array, window: Window, groups: int) -> Launches:
        geometry = ConvolutionGeometry.of(x, dw, dy, window, groups)
        engine = self._engine(WEIGHTS, geometry)
        seen, frame = self._framed(x, geometry.x, geometry.frame, engine.narrow)
        above, pack = self._framed(dy, geometry.y, None, engine.narrow)
        made = dw if self._turns_not(dw, engine.narrow) else self._turning(dw, engine.narrow)
        back = None
        if made is not dw:
            outer, channels, taps = _turned_extents(dw)
            back = self.bound(
                SOURCE, "turn_wide" if engine.narrow else "turn", dw.size, dw, made, outer, taps, channels
            )
        return [frame, pack, *engine.weights(seen, above, made), back]

    def _engine(
        self, kind: str, geometry: ConvolutionGeometry, bias: bool = False, relu: bool = False
    ) -> ConvolutionEngine:
        for size in geometry.sizes:
            check_kernel_size(size, "elements of a tensor that is convolved")
        if dnn.missing_cudnn():
            return LoweredEngine(self, geometry)
        precision = multiplied_precision(self.device.precision, geometry.sizes, geometry.flops)
        wanted = cudnn_problem(kind, geometry, self.dtype.name, precision, bias, relu)
        try:
            return CudnnEngine(self.device.dnn.plan(wanted), wanted.dtype == BFLOAT16, wanted.bias)
        except CudnnRefused:
            return LoweredEngine(self, geometry)

    def _framed(self, x: Array, shape: Shape, frame: Shape | None, narrow: bool) -> tuple[Tensor, Launchable | None]:
        """x as an engine reads it, and the launch that copies it; None if x can be read in place."""
        if frame is None and is_packed(x) and not narrow:
            return x, None
        framed = LaunchScratch(channels_last_shape(shape), HALF if narrow else self.dtype)
        args = framed, strided_view(three_axes_view(x)), *shape[2:], *(frame or (0, 0, 0))
        return framed, self.bound(SOURCE, "frame_narrow" if narrow else "frame", prod(shape), *args)

    def _target(self, y: Array, shape: Shape, narrow: bool, framed: bool = False) -> Tensor:
        """y, or the scratch that an engine writes instead of it."""
        return (
            LaunchScratch(channels_last_shape(shape), HALF if narrow else self.dtype)
            if framed or narrow or not is_packed(y)
            else y
        )

    def _placed(
        self, y: Array, made: Tensor | None, shape: Shape, frame: Shape | None, narrow: bool, b: Array | None = None,
        relu: bool = False,
    ) -> Launchable | None:  # fmt: skip
        """The launch of y = relu(made + b), where ``made`` is an engine's result, or None for 0."""
        extents = (0, 0, 0) if made is None else shape[2:]
        args = strided_view(three_axes_view(y)), made, *extents, *(frame or (0, 0, 0)), b, relu
        return self.bound(SOURCE, "unframe_narrow" if narrow else "unframe", y.size, *args)

    def _turned(self, w: Array, narrow: bool) -> tuple[Tensor, Launchable | None]:
        """w with the channels last, and the launch that copies it; None if w can be read in place."""
        if self._turns_not(w, narrow):
            return w, None
        made = self._turning(w, narrow)
        return made, self.bound(SOURCE, "turn_narrow" if narrow else "turn", w.size, made, w, *_turned_extents(w))

    def _turning(self, w: Array, narrow: bool) -> LaunchScratch:
        return LaunchScratch((w.shape[0], prod(w.shape[2:]), w.shape[1]), HALF if narrow else self.dtype)

    def _turns_not(self, w: Array, narrow: bool) -> bool:
        return is_packed(w) and not narrow


def _turned_extents(w: Array) -> tuple[int, int, int]:
    """(outer, rows, columns) of weights (filters, channels, *taps) in memory, each of whose matrices is transposed.

    Weights that have the channels last already are one row, which transposing leaves as it is.
    """
    filters, channels = w.shape[:2]
    return (filters, channels, w.size // (filters * channels)) if w.flags.c_contiguous else (1, 1, int(w.size))


def cudnn_problem(
    kind: str, geometry: ConvolutionGeometry, dtype: str, precision: str, bias: bool = False, relu: bool = False
) -> ConvolutionProblem:
    """The problem for cuDNN, which has convolutions along two or three axes, and no fused bias in bfloat16."""
    axes = max(2, geometry.axes)
    narrow = dtype == "float32" and precision == BFLOAT16
    x, w, y = (shape[: 2 + axes] for shape in (geometry.x, geometry.w, geometry.y))
    pad, stride, dilation = (side[:axes] for side in (geometry.pad, geometry.stride, geometry.dilation))
    cores = dtype == "float32" and precision != "float32"
    fused = bias and not narrow
    kept = BFLOAT16 if narrow else dtype
    return ConvolutionProblem(kind, x, w, y, pad, stride, dilation, kept, cores, fused, relu and fused)
