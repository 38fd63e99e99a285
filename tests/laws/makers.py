"""Makers: each adds a layer of one type to a sketch, on a source that it can read. A new layer type is one more."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from netpart.proto.job_pb2 import LayerProto
from netpart.proto.neuron_pb2 import ActivationProto, PoolingProto
from netpart.proto.param_pb2 import InitMethod, ParamGenProto
from netpart.spec import INT, Shape
from tests.laws.sketch import MOST_ELEMENTS, Sketch, layer_type, line
from tests.laws.windows import any_pad, effective, ends, overlap, windows

Maker = Callable[[Sketch, str], str | None]
"""Adds a layer that reads the given one; None if none of its kind can."""
NORMS = ("kLayerNorm", "kRMSNorm", "kGroupNorm", "kBM")
SMALL = 4
"""Classes that a softmax tells apart."""


def convolution(s: Sketch, source: str) -> str | None:
    if not 2 <= len(s.shape(source)) <= 5:
        return None
    conf = s.conf("kConvolution", source)
    field = conf.convolution_conf
    channels = windows(s, conf, "convolution_conf", s.shape(source))
    filtered(s, conf, channels)
    spatial = effective(field, "kernel", field.spatial_axes)
    shape = field.num_filters, channels // field.groups, *spatial
    weight_and_bias(s, conf, shape, field.num_filters, prod(shape[1:]))
    return s.add(conf, source in s.tied or any_pad(field))


def pointwise(s: Sketch, source: str) -> str | None:
    """A convolution that keeps the space of what it reads, for windows that are to move on addends."""
    shape = s.shape(source)
    if not 3 <= len(shape) <= 5:
        return None
    conf = s.conf("kConvolution", source)
    field = conf.convolution_conf
    field.spatial_axes, field.kernel = len(shape) - 2, 1
    s.option(conf, "convolution_conf.num_filters")
    weight_and_bias(s, conf, (field.num_filters, shape[1], *[1] * field.spatial_axes), field.num_filters, shape[1])
    return s.add(conf, source in s.tied)


def transposed_convolution(s: Sketch, source: str) -> str | None:
    if not 2 <= len(s.shape(source)) <= 5:
        return None
    conf, shape = s.conf("kTransposedConvolution", source), s.shape(source)
    field = conf.convolution_conf
    channels = windows(s, conf, "convolution_conf", shape)
    axes = field.spatial_axes
    filtered(s, conf, channels)
    extra = s.option(conf, "convolution_conf.output_pad") or 0
    strides, kernels, dilations = (effective(field, name, axes) for name in ("stride", "kernel", "dilation"))
    grown = zip(shape[-axes:], strides, kernels, dilations, strict=True)
    pads = map(sum, zip(effective(field, "pad", axes), ends(field, axes), strict=True))
    if any((n - 1) * t + (k - 1) * d + extra < both for (n, t, k, d), both in zip(grown, pads, strict=True)):
        unpadded(field)
    weight = channels, field.num_filters // field.groups, *kernels
    weight_and_bias(s, conf, weight, field.num_filters, prod((channels // field.groups, *kernels)))
    return s.add(conf, True)


def filtered(s: Sketch, conf: LayerProto, channels: int) -> None:
    """Groups that divide the channels, and filters that these divide."""
    field = conf.convolution_conf
    groups = s.option(conf, "convolution_conf.groups", lambda n: channels % (n or 1) == 0) or 1
    s.option(conf, "convolution_conf.num_filters", lambda n: n % groups == 0)
    assert field.groups == groups


def unpadded(field: object) -> None:
    """Takes the pads off a layer whose output they might swallow."""
    for name in ("pad", "pad_end"):
        for axis in ("", "_x", "_y", "_z"):
            field.ClearField(f"{name}{axis}")  # type: ignore[attr-defined]


def weight_and_bias(s: Sketch, conf: LayerProto, weight: Shape, outputs: int, fan: int) -> None:
    count = s.count_of(conf, 2)
    s.param(conf, "weight", weight, fan**-0.5)
    if count > 1:
        s.param(conf, "bias", (outputs,), 0.3)


def pooling(s: Sketch, source: str) -> str | None:
    if not 2 <= len(s.shape(source)) <= 5:
        return None
    conf = s.conf("kPooling", source)
    field = conf.pooling_conf
    windows(s, conf, "pooling_conf", s.shape(source))
    for name in ("ceil_mode", "count_include_pad"):
        s.option(conf, f"pooling_conf.{name}")
    average(s, conf, "pooling_conf.pool", source)
    return s.add(conf, source in s.tied or overlap(field) or any_pad(field))


def average(s: Sketch, conf: LayerProto, path: str, source: str) -> None:
    """A maximum, or of what may hold equal numbers the mean."""
    s.option(conf, path, lambda method: method == PoolingProto.AVG or source not in s.tied)


def global_pooling(s: Sketch, source: str) -> str | None:
    """Not of what is normalised: its mean is 0 but for rounding, which would say what is predicted."""
    if len(s.shape(source)) < 3 or line(s.layers[source].conf) in NORMS:
        return None
    conf = s.conf("kGlobalPooling", source)
    average(s, conf, "globalpooling_conf.pool", source)
    return s.add(conf, source in s.tied)


def upsampling(s: Sketch, source: str) -> str | None:
    """Elements are repeated at the border, or everywhere."""
    if len(s.shape(source)) not in (3, 4, 5):
        return None
    conf = s.conf("kUpsampling", source)
    small = prod(s.shape(source)[1:]) * 3 ** (len(s.shape(source)) - 2) <= 4 * MOST_ELEMENTS
    s.option(conf, "upsampling_conf.factor", lambda n: small or n != 3)
    s.option(conf, "upsampling_conf.method")
    return s.add(conf, True)


def inner_product(s: Sketch, source: str, outputs: int = 0) -> str:
    conf = s.conf("kInnerProduct", source)
    field, rank = conf.innerproduct_conf, len(s.shape(source))
    s.option(conf, "innerproduct_conf.axis", lambda axis: (axis or 1) < (2 if outputs else rank))
    features = s.shape(source)[field.axis :]
    s.option(conf, "innerproduct_conf.num_output")
    s.option(conf, "innerproduct_conf.transpose")
    s.option(conf, "innerproduct_conf.bias_term")
    field.num_output = outputs or field.num_output
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
    for name in ("local_size", "alpha", "beta", "knorm"):
        s.option(conf, f"lrn_conf.{name}")
    return s.add(conf, source in s.tied)


def feature_norm(kind: str, most: int) -> Maker:
    def make(s: Sketch, source: str) -> str | None:
        conf, shape = s.conf(kind, source), s.shape(source)
        s.option(conf, "norm_conf.epsilon")
        axis = s.option(conf, "norm_conf.axis", lambda axis: axis is None or axis < len(shape))
        s.params(conf, "norm", [shape[-1 if axis is None else axis :]] * most, 0.5)
        return s.add(conf, source in s.tied)

    return make


def group_norm(s: Sketch, source: str) -> str | None:
    """In the spotlight, where it is the turn of several groups, odd channels are made even first."""
    wanted = s.pick_option("kGroupNorm", "norm_conf.groups") if s.spot and s.spot.kind == "kGroupNorm" else None
    if wanted and s.shape(source)[1] % wanted:
        source = inner_product(s, source, SMALL)
    conf, shape = s.conf("kGroupNorm", source), s.shape(source)
    s.option(conf, "norm_conf.epsilon")
    s.option(conf, "norm_conf.groups", lambda n: shape[1] % (n or 1) == 0)
    s.params(conf, "norm", [shape[1:2]] * 2, 0.5)
    return s.add(conf, source in s.tied)


def batch_norm(s: Sketch, source: str) -> str | None:
    """Of a batch without space all elements of a channel may be one, and then 0."""
    conf, shape = s.conf("kBM", source), s.shape(source)
    s.option(conf, "bm_conf.epsilon")
    s.option(conf, "bm_conf.momentum")
    s.option(conf, "bm_conf.frozen")
    count = s.count_of(conf, 4)
    for _ in range(min(count, 2)):
        s.param(conf, "norm", shape[1:2], 0.5)
    for i in range(2, count):
        conf.param.add(name=f"running{i}-{conf.name}").init.MergeFrom(RUNNING[i - 2])
    return s.add(conf, source in s.tied or prod(shape[2:]) == 1)


RUNNING = [ParamGenProto(type=InitMethod.kConstant, value=value) for value in (0.5, 2.0)]
"""Where a mean and a variance start."""


def attention(s: Sketch, source: str) -> str | None:
    """Of rows with themselves or, if there are some that fit, with others."""
    shape = s.shape(source)
    if len(shape) < 3:
        return None
    others = [x for x in s.numbers() if len(s.shape(x)) == len(shape)]
    like = [x for x in others if (*s.shape(x)[:-2], s.shape(x)[-1]) == (*shape[:-2], shape[-1])]
    keys = s.pick([source, *like])
    values = s.pick([keys, *(x for x in others if s.shape(x)[:-1] == s.shape(keys)[:-1])])
    masks = [x for x in token_inputs(s) if s.shape(x) == (s.shape(keys)[0], s.shape(keys)[-2])]
    mask = masks[:1] if s.spot or s.chance(2) else []
    conf = s.conf("kAttention", source, keys, values, *mask)
    s.option(conf, "attention_conf.causal", lambda causal: not causal or s.shape(keys)[-2] == shape[-2])
    s.option(conf, "attention_conf.scale")
    s.option(conf, "attention_conf.dropout_ratio")
    if mask:
        s.option(conf, "attention_conf.pad_value")
    zeros = bool(mask) or conf.attention_conf.dropout_ratio > 0
    return s.add(conf, zeros or any(x in s.tied for x in conf.srclayers))


def matmul(s: Sketch, source: str) -> str | None:
    """Products only of what is bounded, lest they grow: of a tensor and itself, perhaps turned before."""
    if len(s.shape(source)) < 3:
        return None
    a = b = s.add(s.conf("kSigmoid", source), source in s.tied)
    lead = len(s.shape(a)) - 2
    conf = LayerProto(type=layer_type("kMatmul"))
    flips = s.option(conf, "matmul_conf.transpose_a"), s.option(conf, "matmul_conf.transpose_b")
    if flips[0] == flips[1]:
        turned = s.conf("kTranspose", a)
        turned.transpose_conf.axis.extend([*range(1, lead), lead + 1, lead])
        b = s.add(turned, True)
    product = s.conf("kMatmul", a, b)
    product.matmul_conf.CopyFrom(conf.matmul_conf)
    return s.add(product, True)


def positions(s: Sketch, source: str) -> str | None:
    conf = s.conf("kPositions", source)
    s.param(conf, "positions", s.shape(source)[1:], 0.5)
    return s.add(conf, source in s.tied)


def rotary(s: Sketch, source: str) -> str | None:
    if len(s.shape(source)) < 3 or s.shape(source)[-1] % 2:
        return None
    conf = s.conf("kRotary", source)
    s.option(conf, "rotary_conf.base")
    return s.add(conf, source in s.tied)


def class_token(s: Sketch, source: str) -> str | None:
    """The same vector in every row."""
    if len(s.shape(source)) < 3:
        return None
    conf = s.conf("kClassToken", source)
    s.param(conf, "token", s.shape(source)[2:], 0.5)
    return s.add(conf, True)


def token_inputs(s: Sketch) -> list[str]:
    """The inputs with tokens."""
    return [name for name, layer in s.layers.items() if layer.is_input and layer.output.dtype == INT]


def embedding(s: Sketch, source: str) -> str | None:
    """Of tokens, which only an input has: equal tokens have equal vectors."""
    tokens = token_inputs(s)
    if not tokens:
        return None
    conf = s.conf("kEmbedding", tokens[0])
    field, classes = conf.embedding_conf, s.layers[tokens[0]].conf.synthetic_conf.classes
    s.option(conf, "embedding_conf.vocab_size", lambda n: n >= classes)
    s.option(conf, "embedding_conf.feature_dim")
    s.param(conf, "table", (field.vocab_size, field.feature_dim), 0.7)
    return s.add(conf, True)


def gate(s: Sketch, source: str) -> str | None:
    conf = s.conf("kGate", source)
    s.param(conf, "gate", (1,), 0.7)
    return s.add(conf, source in s.tied)


def crop(s: Sketch, source: str) -> str | None:
    conf = s.conf("kCrop", source)
    for n in s.shape(source)[1:]:
        kept = s.pick([max(n - 1, 1), n, max(n - 2, 1)])
        conf.crop_conf.shape.append(kept)
        conf.crop_conf.start.append(s.pick([0, n - kept, -1]))
    return s.add(conf, source in s.tied)


def relu(s: Sketch, source: str) -> str | None:
    conf = s.conf("kReLU", source)
    slope = s.option(conf, "relu_conf.negative_slope")
    return s.add(conf, source in s.tied or not slope)


def activation(s: Sketch, source: str) -> str | None:
    conf = s.conf("kActivation", source)
    kind = s.option(conf, "activation_conf.type")
    s.option(conf, "activation_conf.alpha")
    rectifies = kind in (None, ActivationProto.RELU, ActivationProto.RELU6)
    return s.add(conf, source in s.tied or rectifies)


def plain(kind: str) -> Maker:
    """A layer without a conf that keeps what it reads apart."""

    def make(s: Sketch, source: str) -> str | None:
        return s.add(s.conf(kind, source), source in s.tied)

    return make


def dropout(s: Sketch, source: str) -> str | None:
    conf = s.conf("kDropout", source)
    s.option(conf, "dropout_conf.dropout_ratio")
    return s.add(conf, True)


def softmax(s: Sketch, source: str) -> str | None:
    """Of one element it is 1, and of two along an axis each may stand in several windows."""
    conf = s.conf("kSoftmax", source)
    shape = s.shape(source)
    axis = s.option(conf, "softmax_conf.axis", lambda axis: (axis or 1) < len(shape))
    if axis is None and len(shape) != 2:
        s.job.neuralnet.layer.remove(conf)
        source = inner_product(s, source, SMALL)
        conf = s.conf("kSoftmax", source)
        shape = s.shape(source)
    width = shape[axis or 1]
    s.option(conf, "softmax_conf.num_softmax_per_instance", lambda n: (n or 1) == 1 or (axis is None and not width % n))
    return s.add(conf, source in s.tied or width == conf.softmax_conf.num_softmax_per_instance)


def add(s: Sketch, source: str) -> str | None:
    """A residual sum, perhaps of a tensor with itself, perhaps with one that is stretched."""
    same = [name for name in s.numbers() if stretches(s.shape(name), s.shape(source))]
    sources = [source, *(s.pick(same or [source]) for _ in range(s.number(1, 2)))]
    return s.add(s.conf("kAdd", *sources), any(x in s.tied for x in sources))


def multiply(s: Sketch, source: str) -> str | None:
    """A gate between 0 and 1, perhaps stretched: products of anything else grow without bound."""
    same = [name for name in s.numbers() if stretches(s.shape(name), s.shape(source))]
    gate = s.pick(same or [source])
    gate = s.add(s.conf("kSigmoid", gate), gate in s.tied)
    return s.add(s.conf("kMul", source, gate), source in s.tied)


def stretches(shape: Shape, other: Shape) -> bool:
    """True if ``shape`` can be stretched to ``other``."""
    return len(shape) == len(other) and all(n in (1, m) for n, m in zip(shape, other, strict=True))


def maximum(s: Sketch, source: str) -> str | None:
    """Of layers of different types, as two that compute the same number may round it differently on other parts."""
    if source in s.tied:
        return None
    if s.spot is not None and s.spot.kind == "kMax":
        s.add(s.conf("kSTanh", source))
    kind = s.layers[source].conf.type
    free = [x for x in s.numbers() if x not in s.tied and stretches(s.shape(x), s.shape(source))]
    others = [x for x in free if s.layers[x].conf.type != kind]
    if not others:
        return None
    return s.add(s.conf("kMax", *s.some([source, s.pick(others)], 2)))


def concate(s: Sketch, source: str) -> str | None:
    """Sources side by side, the same one perhaps twice: equal numbers may then share a window."""
    shape, conf = s.shape(source), s.conf("kConcate")
    axis = s.option(conf, "concate_conf.concate_dim", lambda axis: axis < len(shape))
    rest = (*shape[:axis], *shape[axis + 1 :])
    known = [x for x in s.numbers() if len(s.shape(x)) == len(shape)]
    fitting = [x for x in known if (*s.shape(x)[:axis], *s.shape(x)[axis + 1 :]) == rest]
    conf.srclayers.extend([source, *(s.pick(fitting or [source]) for _ in range(s.number(1, 2)))])
    return s.add(conf, any(x in s.tied for x in conf.srclayers) or len(set(conf.srclayers)) < len(conf.srclayers))


def slices(s: Sketch, source: str) -> str | None:
    """Equal parts of an axis, each with a reader of its own; those of the batch are put together again."""
    shape, conf = s.shape(source), s.conf("kSlice", source)
    axis = s.option(conf, "slice_conf.slice_dim", lambda axis: axis < len(shape))
    parts = s.option(conf, "slice_conf.num_slices", lambda n: shape[axis] % n == 0)
    s.add(conf, source in s.tied)
    readers = [s.add(s.conf(s.pick(["kSplit", "kSTanh"]), conf.name), source in s.tied) for _ in range(parts)]
    if axis or parts == 1:
        return s.pick(readers)
    joined = s.conf("kConcate", *s.some(readers, parts))
    joined.concate_conf.concate_dim = 0
    return s.add(joined, source in s.tied)


def reshape(s: Sketch, source: str) -> str | None:
    """Two neighbouring axes in one, or one of them named as what is left."""
    shape, conf = s.shape(source), s.conf("kReshape", source)
    at = s.number(1, len(shape) - 1)
    found = [*shape[1:at], prod(shape[at : at + 2]), *shape[at + 2 :]]
    if s.chance(3):
        found[s.number(0, len(found) - 1)] = -1
    conf.reshape_conf.shape.extend(found)
    return s.add(conf, source in s.tied)


def transpose(s: Sketch, source: str) -> str | None:
    rank, conf = len(s.shape(source)), s.conf("kTranspose", source)
    conf.transpose_conf.axis.extend(s.some(range(1, rank), rank - 1))
    return s.add(conf, source in s.tied)


def image_preprocess(s: Sketch, source: str) -> str | None:
    """Of an input's square images."""
    shape = s.shape(source)
    if not s.layers[source].is_input or len(shape) != 4 or shape[2] != shape[3]:
        return None
    conf = s.conf("kImagePreprocess", source)
    s.option(conf, "rgbimage_conf.cropsize", lambda side: (side or 0) <= shape[2])
    s.option(conf, "rgbimage_conf.mirror")
    s.option(conf, "rgbimage_conf.scale")
    return s.add(conf)


MAKERS: dict[str, Maker] = {
    "kConvolution": convolution, "kTransposedConvolution": transposed_convolution, "kPooling": pooling,
    "kGlobalPooling": global_pooling, "kUpsampling": upsampling, "kInnerProduct": inner_product, "kLRN": lrn,
    "kLayerNorm": feature_norm("kLayerNorm", 2), "kRMSNorm": feature_norm("kRMSNorm", 1), "kGroupNorm": group_norm,
    "kBM": batch_norm, "kAttention": attention, "kMatmul": matmul, "kPositions": positions, "kRotary": rotary,
    "kEmbedding": embedding, "kClassToken": class_token, "kCrop": crop, "kGate": gate, "kReLU": relu,
    "kSigmoid": plain("kSigmoid"), "kSTanh": plain("kSTanh"), "kActivation": activation, "kDropout": dropout,
    "kSoftmax": softmax, "kSplit": plain("kSplit"), "kAdd": add, "kMul": multiply, "kMax": maximum,
    "kConcate": concate, "kSlice": slices, "kFlatten": plain("kFlatten"), "kReshape": reshape, "kTranspose": transpose,
    "kImagePreprocess": image_preprocess,
}  # fmt: skip
"""What makes a layer of each type, of those that are neither inputs nor at the end of a net."""
OFTEN = {"kConvolution": 4, "kPooling": 3, "kInnerProduct": 3, "kBM": 2, "kAdd": 2, "kConcate": 2, "kAttention": 2}
WEIGHTED = [kind for kind in MAKERS for _ in range(OFTEN.get(kind, 1))]
"""The types, those that have most ways more often than others."""
