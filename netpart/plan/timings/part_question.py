"""Part questions: which kernel call is to be timed, and the text by which its seconds are kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from hashlib import blake2b
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from netpart.kernels.bfloat16 import ELEMENT, rounded
from netpart.kernels.op import Array
from netpart.layers.layer import Layer
from netpart.spec import FLOAT, INT, Region, Shape, extent, size

if TYPE_CHECKING:
    from netpart.layers.part import Cost, Needs

ROWS_FLOPS = 1 << 30
"""FLOPs of a call of which fewer rows are timed: seconds of such a call are proportional to its rows."""
ROWS_BYTES = 1 << 27
"""Bytes of such a call: far more than caches hold."""


@dataclass(frozen=True)
class PartQuestion:
    """One part of a layer, as it is computed in training.

    ``order`` is the memory order of its tensors, () for row-major. ``wanted`` has, by input, True if its gradient is
    computed; ``trains`` is True if those of the parameters are. ``narrow``: its output is stored in bfloat16.
    """

    layer: Layer
    region: Region
    term: Region | None = None
    order: tuple[int, ...] = ()
    wanted: tuple[bool, ...] = ()
    trains: bool = False
    narrow: bool = False

    @cached_property
    def needs(self) -> Needs:
        """The regions of the inputs and parameters."""
        return self.layer.needs(self.region, self.term)

    @cached_property
    def cost(self) -> Cost:
        """The FLOPs of the part."""
        return self.layer.cost(self.region, self.term)

    @cached_property
    def nbytes(self) -> int:
        """Bytes of the inputs, parameters and outputs, of 4 bytes an element."""
        boxes = [*self.needs.inputs, *self.needs.params, *self.layer.outputs_of(self.region)]
        return 4 * sum(size(box) for box in boxes if box is not None)

    @cached_property
    def kind(self) -> str:
        """The type of the layer: parts of one kind are compared with each other. All inputs are one kind."""
        return "Input" if self.layer.is_input else type(self.layer).__name__

    @cached_property
    def text(self) -> str:
        """All that determines the seconds of its kernels. Not the place of the region in the tensor, nor names."""
        shapes = (_shape_text(box) for box in (*self.layer.outputs_of(self.region), *self.needs.inputs))
        params = " ".join(_shape_text(box) for box in self.needs.params)
        how = f"{_bit_text(self.wanted)}{'w' * self.trains}{'.' if self.order else ''}{'n' * self.narrow}"
        return f"{self.kind} {_conf_digest(self.layer)} {' '.join(shapes)} | {params} {how}"

    def with_fewer_rows(self) -> PartQuestion:
        """The same part with as many rows as take about ROWS_FLOPS and ROWS_BYTES; itself if it takes no more."""
        times = max(max(self.cost.forward, self.cost.backward) / ROWS_FLOPS, self.nbytes / ROWS_BYTES)
        if times <= 2 or not self.region or self.layer.makes_rows:
            return self
        (lo, hi), *rest = self.region
        rows = max(1, int((hi - lo) / times))
        return replace(self, region=((lo, lo + rows), *rest))

    @property
    def can_be_called(self) -> bool:
        """True if all that it reads and makes are numbers that can be drawn: no records."""
        return all(_is_number(spec.dtype) for spec in (*self.layer.inputs, *self.layer.outputs))


def _is_number(dtype: str) -> bool:
    """True for the kinds of elements that can be drawn."""
    return dtype in (FLOAT, INT)


def _shape_text(box: Region | None) -> str:
    """The extent of a region as text."""
    shape: Shape = () if box is None else extent(box)
    return "-" if box is None else "x".join(map(str, shape)) or "1"


def _bit_text(bits: tuple[bool, ...]) -> str:
    """A digit for each truth value."""
    return "".join("1" if bit else "0" for bit in bits)


_DIGESTS: dict[int, tuple[Layer, str]] = {}
"""By the id of a layer, which is kept so that no other one gets its id."""


def _conf_digest(layer: Layer) -> str:
    """A short text for what configures the layer; its name, its sources and its cut do not."""
    found = _DIGESTS.get(id(layer))
    if found is None and layer.is_input:
        return "-"
    if found is None:
        read = type(layer).confs
        # Extensions are those of the type: others are refused when the job is read.
        named = (
            str(value).encode() for field, value in layer.conf.ListFields() if field.is_extension or field.name in read
        )
        shapes = repr([spec.shape[1:] for spec in layer.inputs]).encode() if layer.is_loss else b""
        found = layer, blake2b(b"|".join([*named, shapes]), digest_size=6).hexdigest()
        _DIGESTS[id(layer)] = found
    return found[1]


def ordered_numbers(shape: Shape, dtype: np.dtype[Any], order: tuple[int, ...], below: int = 2) -> Array:
    """Drawn numbers of a ``shape`` whose axes are in memory in ``order``; () for row-major."""
    found = empty_ordered(shape, dtype, order)
    found[...] = drawn_numbers(shape, dtype, below)
    return found


def empty_ordered(shape: Shape, dtype: np.dtype[Any], order: tuple[int, ...]) -> Array:
    """An array of a ``shape`` whose axes are in memory in ``order``, without contents."""
    order = order or tuple(range(len(shape)))
    found = np.empty(tuple(shape[axis] for axis in order), dtype)
    return found.transpose([order.index(axis) for axis in range(len(order))])


def drawn_numbers(shape: Shape, dtype: np.dtype[Any], below: int = 0) -> Array:
    """Numbers between 0 and 1, or whole ones ``below`` a bound: a random sequence again and again."""
    few = _random_numbers()[: prod(shape)]
    if dtype == ELEMENT:
        return np.resize(rounded(few.astype(np.float32)), shape)
    few = few * below if dtype.kind in "iu" else few
    return np.resize(few.astype(dtype), shape)


@cache
def _random_numbers() -> Array:
    """So many random numbers that a processor cannot learn which branches a kernel takes for them: a maximum of numbers
    that it has learnt takes half the time."""
    return np.random.default_rng(1).random(1 << 20)
