"""Sketch: a random net in the making, layer upon layer, each of a type that fits the layer it reads.

A max-pooling whose window holds equal numbers has no gradient to agree on (regions.md, D13), so the sketch
remembers which tensors may hold some (``tied``) and never takes a maximum of those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeVar

from hypothesis import strategies as st

from netpart.layers import layer_class
from netpart.layers.layer import Layer
from netpart.proto.job_pb2 import JobProto, LayerProto, LayerType
from netpart.proto.neuron_pb2 import ActivationProto, PoolingProto, UpsamplingProto
from netpart.proto.param_pb2 import InitMethod
from netpart.spec import FLOAT, Shape, Spec, size

T = TypeVar("T")

MOST_ELEMENTS = 200
"""Elements of one row of a tensor, at most."""


@dataclass
class Sketch:
    """A job being drawn. ``layers`` are those of the training net, in order; ``weights`` the params so far."""

    draw: st.DrawFn
    job: JobProto = field(default_factory=JobProto)
    layers: dict[str, Layer] = field(default_factory=dict)
    tied: set[str] = field(default_factory=set)
    weights: list[tuple[str, str, Shape]] = field(default_factory=list)

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def chance(self, of: int) -> bool:
        """True in one of ``of`` cases."""
        return self.number(1, of) == of

    def pick(self, options: Sequence[T]) -> T:
        return self.draw(st.sampled_from(options))

    def conf(self, kind: str, *sources: str) -> LayerProto:
        """A new layer of the job, named after its type and number."""
        conf: LayerProto = self.job.neuralnet.layer.add()
        conf.name, conf.type = f"{kind[1:].lower()}{len(self.layers)}", layer_type(kind)
        conf.srclayers.extend(sources)
        return conf

    def add(self, conf: LayerProto, tied: bool = False) -> str:
        """Completes a layer: from here on others may read it."""
        kind = layer_class(LayerType.Name(conf.type))
        specs = [self.spec(name, kind.wants(k)) for k, name in enumerate(conf.srclayers)]
        self.layers[conf.name] = kind(conf, tuple(specs))
        if tied:
            self.tied.add(conf.name)
        return conf.name

    def spec(self, name: str, output: str = "data") -> Spec:
        layer = self.layers[name]
        return layer.outputs[layer.output_names.index(output) if output in layer.output_names else 0]

    def shape(self, name: str) -> Shape:
        return self.spec(name).shape

    def param(self, conf: LayerProto, kind: str, shape: Shape, std: float) -> None:
        """A param block: of its own, or shared with one of the same shape above."""
        same = [name for name, owner, found in self.weights if (owner, found) == (kind, shape)]
        block = conf.param.add()
        if same and self.chance(2):
            block.share_from = self.pick(same)
            return
        block.name = f"p{len(self.weights)}"
        block.init.type, block.init.std = InitMethod.kGaussian, std
        if self.chance(4):
            block.lr_scale, block.wd_scale = 0.5, 2.0
        self.weights.append((block.name, kind, shape))


def layer_type(name: str) -> LayerType:
    """The number of a type."""
    return LayerType.Value(name)  # type: ignore[return-value]


Maker = Callable[[Sketch, str], str | None]
"""Adds a layer that reads the given one; None if none of its kind can."""


def convolution(s: Sketch, source: str) -> str | None:
    conf = s.conf("kConvolution", source)
    channels = windows(s, conf.convolution_conf, s.shape(source), s.number(1, 3))
    conf.convolution_conf.num_filters = s.pick([4, 3, 2, 1])
    if channels > 1 and s.chance(3):
        conf.convolution_conf.groups, conf.convolution_conf.num_filters = channels, channels * s.number(1, 2)
    channels //= conf.convolution_conf.groups
    spatial = [getattr(conf.convolution_conf, f"kernel_{a}") for a in "zyx"[-conf.convolution_conf.spatial_axes :]]
    shape = conf.convolution_conf.num_filters, channels, *spatial
    s.param(conf, "weight", shape, prod(shape[1:]) ** -0.5)
    if s.chance(2):
        s.param(conf, "bias", shape[:1], 0.3)
    return s.add(conf, source in s.tied or any_pad(conf.convolution_conf))


def enlarging(s: Sketch, source: str) -> str | None:
    """A transposed convolution of another stride and pad, or an interpolation, which repeats elements at the border."""
    shape, axes = s.shape(source), len(s.shape(source)) - 2
    if axes not in (1, 2, 3):
        return None
    if s.chance(2):
        conf = s.conf("kUpsampling", source)
        conf.upsampling_conf.method = s.pick([UpsamplingProto.LINEAR, UpsamplingProto.NEAREST])
        return s.add(conf, True)
    conf = s.conf("kTransposedConvolution", source)
    field = conf.convolution_conf
    field.spatial_axes, field.num_filters, field.output_pad = axes, s.number(1, 3), s.number(0, 1)
    field.kernel, field.stride = s.number(1, 3), s.number(1, 2)
    field.pad = s.number(0, min((n - 1) * field.stride + field.kernel - 1 for n in shape[2:]) // 2)
    weight = shape[1], field.num_filters, *[field.kernel] * axes
    s.param(conf, "weight", weight, prod((weight[0], *weight[2:])) ** -0.5)
    s.param(conf, "bias", weight[1:2], 0.3)
    return s.add(conf, True)


def pooling(s: Sketch, source: str) -> str | None:
    conf = s.conf("kPooling", source)
    field = conf.pooling_conf
    windows(s, field, s.shape(source), s.number(1, 3))
    field.pool = PoolingProto.AVG if source in s.tied else s.pick([PoolingProto.MAX, PoolingProto.AVG])
    overlap = any(getattr(field, f"stride_{a}") < getattr(field, f"kernel_{a}") for a in "zyx"[-field.spatial_axes :])
    return s.add(conf, source in s.tied or overlap or any_pad(field))


def windows(s: Sketch, field: object, shape: Shape, most: int) -> int:
    """Fills in kernel, stride and pad per axis, some strange; returns the channels they leave."""
    axes = min(max(len(shape) - 2, 1), 3) if len(shape) > 2 else 1
    if len(shape) == axes + 2 and axes < 3 and s.chance(4):
        axes += 1
    field.spatial_axes = axes  # type: ignore[attr-defined]
    for name, extent in zip("zyx"[-axes:], shape[-axes:], strict=True):
        kernel = s.number(1, min(max(most, 2), extent + 1))
        pad = s.pick([0, 0, 0, 1, kernel - 1, kernel])
        pad = max(pad, -(-(kernel - extent) // 2))
        setattr(field, f"kernel_{name}", kernel)
        setattr(field, f"pad_{name}", pad)
        setattr(field, f"stride_{name}", s.pick([1, 1, 2, 3]))
    return shape[1] if len(shape) == axes + 2 else 1


def any_pad(field: object) -> bool:
    """True if a window may lie wholly in padding, or twice on the same element."""
    return any(getattr(field, f"pad_{a}") for a in "zyx"[-field.spatial_axes :])  # type: ignore[attr-defined]


def inner_product(s: Sketch, source: str, outputs: int = 0) -> str:
    conf = s.conf("kInnerProduct", source)
    field = conf.innerproduct_conf
    field.axis = 1 if outputs else s.pick([1, 1, len(s.shape(source)) - 1])
    features = s.shape(source)[field.axis :]
    field.num_output, field.transpose, field.bias_term = outputs or s.number(1, 6), s.chance(3), s.chance(2)
    tied = [shape for _, kind, shape in s.weights if kind == "weight" and shape[:-1] == features]
    if tied and not outputs and s.chance(2):  # the transpose of a weight above, as in an auto-encoder
        field.num_output, field.transpose = s.pick(tied)[-1], True
    shape = (*features, field.num_output) if field.transpose else (field.num_output, *features)
    s.param(conf, "weight", shape, prod(features) ** -0.5)
    if field.bias_term:
        s.param(conf, "bias", (field.num_output,), 0.3)
    return s.add(conf, source in s.tied)


def lrn(s: Sketch, source: str) -> str | None:
    conf = s.conf("kLRN", source)
    conf.lrn_conf.local_size, conf.lrn_conf.alpha = s.pick([3, 5, 3, 1]), 0.7
    return s.add(conf, source in s.tied)


NORMS = [layer_type(name) for name in ("kLayerNorm", "kRMSNorm", "kGroupNorm", "kBM")]


def norm(s: Sketch, source: str) -> str | None:
    conf, shape = s.conf(s.pick(["kLayerNorm", "kRMSNorm", "kGroupNorm"]), source), s.shape(source)
    conf.norm_conf.axis, conf.norm_conf.epsilon = s.number(1, len(shape) - 1), 0.1
    features = shape[conf.norm_conf.axis :]
    if conf.type == layer_type("kGroupNorm"):
        conf.norm_conf.groups, features = s.pick([n for n in (1, 2, shape[1]) if shape[1] % n == 0]), shape[1:2]
    for _ in range(s.number(0, 1 if conf.type == layer_type("kRMSNorm") else 2)):
        s.param(conf, "norm", features, 0.5)
    return s.add(conf, source in s.tied)


def batch_norm(s: Sketch, source: str) -> str | None:
    """Of a batch without space all elements of a channel may be one, and then 0."""
    conf, shape = s.conf("kBM", source), s.shape(source)
    conf.bm_conf.epsilon, conf.bm_conf.momentum = 0.3, s.pick([0.9, 0.5])
    for _ in range(s.number(0, 2)):
        s.param(conf, "norm", shape[1:2], 0.5)
    return s.add(conf, source in s.tied or prod(shape[2:]) == 1)


def attention(s: Sketch, source: str) -> str | None:
    """Of rows with themselves, with or without positions; products only of what is bounded, lest they grow."""
    if len(s.shape(source)) < 3:
        return None
    kind = s.pick(["kAttention", "kMatmul", "kPositions", "kRotary"])
    if kind == "kRotary" and s.shape(source)[-1] % 2:
        return None
    if kind == "kMatmul":
        bounded = s.add(s.conf("kSigmoid", source), source in s.tied)
        conf = s.conf(kind, bounded, bounded)
        conf.matmul_conf.transpose_a, conf.matmul_conf.transpose_b = s.pick([(False, True), (True, False)])
        return s.add(conf, True)
    conf = s.conf(kind, *[source] * (3 if kind == "kAttention" else 1))
    if kind == "kAttention":
        conf.attention_conf.causal = s.chance(2)
    if kind == "kPositions":
        s.param(conf, "positions", s.shape(source)[1:], 0.5)
    return s.add(conf, source in s.tied)


def activation(s: Sketch, source: str) -> str | None:
    conf = s.conf(s.pick(["kReLU", "kReLU", "kSigmoid", "kSTanh", "kActivation"]), source)
    if conf.type == layer_type("kActivation"):
        conf.activation_conf.type = s.pick(
            [ActivationProto.RELU, ActivationProto.TANH, ActivationProto.GELU, ActivationProto.ELU]
        )
    leaky = conf.type == layer_type("kReLU") and s.chance(2)
    if leaky:
        conf.relu_conf.negative_slope = 0.25
    rectifies = conf.type == layer_type("kReLU") or conf.activation_conf.type == ActivationProto.RELU
    return s.add(conf, source in s.tied or (rectifies and not leaky))


def dropout(s: Sketch, source: str) -> str | None:
    conf = s.conf("kDropout", source)
    conf.dropout_conf.dropout_ratio = 0.3
    return s.add(conf, True)


def softmax(s: Sketch, source: str) -> str | None:
    if len(s.shape(source)) != 2:
        source = inner_product(s, source, 4)
    conf = s.conf("kSoftmax", source)
    if s.shape(source)[1] % 2 == 0 and s.chance(3):
        conf.softmax_conf.num_softmax_per_instance = 2
    return s.add(conf, source in s.tied)


def identity(s: Sketch, source: str) -> str | None:
    return s.add(s.conf("kSplit", source), source in s.tied)


def add(s: Sketch, source: str) -> str | None:
    """A residual sum, perhaps of a tensor with itself, perhaps with one that is stretched."""
    same = [name for name in numbers(s) if fits(s.shape(name), s.shape(source))]
    sources = [source, *(s.pick(same) for _ in range(s.number(1, 2)))]
    return s.add(s.conf("kAdd", *sources), any(x in s.tied for x in sources))


def multiply(s: Sketch, source: str) -> str | None:
    """A gate between 0 and 1, perhaps stretched: products of anything else grow without bound."""
    same = [name for name in numbers(s) if fits(s.shape(name), s.shape(source))]
    gate = s.pick(same)
    gate = s.add(s.conf("kSigmoid", gate), gate in s.tied)
    return s.add(s.conf("kMul", source, gate), source in s.tied)


def fits(shape: Shape, other: Shape) -> bool:
    """True if ``shape`` can be stretched to ``other``."""
    return len(shape) == len(other) and all(n in (1, m) for n, m in zip(shape, other, strict=True))


def maximum(s: Sketch, source: str) -> str | None:
    """Of layers of different types, as two that compute the same number may round it differently on other parts."""
    kind = s.layers[source].conf.type
    free = [x for x in numbers(s) if x not in s.tied and fits(s.shape(x), s.shape(source))]
    others = [x for x in free if s.layers[x].conf.type != kind]
    if source in s.tied or not others:
        return None
    return s.add(s.conf("kMax", *s.draw(st.permutations([source, s.pick(others)]))))


def concate(s: Sketch, source: str) -> str | None:
    """Sources side by side, the same one perhaps twice: equal numbers may then share a window."""
    shape, conf = s.shape(source), s.conf("kConcate")
    axis = s.number(1, len(shape) - 1)
    rest = (*shape[:axis], *shape[axis + 1 :])
    fitting = [
        x for x in numbers(s) if len(s.shape(x)) == len(shape) and (*s.shape(x)[:axis], *s.shape(x)[axis + 1 :]) == rest
    ]
    conf.srclayers.extend([source, *(s.pick(fitting) for _ in range(s.number(1, 2)))])
    conf.concate_conf.concate_dim = axis
    return s.add(conf, any(x in s.tied for x in conf.srclayers) or len(set(conf.srclayers)) < len(conf.srclayers))


def slices(s: Sketch, source: str) -> str | None:
    """Equal parts of an axis, each with a reader of its own; those of the batch are put together again."""
    shape, conf = s.shape(source), s.conf("kSlice", source)
    axis = s.number(0, len(shape) - 1)
    parts = s.pick([n for n in (2, 3, 1) if shape[axis] % n == 0])
    conf.slice_conf.slice_dim, conf.slice_conf.num_slices = axis, parts
    s.add(conf, source in s.tied)
    readers = [s.add(s.conf(s.pick(["kSplit", "kSTanh"]), conf.name), source in s.tied) for _ in range(parts)]
    if axis or parts == 1:
        return s.pick(readers)
    joined = s.conf("kConcate", *s.draw(st.permutations(readers)))
    joined.concate_conf.concate_dim = 0
    return s.add(joined, source in s.tied)


def reshape(s: Sketch, source: str) -> str | None:
    """Flat, transposed, or two neighbouring axes in one."""
    shape, conf = s.shape(source), s.conf(s.pick(["kFlatten", "kReshape", "kTranspose"]), source)
    if conf.type == layer_type("kTranspose"):
        conf.transpose_conf.axis.extend(s.draw(st.permutations(range(1, len(shape)))))
    elif conf.type == layer_type("kReshape"):
        at = s.number(1, len(shape) - 1)
        conf.reshape_conf.shape.extend([*shape[1:at], prod(shape[at : at + 2]), *shape[at + 2 :]])
    return s.add(conf, source in s.tied)


def global_pooling(s: Sketch, source: str) -> str | None:
    """Not of what is normalised: its mean is 0 but for rounding, which would say what is predicted."""
    if len(s.shape(source)) < 3 or s.layers[source].conf.type in NORMS:
        return None
    conf = s.conf("kGlobalPooling", source)
    conf.globalpooling_conf.pool = (
        PoolingProto.AVG if source in s.tied else s.pick([PoolingProto.MAX, PoolingProto.AVG])
    )
    return s.add(conf, source in s.tied)


MAKERS: tuple[Maker, ...] = (
    convolution, convolution, convolution, pooling, pooling, inner_product, inner_product, lrn, lrn, activation,
    dropout, softmax, identity, add, add, multiply, maximum, concate, concate, slices,
    reshape, global_pooling, enlarging, norm, norm, batch_norm, batch_norm, attention, attention,
)  # fmt: skip


def numbers(s: Sketch) -> list[str]:
    """Layers that any number of others may read, with the rows of the batch, and that are not too large yet."""
    rows = next(iter(s.layers.values())).output.shape[0]
    return [
        name for name, layer in s.layers.items()
        if not layer.is_loss and not layer.metrics and layer.output.dtype == FLOAT
        and size(layer.output.whole[1:]) <= MOST_ELEMENTS and layer.output.shape[0] == rows
        and layer.conf.type != layer_type("kSlice")
    ]  # fmt: skip


def grow(s: Sketch, count: int) -> None:
    """Adds ``count`` layers, each on the newest or on any other."""
    for _ in range(count):
        known = numbers(s)
        source = known[-1] if s.chance(2) else s.pick(known)
        s.pick(MAKERS)(s, source)


def finish(s: Sketch, data: str) -> None:
    """One or two losses, and perhaps an accuracy on the side."""
    for _ in range(s.number(1, 2)):
        source = s.pick(numbers(s)[-3:])
        kind = s.pick(["softmax", "softmax", "target", "pair"])
        if kind == "softmax":
            top = inner_product(s, source, s.number(2, 5))
            conf = s.conf("kSoftmaxLoss", top, data)
            conf.softmaxloss_conf.scale = s.pick([1.0, 0.5])
            conf.softmaxloss_conf.label_smoothing = s.pick([0.0, 0.1])
            s.add(conf)
            if s.chance(3):
                s.add(s.conf("kAccuracy", top, data))
        elif kind == "target":
            target = s.pick(numbers(s))
            s.add(s.conf("kEuclideanLoss", inner_product(s, source, prod(s.shape(target)[1:])), target))
        else:
            same = [x for x in numbers(s) if prod(s.shape(x)[1:]) == prod(s.shape(source)[1:])]
            s.add(s.conf("kEuclideanLoss", source, s.pick(same)))
