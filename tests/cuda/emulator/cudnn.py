"""What netpart uses of cuDNN's frontend, computed with NumPy: found instead of it by tests with this folder on the
path.

It refuses what no engine of the real one need have: padding as wide as the window.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from enum import Enum, auto
from itertools import product
from typing import Any

import numpy as np
from cupy import cuda, memory

__version__ = "1.28.0"
ENGINES = ["eng0", "eng1", "eng2"]
DECLINED = 1
"""The engine that cannot be built."""
ALIGNED = 16


class data_type(Enum):  # noqa: N801 - the frontend's names
    FLOAT = auto()
    DOUBLE = auto()
    BFLOAT16 = auto()


class heur_mode(Enum):  # noqa: N801
    A = auto()
    FALLBACK = auto()


class numerical_note(Enum):  # noqa: N801
    TENSOR_CORE = auto()
    DOWN_CONVERT_INPUTS = auto()
    NONDETERMINISTIC = auto()
    FFT = auto()
    WINOGRAD_TILE_4x4 = auto()
    WINOGRAD_TILE_6x6 = auto()
    WINOGRAD_TILE_13x13 = auto()


class cudnnGraphNotSupportedError(Exception):  # noqa: N801
    """No engine."""


class Handle:
    """What belongs to a stream."""

    stream = 0


def create_handle() -> Handle:
    return Handle()


def destroy_handle(handle: Handle) -> None:
    handle.stream = -1


def set_stream(handle: Handle, stream: int) -> None:
    handle.stream = stream


def backend_version() -> int:
    return 91900


class Tensor:
    """A tensor of a graph; how it is computed is a function of the values of others."""

    def __init__(
        self, dim: Any = None, stride: Any = None, data_type: Any = None, uid: int = 0, made: Any = None
    ) -> None:
        self.dim = dim
        self.stride = stride
        self.data_type = data_type
        self.uid = uid
        self.made = made

    def set_output(self, output: bool) -> Tensor:
        return self

    def set_data_type(self, data_type: Any) -> Tensor:
        self.data_type = data_type
        return self

    def set_dim(self, dim: list[int]) -> Tensor:
        self.dim = dim
        return self

    def set_stride(self, stride: list[int]) -> Tensor:
        self.stride = stride
        return self

    def set_uid(self, uid: int) -> Tensor:
        self.uid = uid
        return self

    def memory(self, address: int) -> Any:
        """The tensor at ``address``."""
        if address % ALIGNED:
            raise RuntimeError(f"cuDNN: a tensor at {address}, which is no multiple of {ALIGNED}")
        dtype = np.dtype({data_type.FLOAT: "f4", data_type.DOUBLE: "f8", data_type.BFLOAT16: "u2"}[self.data_type])
        size = 1 + sum((n - 1) * s for n, s in zip(self.dim, self.stride, strict=True))
        flat = np.frombuffer((ctypes.c_ubyte * (size * dtype.itemsize)).from_address(address), dtype)
        strides = [s * dtype.itemsize for s in self.stride]
        return np.lib.stride_tricks.as_strided(flat, self.dim, strides)

    def value(self, addresses: dict[int, int]) -> Any:
        """The tensor as float64."""
        if self.made is not None:
            return self.made(addresses)
        found = self.memory(addresses[self.uid])
        memory.reads(found)
        if self.data_type == data_type.BFLOAT16:
            found = (found.astype("u4") << 16).view("f4")
        return found.astype("f8")

    def write(self, addresses: dict[int, int]) -> None:
        """Computes the tensor."""
        to, value = self.memory(addresses[self.uid]), self.made(addresses)
        memory.writes(to)
        if self.data_type == data_type.BFLOAT16:
            bits = value.astype("f4").view("u4")
            value = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
        to[...] = value


class pygraph:  # noqa: N801
    """One convolution and what follows it."""

    def __init__(
        self, *, io_data_type: Any, intermediate_data_type: Any, compute_data_type: Any, handle: Handle
    ) -> None:
        self.io, self.handle = io_data_type, handle
        self.result = Tensor()
        self.built: set[int] = set()
        self.refused = ""

    def tensor(self, *, name: str, dim: Any, stride: Any, data_type: Any, uid: int) -> Tensor:
        return Tensor(dim, stride, data_type, uid)

    def conv_fprop(self, *, image: Tensor, weight: Tensor, **window: Any) -> Tensor:
        self._check(weight, window)

        def made(addresses: dict[int, int]) -> Any:
            x, w = padded(image.value(addresses), window), grouped(weight.value(addresses), image.dim[1])
            out = extents(x, weight, window)
            y = np.zeros((len(x), w.shape[0], w.shape[1], *out))
            for tap, box in boxes(weight, out, window):
                y += np.einsum("bgc...,gkc->bgk...", channels(x[box], w.shape[0]), w[(..., *tap)])
            return y.reshape(len(x), -1, *out)

        self.result = Tensor(data_type=self.io, made=made)
        return self.result

    def conv_dgrad(self, *, loss: Tensor, filter: Tensor, **window: Any) -> Tensor:
        self._check(filter, window)
        found = self.result = Tensor(data_type=self.io)

        def made(addresses: dict[int, int]) -> Any:
            w, dy = grouped(filter.value(addresses), found.dim[1]), channels(loss.value(addresses), 0, filter, found)
            dx = padded(np.zeros(found.dim), window)
            for tap, box in boxes(filter, loss.dim[2:], window):
                dx[box] += np.einsum("bgk...,gkc->bgc...", dy, w[(..., *tap)]).reshape(dx[box].shape)
            inner = (slice(lo, lo + n) for lo, n in zip(window["pre_padding"], found.dim[2:], strict=True))
            return dx[(..., *inner)]

        found.made = made
        return found

    def conv_wgrad(self, *, image: Tensor, loss: Tensor, **window: Any) -> Tensor:
        found = self.result = Tensor(data_type=self.io)

        def made(addresses: dict[int, int]) -> Any:
            x, dy = padded(image.value(addresses), window), channels(loss.value(addresses), 0, found, image)
            dw = np.zeros((dy.shape[1], dy.shape[2], *found.dim[1:]))
            for tap, box in boxes(found, loss.dim[2:], window):
                seen = channels(x[box], dy.shape[1])
                b = len(x)
                g = dy.shape[1]
                space = -1
                dw[(..., *tap)] = np.einsum(
                    "bgks,bgcs->gkc", dy.reshape(b, g, dy.shape[2], space), seen.reshape(b, g, seen.shape[2], space)
                )
            return dw.reshape(found.dim)

        found.made = made
        return found

    def bias(self, *, input: Tensor, bias: Tensor) -> Tensor:
        self.result = Tensor(data_type=self.io, made=lambda at: input.made(at) + bias.value(at))
        return self.result

    def relu(self, *, input: Tensor) -> Tensor:
        self.result = Tensor(data_type=self.io, made=lambda at: np.maximum(input.made(at), 0))
        return self.result

    def _check(self, w: Tensor, window: Any) -> None:
        pads = zip(window["pre_padding"], window["post_padding"], w.dim[2:], strict=True)
        if any(max(low, high) >= k for low, high, k in pads):
            self.refused = "no engine pads as much"

    def validate(self) -> None:
        pass

    def build_operation_graph(self) -> None:
        pass

    def create_execution_plans(self, modes: list[heur_mode]) -> None:
        if self.refused:
            raise cudnnGraphNotSupportedError(self.refused)

    def deselect_numeric_notes(self, notes: list[numerical_note]) -> None:
        pass

    def deselect_workspace_greater_than(self, size: int) -> None:
        pass

    def check_support(self) -> None:
        pass

    def get_execution_plan_count(self) -> int:
        return len(ENGINES)

    def get_plan_name_at_index(self, index: int) -> str:
        return ENGINES[index]

    def build_plan_at_index(self, index: int) -> None:
        if index == DECLINED:
            raise cudnnGraphNotSupportedError(ENGINES[index])
        self.built.add(index)

    def get_workspace_size_plan_at_index(self, index: int) -> int:
        return 512 * index

    def execute_plan_at_index(
        self, addresses: dict[int, int], workspace: int, index: int = 0, handle: Handle | None = None
    ) -> None:
        """Enqueues the computation."""
        assert handle is not None
        assert index in self.built
        assert workspace % 256 == 0
        cuda.runtime.STREAMS[handle.stream].enqueue(lambda: self.result.write(addresses))


def padded(x: Any, window: Any) -> Any:
    return np.pad(x, [(0, 0), (0, 0), *zip(window["pre_padding"], window["post_padding"], strict=True)])


def grouped(w: Any, inputs: int) -> Any:
    """(groups, filters of a group, ...)."""
    groups = inputs // w.shape[1]
    return w.reshape(groups, len(w) // groups, *w.shape[1:])


def channels(a: Any, groups: int, w: Tensor | None = None, x: Tensor | None = None) -> Any:
    """(batch, groups, channels of a group, ...); groups are those that ``w`` makes of the channels of ``x``."""
    groups = groups if w is None or x is None else x.dim[1] // w.dim[1]
    return a.reshape(len(a), groups, a.shape[1] // groups, *a.shape[2:])


def extents(x: Any, w: Tensor, window: Any) -> tuple[int, ...]:
    sides = zip(x.shape[2:], w.dim[2:], window["stride"], window["dilation"], strict=True)
    return tuple((n - (k - 1) * d - 1) // s + 1 for n, k, s, d in sides)


def boxes(w: Tensor, out: Any, window: Any) -> Iterator[tuple[Any, Any]]:
    """Each element of the kernel, and what it meets of the padded input."""
    for tap in product(*map(range, w.dim[2:])):
        sides = zip(tap, window["dilation"], out, window["stride"], strict=True)
        yield tap, (..., *(slice(i * d, i * d + (n - 1) * s + 1, s) for i, d, n, s in sides))
