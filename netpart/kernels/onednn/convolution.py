"""Convolution on channels-last tensors; every run copies the weights to the order that the primitive chose."""

from __future__ import annotations

from functools import partial

import numpy as np

from netpart.kernels import convolution as reference
from netpart.kernels.activation import Kind
from netpart.kernels.onednn import strips
from netpart.kernels.onednn.activation import append_activation
from netpart.kernels.onednn.activation_calls import add_post_ops
from netpart.kernels.onednn.calls import Args, Calls, OneDnnVerbs
from netpart.kernels.onednn.convolution_descs import ConvolutionDescs
from netpart.kernels.onednn.lowered import LoweredCalls, is_gradient_lowered, lowering_pays
from netpart.kernels.onednn.memory import DnnlMemory, MemoryDesc
from netpart.kernels.onednn.names import Arg
from netpart.kernels.onednn.portions import MOST, add_channel_sums, count_places
from netpart.kernels.onednn.primitive import Attributes
from netpart.kernels.onednn.winograd import WinogradCalls, winograd_pays
from netpart.kernels.op import Array, Op, Window


class Convolution(reference.Convolution, OneDnnVerbs):
    """The verbs of the reference. Tensors that are not channels-last are copied."""

    def convolution(
        self, x: Array, w: Array, b: Array | None, y: Array, window: Window, groups: int = 1,
        activation: Kind | None = None,
    ) -> Op:  # fmt: skip
        """y = activation(w * x + b)."""

        def describe_tiles(calls: Calls) -> None:
            WinogradCalls(calls, x, w, y, window).forward(b, append_activation(Attributes(), activation))

        args = x, w, b, y, window, groups, activation
        if _tiles_pay(x, w, y, window, groups):
            return self.attempt_faster(describe_tiles, self._convolution_directly, *args)
        return self._convolution_directly(*args)

    def _convolution_directly(
        self, x: Array, w: Array, b: Array | None, y: Array, window: Window, groups: int, activation: Kind | None
    ) -> Op:  # fmt: skip
        def describe(calls: Calls) -> None:
            if lowering_pays(w, y, window, groups):
                return LoweredCalls(calls, x, w, y, window).forward(w, b, y, activation)
            problem = ConvolutionDescs(x, w, b, y, window, groups)
            desc = problem.forward(append_activation(Attributes(), activation))
            args: Args = {
                Arg.SRC: calls.ordered(DnnlMemory.of(x), desc.arg(Arg.SRC)),
                Arg.WEIGHTS: calls.ordered(problem.weights(w), desc.arg(Arg.WEIGHTS)),
                Arg.BIAS: None if b is None else DnnlMemory.of(b),
            }
            calls.write(desc, args, Arg.DST, DnnlMemory.of(y))

        return self.attempt(describe, super().convolution, x, w, b, y, window, groups, activation)

    def convolution_data(self, dy: Array, w: Array, dx: Array, window: Window, groups: int = 1) -> Op:
        """Overwrite dx with the gradient of x."""

        def describe_tiles(calls: Calls) -> None:
            WinogradCalls(calls, dx, w, dy, window).data()

        args = dy, w, dx, window, groups
        if _tiles_pay(dx, w, dy, window, groups):
            return self.attempt_faster(describe_tiles, self._data_directly, *args)
        return self._data_directly(*args)

    def _data_directly(self, dy: Array, w: Array, dx: Array, window: Window, groups: int) -> Op:
        def describe(calls: Calls) -> None:
            if is_gradient_lowered(dx, w, dy, window, groups):
                return LoweredCalls(calls, dx, w, dy, window).data(w, dy)
            problem = ConvolutionDescs(dx, w, None, dy, window, groups)
            desc = problem.data()
            args: Args = {
                Arg.DIFF_DST: calls.ordered(DnnlMemory.of(dy), desc.arg(Arg.DIFF_DST)),
                Arg.WEIGHTS: calls.ordered(problem.weights(w), desc.arg(Arg.WEIGHTS)),
            }
            calls.write(desc, args, Arg.DIFF_SRC, DnnlMemory.of(dx))

        return self.attempt(describe, super().convolution_data, dy, w, dx, window, groups)

    def convolution_weights(
        self, x: Array, dy: Array, dw: Array, db: Array | None, window: Window, groups: int = 1
    ) -> Op:
        """Overwrite dw and db with the gradients of the weights and the bias."""

        def describe_tiles(calls: Calls) -> None:
            WinogradCalls(calls, x, dw, dy, window).weights()
            if db is not None:
                _add_bias_gradient(calls, dy, db)

        args = x, dy, dw, db, window, groups
        if _tiles_pay(x, dw, dy, window, groups):
            return self.attempt_faster(describe_tiles, self._weights_directly, *args)
        return self._weights_directly(*args)

    def _weights_directly(
        self, x: Array, dy: Array, dw: Array, db: Array | None, window: Window, groups: int
    ) -> Op:  # fmt: skip
        def describe(calls: Calls) -> None:
            if is_gradient_lowered(x, dw, dy, window, groups):
                return LoweredCalls(calls, x, dw, dy, window).weights(dy, dw, db)
            found = strips.cut_strips(x, dy, dw, window) if groups == 1 and x.size and dy.size else []
            # oneDNN would add up db in float32 over all places, or once per strip.
            apart = db is not None and (len(found) > 1 or count_places(dy.shape) > MOST)
            if len(found) > 1:
                _add_strip_gradients(calls, found, dw)
            else:
                _add_weight_gradient(calls, x, dy, dw, None if apart else db, window, groups)
            if db is not None and apart:
                _add_bias_gradient(calls, dy, db)

        return self.attempt(describe, super().convolution_weights, x, dy, dw, db, window, groups)


def _tiles_pay(x: Array, w: Array, y: Array, window: Window, groups: int) -> bool:
    """True if tiles take less than the products of a convolution as it is written, and than a lowered one."""
    return winograd_pays(x, w, y, window, groups) and not lowering_pays(w, y, window, groups)


def _add_bias_gradient(calls: Calls, dy: Array, db: Array) -> None:
    above = MemoryDesc.last(dy.shape, dy.dtype.name)
    add_channel_sums(calls, calls.ordered(DnnlMemory.of(dy), above), dy.shape, db, dy.dtype.name)


def _add_weight_gradient(
    calls: Calls, x: Array, dy: Array, dw: Array, db: Array | None, window: Window, groups: int
) -> None:
    """Append dw and, unless it is None, db."""
    problem = ConvolutionDescs(x, dw, db, dy, window, groups)
    desc = problem.gradient()
    args: Args = {
        Arg.SRC: calls.ordered(DnnlMemory.of(x), desc.arg(Arg.SRC)),
        Arg.DIFF_DST: calls.ordered(DnnlMemory.of(dy), desc.arg(Arg.DIFF_DST)),
        Arg.DIFF_BIAS: None if db is None else DnnlMemory.of(db),
    }
    calls.write(desc, args, Arg.DIFF_WEIGHTS, problem.weights(dw))


def _add_strip_gradients(calls: Calls, found: list[strips.Strip], dw: Array) -> None:
    """Append dw, the sum over all strips, added up in the memory order that the first primitive chose."""
    groups = strips.group_strips(found)
    problems = [ConvolutionDescs(seen, dw, None, made, window, 1) for (seen, made, window), *_ in groups]
    total = calls.temporary(problems[0].gradient().arg(Arg.DIFF_WEIGHTS))
    calls.then(lambda: total.array.fill(0))
    for problem, group in zip(problems, groups, strict=True):
        x, dy = (DnnlMemory(MemoryDesc.of(array)) for array in group[0][:2])
        calls.each((x, dy), [strip[:2] for strip in group], partial(_add_one_strip, calls, problem, x, dy, total))
    calls.reorder(total, problems[0].weights(dw))


def _add_one_strip(calls: Calls, problem: ConvolutionDescs, x: DnnlMemory, dy: DnnlMemory, total: DnnlMemory) -> None:
    """Append total += the gradient of one strip."""
    desc = problem.gradient()
    part = calls.temporary(desc.arg(Arg.DIFF_WEIGHTS))
    source, above = (
        _copy_into_cache(calls, memory, desc.arg(arg)) for memory, arg in ((x, Arg.SRC), (dy, Arg.DIFF_DST))
    )
    calls.add(desc, {Arg.SRC: source, Arg.DIFF_DST: above, Arg.DIFF_WEIGHTS: part})
    calls.then(partial(_accumulate_strip, total, calls.ordered(part, total.desc)))


def _accumulate_strip(total: DnnlMemory, part: DnnlMemory) -> None:
    """total += part, including the padding of blocked orders, which is 0."""
    sums = total.array.view("float32")
    np.add(sums, part.array.view("float32"), out=sums)


def _copy_into_cache(calls: Calls, memory: DnnlMemory, desc: MemoryDesc) -> DnnlMemory:
    """A copy in the order of ``desc``, even if ``memory`` has it: making the copy reads memory in order."""
    if memory.desc != desc:
        return calls.ordered(memory, desc)
    made = calls.temporary(desc)
    add_post_ops(calls, memory, made, Attributes())
    return made
