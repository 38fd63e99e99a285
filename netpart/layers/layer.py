"""Layer, the base class of layer types: shape rule, parameters, partition rule, price, forward, backward."""

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
    from netpart.proto.job_pb2 import DataCacheProto, LayerProto, ParamProto

INPUT = "INPUT"
"""The cut on the contraction space (input channels or features): each shard computes an addend of the output."""


class MemoryOrder(Enum):
    """The order in memory of a layer's tensors, for kernels that prefer channels last.

    A layer has one order for its inputs and outputs of the rank of its output. Tensors of another rank are row-major.
    """

    PLAIN = "row-major"
    FIRST = "the order of its first source; sources of its own shape come first"
    CHANNELS_LAST = "batch, space, channels"


class MemoryReuse(Enum):
    """Whether an output may use the memory of the first input, and the gradient of that input the memory of dy.

    NONE: never. OVER: it may overwrite it, if nothing else reads it later. SAME: it is the same memory, as the layer
    computes nothing.
    """

    NONE = "separate memory"
    OVER = "overwritten memory"
    SAME = "the same memory"


@dataclass(frozen=True)
class RunningStatistic:
    """The rule by which a parameter becomes the running mean or variance of the mini-batches.

    Each step keeps the share ``keep`` of it; the rest comes from the mini-batch. ``mean`` names the parameter about
    which the moment is taken, for a variance; it is "" for the mean itself. ``elements`` is the number of elements of
    one row that each moment is computed from.
    """

    keep: float
    elements: int
    mean: str = ""


@dataclass(frozen=True)
class ParamSpec:
    """One parameter of a layer, uncut. ``shape`` is its shape; the layer defines what each axis means.

    ``matrix`` is (rows, columns) of the 2-D matrix that initialisers take fan-in from (None: 1-D). ``saved`` is the
    shape written to a checkpoint (same elements, same order). A parameter with ``running`` is not trained: backward
    writes, as its gradient, an addend of the statistic that it follows. A ``read_only`` one gets no gradient. One with
    ``channels_last`` is stored as (axis 0, space, axis 1) if the kernels prefer that. A ``factor`` of products is
    rounded, once per step, for products of tensors in bfloat16.
    """

    key: str
    shape: Shape
    proto: ParamProto = field(repr=False)
    matrix: tuple[int, int] | None = None
    saved: Shape = ()
    running: RunningStatistic | None = None
    read_only: bool = False
    channels_last: bool = False
    factor: bool = False


@dataclass(frozen=True)
class LayerExpansion:
    """A layer replaced by two layers, for a cut whose parts need results of each other.

    ``inner`` computes these results from the same ``sources``, by index; (): from as many of the first as it has
    inputs. ``outer`` takes the place of the layer; it reads the sources and then the output of ``inner``. It may have
    an expansion of its own. ``share`` maps a box of the layer to the (region, term) of ``inner`` that the worker of
    this box computes.
    """

    inner: Layer
    outer: Layer
    share: Callable[[Region], tuple[Region, Region | None]]
    sources: tuple[int, ...] = ()


def _refuse_large_tensors(who: str, kind: str, tensors: Sequence[Spec | ParamSpec]) -> None:
    """Raise ConfigError for a tensor that exceeds the limits of the language (``netpart.proto.limits``)."""
    for shape in (tensor.shape for tensor in tensors):
        if len(shape) > AXES or max(shape, default=0) > EXTENT or prod(shape) > ELEMENTS:
            got = f"{len(shape)} axes" if len(shape) > AXES else f"{'×'.join(map(str, shape))} = {prod(shape):,}"
            expected = f"an {kind} of at most {AXES} axes, of {EXTENT:,} elements on each and {ELEMENTS:,} in all"
            raise ConfigError(who, expected.replace("an p", "a p"), got, "make the layer, or what it reads, smaller")


def _default_data_cache() -> DataCacheProto:
    from netpart.proto.job_pb2 import DataCacheProto

    return DataCacheProto()


class Layer(ABC):
    """A layer whose shapes are known. A layer type is a final subclass, in a file of its own, with a line in the tests
    of the laws (``netpart.testing``)."""

    types: ClassVar[tuple[str, ...]] = ()
    """LayerType names that this class implements."""
    confs: ClassVar[tuple[str, ...]] = ()
    """Fields of LayerProto that configure the type, as a job writes them. Another conf in a job is an error."""
    metrics: tuple[str, ...] = ()
    """Names of the sums that forward adds to ``Call.metrics`` (losses and outputs only)."""
    classes: int = 0
    """The labels or tokens that it reads must be below this number; 0 if it reads none."""
    ignored_label: int | None = None
    """A label outside ``classes`` or among them that does not count; None: every label counts."""
    read_classes: tuple[tuple[int, int | None], ...] = ()
    """Of an input: the ``classes`` and the ``ignored_label`` of each layer that reads its labels."""
    exact: ClassVar[bool] = False
    """True if its output, a statistic, is always stored in the compute dtype, as are losses and metrics."""
    narrow_verbs: ClassVar[tuple[str, ...]] = ()
    """The verbs that read and write its tensors, if these may be bfloat16 where ``Kernels.narrow`` has all of them."""
    exact_inputs: ClassVar[tuple[int, ...]] = ()
    """The inputs that these verbs take in the compute dtype: masks, statistics."""
    is_loss: ClassVar[bool] = False
    is_input: ClassVar[bool] = False
    has_gradient: ClassVar[bool] = True
    """False for a layer that passes no gradient to its sources although a loss reads its output."""
    output_names: tuple[str, ...] = ("data",)
    memory_order: ClassVar[MemoryOrder] = MemoryOrder.PLAIN
    fuses_activation: ClassVar[bool] = False
    """True if forward also applies ``Call.activation`` to its output."""
    fuses_back: ClassVar[bool] = False
    """True if backward also differentiates ``Call.through_activation``, the activation of its output."""
    adds_gradients: ClassVar[bool] = False
    """True if backward can add the gradients of its inputs to the buffers' contents while it computes them."""
    output_verb: ClassVar[str] = ""
    """The verb, if any, that makes the output, and that forward lets add to ``Call.addend`` where ``Kernels.adds`` has
    it."""
    gradient_verb: ClassVar[str] = ""
    """The verb, if any, that makes the gradient of the input, and that backward lets add where ``Kernels.adds`` has it
    and ``Call.adds`` says so."""
    splits_backward: ClassVar[bool] = False
    """True if two calls of backward, first for the gradients of the inputs and then for those of the parameters, give
    the same as one call for both. Both calls get the same ``Call``, changed in between, so backward must take its
    arrays from it when it is called."""
    rereads: str = "xy"
    """The tensors that backward reads: "x" its inputs, "y" its outputs. It may always read parameters and ``aux``."""
    reuse: tuple[MemoryReuse, MemoryReuse] = (MemoryReuse.NONE, MemoryReuse.NONE)
    """How forward and backward, in this order, may reuse memory."""
    moved_axes: tuple[int, ...] = ()
    """For a layer that only moves axes, the axis of its input that each axis of its output is; else ()."""
    makes_rows: bool = False
    """True if row i of its output does not belong to row i of its sources. It then needs the whole mini-batch: a net
    with this layer cannot be divided into micro-batches."""
    inner_prefix: str = ""
    """The start of the name of the inner layer of an expansion; the layer's own name follows."""

    def __init__(
        self, conf: LayerProto, inputs: tuple[Spec, ...], *, rows: int | None = None, folder: Path | None = None,
        training: bool = True, data_cache: DataCacheProto | None = None,
    ) -> None:  # fmt: skip
        """Check ``conf`` against the input specs; raise ConfigError naming the layer.

        ``rows`` overrides the batch size that an input layer reads from its conf (micro-batches). Relative data paths
        are looked up in ``folder`` (default: the working directory). ``training`` is False for a layer of a test net.
        ``data_cache`` is that of the job: how data at URLs is read.
        """
        self.conf = conf
        self.name = conf.name
        self.inputs = inputs
        self.rows_override = rows
        self.folder = folder or Path()
        self.training = training
        self.data_cache = data_cache or _default_data_cache()
        # In this order: ``parameters`` of a type may use ``outputs`` and the attributes that its ``infer`` sets.
        self.outputs: tuple[Spec, ...] = self.infer()
        _refuse_large_tensors(self.name, "output", self.outputs)
        self.params: tuple[ParamSpec, ...] = self.parameters()
        _refuse_large_tensors(self.name, "parameter", self.params)

    @property
    def output(self) -> Spec:
        return self.outputs[0]

    @abstractmethod
    def infer(self) -> tuple[Spec, ...]:
        """Return the specs of the outputs (shape rule); raise ConfigError if conf and inputs do not fit."""

    def parameters(self) -> tuple[ParamSpec, ...]:
        """The parameters of the layer, uncut; called after ``infer``."""
        return ()

    @classmethod
    def read_output(cls, k: int) -> str:
        """The name of the output of source ``k`` that this layer reads: "data", or "label" or "target" of an input
        layer. A source without an output of that name gives its data."""
        return "data"

    @classmethod
    def carries_labels(cls, conf: LayerProto) -> bool:
        """True if the layer passes on labels. If all its sources have labels, these follow the sources as inputs."""
        return False

    @property
    def rows(self) -> int:
        """Rows of the first input or, if no input has a shape, of the output; 0 for opaque records."""
        shape = next((spec.shape for spec in (*self.inputs[:1], self.output) if spec.shape), (0,))
        return shape[0]

    def check_data(self, phase: int = 1) -> None:  # noqa: B027 - most layers read nothing
        """Open the data that the layer will read in ``phase`` (1 training, 2 validation, 4 testing).

        Raises DataError or ConfigError if the data cannot be used.
        """

    def check_labels(  # noqa: B027 - most labels are known when they are read
        self, classes: int, ignored: int | None = None
    ) -> None:
        """Raise DataError for a label of this input that is neither below ``classes`` nor ``ignored``, as far as labels
        are known before the first step."""

    def check_micro_batches(self, count: int) -> None:  # noqa: B027 - most layers take any rows
        """Raise ConfigError if the layer needs the whole mini-batch at once, instead of ``count`` pieces of it."""

    def check_tokens(self, classes: int) -> None:
        """Do ``check_labels`` for the data of this input, where they are whole numbers; by default the same check."""
        self.check_labels(classes)

    def cuts(self) -> tuple[int | str, ...]:
        """Axes of the output (and INPUT) on which this layer may be cut."""
        return tuple(range(self.output.rank))

    def strips_gradients(self) -> bool:
        """True if backward makes the gradients of the parameters of some outputs alone, given theirs: these are
        elements of the last axis of the output, and rows of all parameters."""
        return False

    def contraction(self) -> Shape | None:
        """Shape of the contraction space if the layer can be cut on INPUT, else None."""
        return None

    def is_self_sufficient(self, placement: Placement) -> bool:
        """True if each part of ``placement`` can compute its result from its needs; else use ``expansion``."""
        return True

    def expansion(self, name: str) -> LayerExpansion:
        """The two layers that replace this one; the inner one has the name ``name``."""
        raise NotImplementedError(f"{type(self).__name__} has no expansion")

    @abstractmethod
    def needs(self, region: Region, term: Region | None = None) -> Needs:
        """Regions of inputs and parameters that ``region`` of the first output is computed from.

        ``term`` is the box of the contraction space that the part sums over; None: all of it.
        """

    def keeps_order(self, kernels: type[Kernels], order: tuple[int, ...]) -> bool:
        """True if ``kernels`` compute the layer as fast on tensors of its rank in memory order ``order`` (the axes from
        the slowest to the fastest, () for row-major) as on others."""
        return False

    @property
    def may_be_rounded(self) -> bool:
        """True if its outputs may be stored in bfloat16: if they are no statistics, losses or metrics."""
        return not self.exact and not self.is_loss and self.has_gradient

    def takes_bfloat16(self, kernels: type[Kernels]) -> bool:
        """True if ``kernels`` compute the layer on tensors in bfloat16."""
        return bool(self.narrow_verbs) and kernels.narrow.issuperset(self.narrow_verbs)

    def outputs_of(self, region: Region) -> tuple[Region, ...]:
        """The region of every output of a part, given its region of the first output."""
        return (region,)

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        """FLOPs of one part."""
        return Cost(0)

    def aux(self, kernels: type[Kernels], region: Region) -> tuple[tuple[Shape, Any], ...]:
        """(shape, dtype) of the buffers that forward with ``kernels`` fills for backward.

        FLOAT is the compute dtype, TENSOR that of the arrays of inputs and outputs, which may be bfloat16.
        """
        return ()

    @abstractmethod
    def forward(self, kernels: Kernels, call: Call) -> Op:
        """Return the forward kernel of one part, bound to the arrays of ``call``."""

    def backward(self, kernels: Kernels, call: Call) -> Op:
        """Return the backward kernel of one part, bound to the arrays of ``call``.

        It overwrites the wanted ``dx`` and ``dw``, and adds to those ``dx`` that ``call.adds`` marks.
        """
        raise NotImplementedError(f"{type(self).__name__} has no gradient")

    @property
    def figure_names(self) -> tuple[str, ...]:
        """The names of all figures that ``figures`` may report."""
        return self.metrics

    def figures(self, sums: Sequence[float], rows: int) -> dict[str, float]:
        """The figures to report, from the sums of ``metrics`` over ``rows`` rows; by default the means."""
        return {name: total / rows for name, total in zip(self.metrics, sums, strict=True)}

    def tables(self, sums: Sequence[float]) -> dict[str, list[list[int]]]:
        """The tables to report, from the sums of ``metrics``; by default none."""
        return {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name} {' '.join(str(s.shape) for s in self.outputs)})"
