"""What one part of a layer needs, what it costs, and what it computes with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from netpart.kernels.op import Array, Clock
from netpart.spec import Region

if TYPE_CHECKING:
    from netpart.kernels.activation import Kind


@dataclass(frozen=True)
class Needs:
    """What one output region needs: a region (or None: nothing) per input and per parameter."""

    inputs: tuple[Region | None, ...]
    params: tuple[Region | None, ...] = ()


@dataclass(frozen=True)
class Cost:
    """Floating-point operations of one part, as the counting kernels count them.

    ``inputs`` are those of the gradient of each input, ``params`` those of the gradients of all parameters: a step
    computes only the gradients that somebody wants. ``products`` are the multiply-adds of forward's matrix products
    and convolutions, what papers call the size of a net: of biases, activations and the like they count nothing.
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
    """Everything one part of a layer computes with. Arrays are preallocated and never change identity.

    x, w, y: inputs, parameters, outputs as the regions ``needs`` / ``outputs_of`` named (an input that
    needs nothing is a zero-extent array or None). dx, dw: where backward *overwrites* its gradients
    (None: not wanted), but for those of ``dx`` to which it ``adds`` them; dy: gradients of the outputs (None: integer
    output). aux: buffers of ``Layer.aux``.
    ``activation`` is computed on y in its place (by layers that say so); ``through_activation``: dy is the gradient of
    what that activation has made of y.
    ``owned`` is a mask of the elements of region whose loss this part differentiates, and reports if they
    are the first of their row; None means all. ``rows`` is the global mini-batch, ``first_row`` the global row of
    the micro-batch's row 0; regions count from the micro-batch's row 0.
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
    owned: Array = None
    rows: int = 0
    first_row: int = 0
    phase: int = 1
    seed: int = 0
    clock: Clock = field(default_factory=Clock)
