"""Needs, Cost and Call: what one part of a layer reads, what it costs, and the arrays that it computes with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from netpart.kernels.op import Array, Clock
from netpart.spec import Region

if TYPE_CHECKING:
    from netpart.kernels.activation import Kind


@dataclass(frozen=True)
class Needs:
    """What one output region needs: per input and per parameter a region, or None for nothing."""

    inputs: tuple[Region | None, ...]
    params: tuple[Region | None, ...] = ()


@dataclass(frozen=True)
class Cost:
    """Floating-point operations of one part, as the counting kernels count them.

    ``inputs`` has the operations of the gradient of each input, ``params`` those of the gradients of all parameters
    together: a step computes only the gradients that some layer or updater reads. ``products`` is the number of
    multiply-adds in the matrix products and convolutions of forward, by which papers state the size of a net. It does
    not count biases, activations and the like.
    """

    forward: int
    inputs: tuple[int, ...] = ()
    params: int = 0
    products: int = 0

    @property
    def backward(self) -> int:
        """All gradients together."""
        return sum(self.inputs) + self.params


@dataclass
class Call:
    """Everything that one part of a layer computes with. Arrays are preallocated and keep their identity.

    x, w, y: inputs, parameters and outputs, each of the region that ``needs`` or ``outputs_of`` returned. An input
    without a needed region is a zero-extent array or None.
    dx, dw: the buffers of the gradients (None: not wanted). Backward *overwrites* them, except each ``dx`` that
    ``adds`` marks: there it adds. dy: gradients of the outputs (None: integer output). aux: buffers of ``Layer.aux``.
    ``activation`` is applied to y in place, by layers with ``fuses_activation``. ``through_activation``: dy is the
    gradient of the activated y, so that backward differentiates the activation first.
    ``addend`` (of layers with an ``output_verb``; None: nothing): forward adds y to it and need not write y.
    ``turns`` (of an attention): the angles by which it has to rotate its queries and keys; None: it has not.
    ``owned`` is a mask of the elements of ``region`` whose loss this part differentiates; it also reports those that
    are the first of their row. None means all. ``rows`` is the number of rows of the global mini-batch, ``first_row``
    the global row of row 0 of the micro-batch. Regions count from row 0 of the micro-batch.
    """

    region: Region
    needs: Needs
    term: Region | None
    x: list[Array]
    w: list[Array]
    y: list[Array]
    dx: list[Array] = field(default_factory=list)
    dw: list[Array] = field(default_factory=list)
    adds: tuple[bool, ...] = ()
    dy: list[Array] = field(default_factory=list)
    aux: list[Array] = field(default_factory=list)
    metrics: Array = None
    activation: Kind | None = None
    through_activation: Kind | None = None
    addend: Array = None
    turns: tuple[Array, Array] = (None, None)
    owned: Array = None
    rows: int = 0
    first_row: int = 0
    phase: int = 1
    seed: int = 0
    clock: Clock = field(default_factory=Clock)
