"""What a layer type answers: shape rule, parameters, partition rule, price, forward, backward."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from netpart.errors import ConfigError
from netpart.kernels.op import Op
from netpart.layers.part import Call, Cost, Needs
from netpart.proto.limits import AXES, ELEMENTS, EXTENT
from netpart.spec import Placement, Region, Shape, Spec

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels
    from netpart.proto.job_pb2 import LayerProto, ParamProto

INPUT = "INPUT"
"""The cut on the contraction space (input channels or features): shards hold addends of a sum."""


class MemoryOrder(Enum):
    """How a layer's tensors lie in memory where the kernels like channels last. A layer has one order, for inputs and
    outputs of its rank alike; the tensors of another rank lie as written."""

    PLAIN = "as written"
    FIRST = "as its first source lies, of those of its shape if there are any"
    CHANNELS_LAST = "batch, space, channels"


class MemoryReuse(Enum):
    """Whether an output may lie where the first input does, or the gradient of an input where that of the output does:
    not at all; over it, if nobody reads it again; or as the same, for nothing is computed."""

    NONE = "beside it"
    OVER = "over it"
    SAME = "the same"


@dataclass(frozen=True)
class RunningStatistic:
    """How a parameter follows the mini-batches: ``keep`` of it stays at each step, the rest is their moment about the
    parameter named ``mean``; without one it is itself that mean. ``elements`` of a row stand behind each moment."""

    keep: float
    elements: int
    mean: str = ""


@dataclass(frozen=True)
class ParamSpec:
    """One parameter of a layer, uncut. ``shape`` is the stored shape; axis meaning is the layer's.

    ``matrix`` is (rows, columns) of the 2-D matrix that initialisers take fan-in from (None: 1-D);
    ``saved`` is the shape written to a checkpoint (same elements, same order). A ``running`` one is not trained: what
    backward leaves as its gradient is a share of what it follows. The layer adds nothing to a ``read_only`` one. One
    that is ``channels_last`` lies as (axis 0, space, axis 1) where the kernels like that.
    """

    key: str
    shape: Shape
    proto: ParamProto = field(repr=False)
    matrix: tuple[int, int] | None = None
    saved: Shape = ()
    running: RunningStatistic | None = None
    read_only: bool = False
    channels_last: bool = False


@dataclass(frozen=True)
class LayerExpansion:
    """A layer as two layers: ``inner`` computes from the same sources what its parts have to know of each other, and
    ``outer``, which takes the layer's place, reads the sources and then that. ``share`` gives region and term of
    inner that fall to the worker of a box of the layer."""

    inner: Layer
    outer: Layer
    share: Callable[[Region], tuple[Region, Region | None]]


def _refuse_large_tensors(who: str, kind: str, tensors: Sequence[Spec | ParamSpec]) -> None:
    """Raises ConfigError for a tensor beyond the limits of the language."""
    for shape in (tensor.shape for tensor in tensors):
        if len(shape) > AXES or max(shape, default=0) > EXTENT or prod(shape) > ELEMENTS:
            got = f"{len(shape)} axes" if len(shape) > AXES else f"{'×'.join(map(str, shape))} = {prod(shape):,}"
            expected = f"an {kind} of at most {AXES} axes, of {EXTENT:,} elements on each and {ELEMENTS:,} in all"
            raise ConfigError(who, expected.replace("an p", "a p"), got, "make the layer, or what it reads, smaller")


class Layer(ABC):
    """A layer with its shapes known. Subclasses are final; a type is one file and one line in the laws."""

    types: ClassVar[tuple[str, ...]] = ()
    """LayerType names that this class implements."""
    confs: ClassVar[tuple[str, ...]] = ()
    """Fields of LayerProto that say how it computes, as a job writes them; a job that has another one is refused."""
    metrics: tuple[str, ...] = ()
    """Names of the sums that forward adds to ``Call.metrics`` (losses and outputs only)."""
    classes: int = 0
    """Labels that it reads are below that; 0 where it reads none."""
    is_loss: ClassVar[bool] = False
    is_input: ClassVar[bool] = False
    has_gradient: ClassVar[bool] = True
    """False for what hands no gradient to its sources although a loss reads it."""
    output_names: ClassVar[tuple[str, ...]] = ("data",)
    memory_order: ClassVar[MemoryOrder] = MemoryOrder.PLAIN
    fuses_activation: ClassVar[bool] = False
    """True if forward computes the ``Call.activation`` of its output as well."""
    fuses_back: ClassVar[bool] = False
    """True if backward goes ``Call.through_activation`` that as well."""
    adds_gradients: ClassVar[bool] = False
    """True if backward can add the gradients of its inputs to what is there, in the pass in which it makes them."""
    splits_backward: ClassVar[bool] = False
    """True if backward, called for the gradients of inputs alone and then for those of parameters, makes what it makes
    when it is called for both. It gets one ``Call`` twice, so it takes its arrays from that when it is called."""
    rereads: str = "xy"
    """What backward reads again: "x" its inputs, "y" its outputs; parameters and ``aux`` always."""
    reuse: tuple[MemoryReuse, MemoryReuse] = (MemoryReuse.NONE, MemoryReuse.NONE)
    """How forward and backward may reuse memory."""
    makes_rows: bool = False
    """True if its rows are not those of its sources, one by one: it needs a mini-batch whole, not in micro-batches."""
    inner_prefix: ClassVar[str] = ""
    """What the inner layer of an expansion is called, before the layer's own name."""

    def __init__(
        self, conf: LayerProto, inputs: tuple[Spec, ...], *, rows: int | None = None, folder: Path | None = None,
        training: bool = True,
    ) -> None:  # fmt: skip
        """Checks ``conf`` against the input specs; raises ConfigError naming the layer.

        ``rows`` overrides the batch size an input layer reads from its conf (micro-batches); relative
        data paths are looked up in ``folder`` (default: the working directory). ``training``: not a test net's.
        """
        self.conf = conf
        self.name = conf.name
        self.inputs = inputs
        self.rows_override = rows
        self.folder = folder or Path()
        self.training = training
        self.outputs: tuple[Spec, ...] = self.infer()
        _refuse_large_tensors(self.name, "output", self.outputs)
        self.params: tuple[ParamSpec, ...] = self.parameters()
        _refuse_large_tensors(self.name, "parameter", self.params)

    @property
    def output(self) -> Spec:
        return self.outputs[0]

    @abstractmethod
    def infer(self) -> tuple[Spec, ...]:
        """Specs of the outputs (shape rule)."""

    def parameters(self) -> tuple[ParamSpec, ...]:
        """Parameters, uncut."""
        return ()

    @classmethod
    def read_output(cls, k: int) -> str:
        """Which named output of source ``k`` this layer reads ("data", or "label" of an input layer)."""
        return "data"

    @classmethod
    def carries_labels(cls, conf: LayerProto) -> bool:
        """True if it also reads the labels of its sources, if all have some, behind these, and passes them on."""
        return False

    @property
    def rows(self) -> int:
        """Rows of what it reads, or of its output if it reads none; 0 of records."""
        shape = next((spec.shape for spec in (*self.inputs[:1], self.output) if spec.shape), (0,))
        return shape[0]

    def check_data(self, phase: int = 1) -> None:  # noqa: B027 - most layers read nothing
        """Opens what the layer will read in ``phase`` (1 training, 2 validation, 4 testing).

        Raises DataError or ConfigError where it cannot be used.
        """

    def check_labels(self, classes: int) -> None:  # noqa: B027 - most labels are known when they are read
        """Raises DataError for a label of this input, of those that are known before the first step, that is not below
        ``classes``."""

    def cuts(self) -> tuple[int | str, ...]:
        """Axes of the output (and INPUT) on which this layer may be cut."""
        return tuple(range(self.output.rank))

    def contraction(self) -> Shape | None:
        """Shape of the contraction space if the layer can be cut on INPUT."""
        return None

    def is_self_sufficient(self, placement: Placement) -> bool:
        """True if each part of ``placement`` can do its work from what it needs; else the layer is to be expanded."""
        return True

    def expansion(self, name: str) -> LayerExpansion:
        """The layer as two, the inner one called ``name``."""
        raise NotImplementedError(f"{type(self).__name__} has no expansion")

    @abstractmethod
    def needs(self, region: Region, term: Region | None = None) -> Needs:
        """Regions of inputs and parameters that produce ``region`` of the (first) output."""

    def outputs_of(self, region: Region) -> tuple[Region, ...]:
        """Region of every output, given the region of the first."""
        return (region,)

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        """Price of one part."""
        return Cost(0)

    def aux(self, kernels: type[Kernels], region: Region) -> tuple[tuple[Shape, Any], ...]:
        """(shape, dtype) of buffers that forward by ``kernels`` leaves for backward; FLOAT is the compute dtype."""
        return ()

    @abstractmethod
    def forward(self, kernels: Kernels, call: Call) -> Op:
        """The bound forward kernel of one part."""

    def backward(self, kernels: Kernels, call: Call) -> Op:
        """The bound backward kernel of one part: overwrites the wanted ``dx`` and ``dw``, or adds where it is to."""
        raise NotImplementedError(f"{type(self).__name__} has no gradient")

    def figures(self, sums: Sequence[float], rows: int) -> dict[str, float]:
        """What the sums of ``metrics`` over ``rows`` rows say: by default their means."""
        return {name: total / rows for name, total in zip(self.metrics, sums, strict=True)}

    def tables(self, sums: Sequence[float]) -> dict[str, list[list[int]]]:
        """What the sums of ``metrics`` say that takes a table: by default nothing."""
        return {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name} {' '.join(str(s.shape) for s in self.outputs)})"
