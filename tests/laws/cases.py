"""The table of the layer laws: per layer type a strategy of confs and the specs of their sources.

A new layer type is held to every law by adding one line to ``CASES``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from google.protobuf import text_format
from hypothesis import strategies as st

from netpart.layers import layer_class
from netpart.layers.layer import Layer
from netpart.proto.job_pb2 import LayerProto
from netpart.proto.neuron_pb2 import ActivationProto
from netpart.spec import FLOAT, INT, Shape, Spec


@dataclass(frozen=True)
class Case:
    """A layer to be: its type, the rest of its conf in text format, and what its sources give."""

    type: str
    conf: str
    inputs: tuple[Spec, ...]
    half: str = ""

    def layer(self) -> Layer:
        """The layer, named ``it``, or a ``half`` of its expansion: "inner" or "outer"."""
        layer = layer_class(self.type)(layer_proto(self.type, self.conf), self.inputs)
        found: Layer = getattr(layer.expansion("half"), self.half) if self.half else layer
        return found


def layer_proto(type_name: str, conf: str = "") -> LayerProto:
    """The LayerProto of a layer named ``it``."""
    return text_format.Parse(f'name: "it" type: {type_name} {conf}', LayerProto())


def shapes(least: int = 2, most: int = 4, extent: int = 4) -> st.SearchStrategy[Shape]:
    """Small shapes, batch first."""
    return st.lists(st.integers(1, extent), min_size=least, max_size=most).map(tuple)


def params(count: int) -> str:
    """Text of ``count`` param blocks."""
    return " ".join(f'param {{ name: "p{i}" }}' for i in range(count))


@st.composite
def windows(draw: st.DrawFn, dilation: int = 1, ceil_mode: bool = False) -> tuple[str, Shape]:
    """Text of kernel, stride and pads, and the shape they fit with kernel elements ``dilation`` apart.

    Aims at kernels wider than a part, strides longer than the kernel, padding wider than both, on one side alone
    too, and tails that no window reaches. With ``ceil_mode`` a kernel may be larger than the padded input.
    """
    axes = draw(st.integers(1, 3))
    most = {1: 9, 2: 6, 3: 4}[axes]
    kernels = [draw(st.integers(1, min(5, most))) for _ in range(axes)]
    pads = [draw(st.sampled_from([0, 0, 1, k - 1, k, k + 1])) for k in kernels]
    strides = [draw(st.integers(1, 4)) for _ in range(axes)]
    ends = [draw(st.sampled_from([p, p, 0, 1, k + 1])) for k, p in zip(kernels, pads, strict=True)]
    spare = [s - 1 if ceil_mode else 0 for s in strides]
    sides = zip(kernels, pads, ends, spare, strict=True)
    least = [max(1, (k - 1) * dilation + 1 - p - e - more) for k, p, e, more in sides]
    extents = [draw(st.integers(low, max(low, most) + 1)) for low in least]
    fields = zip("zyx"[-axes:], kernels, pads, ends, strides, strict=True)
    text = " ".join(
        f"kernel_{a}: {k} pad_{a}: {p} stride_{a}: {s}" + ("" if e == p else f" pad_end_{a}: {e}")
        for a, k, p, e, s in fields
    )
    channels = [draw(st.integers(1, 3))] if draw(st.booleans()) else []
    return f"spatial_axes: {axes} {text}", (draw(st.integers(1, 3)), *channels, *extents)


@st.composite
def convolution(draw: st.DrawFn, name: str) -> Case:
    dilation, groups = draw(st.sampled_from([1, 1, 2])), 1
    text, shape = draw(windows(dilation))
    if len(shape) == int(text.split()[1]) + 2 and draw(st.booleans()):
        groups = draw(st.integers(1, 3))
        shape = (shape[0], shape[1] * groups, *shape[2:])
    filters = groups * draw(st.integers(1, 4 if groups == 1 else 3))
    conf = f"num_filters: {filters} {text} dilation: {dilation} groups: {groups}"
    return Case(name, f"convolution_conf {{ {conf} }} {params(draw(st.integers(1, 2)))}", (Spec(shape),))


@st.composite
def transposed_convolution(draw: st.DrawFn, name: str) -> Case:
    """Strides longer than the kernel, and pads that swallow whole windows."""
    axes = draw(st.integers(1, 3))
    dilation = draw(st.sampled_from([1, 1, 2]))
    extra = draw(st.integers(0, 2))
    kernel, stride = draw(st.integers(1, 4 - axes // 3)), draw(st.integers(1, 3))
    extents = [draw(st.integers(1, 6 - axes)) for _ in range(axes)]
    most = min((n - 1) * stride + (kernel - 1) * dilation + extra for n in extents)
    pad = draw(st.integers(0, most // 2))
    fields = f"kernel: {kernel} stride: {stride} pad: {pad} dilation: {dilation}"
    fields += draw(st.sampled_from(["", f" pad_end: {draw(st.integers(0, most - pad))}"]))
    channels = [draw(st.integers(1, 3))] if draw(st.booleans()) else []
    groups = draw(st.integers(1, 2)) if channels else 1
    channels = [groups * many for many in channels]
    conf = f"num_filters: {groups * draw(st.integers(1, 3))} groups: {groups} spatial_axes: {axes}"
    conf += f" {fields} output_pad: {extra}"
    shape = draw(st.integers(1, 3)), *channels, *extents
    return Case(name, f"convolution_conf {{ {conf} }} {params(draw(st.integers(1, 2)))}", (Spec(shape),))


@st.composite
def upsampling(draw: st.DrawFn, name: str) -> Case:
    factor, method = draw(st.integers(1, 4)), draw(st.sampled_from(["NEAREST", "LINEAR"]))
    return Case(name, f"upsampling_conf {{ factor: {factor} method: {method} }}", (Spec(draw(shapes(3, 5, 3))),))


@st.composite
def feature_norm(draw: st.DrawFn, name: str, most: int) -> Case:
    shape = draw(shapes())
    axis = draw(st.sampled_from([a for a in range(1 - len(shape), len(shape)) if a]))
    conf = f"norm_conf {{ axis: {axis} epsilon: 0.01 }} {params(draw(st.integers(0, most)))}"
    return Case(name, conf, (Spec(shape),))


@st.composite
def group_norm(draw: st.DrawFn, name: str) -> Case:
    groups, (rows, share, *space) = draw(st.integers(1, 3)), draw(shapes(extent=3))
    conf = f"norm_conf {{ groups: {groups} epsilon: 0.01 }} {params(draw(st.integers(0, 2)))}"
    return Case(name, conf, (Spec((rows, groups * share, *space)),))


@st.composite
def crop(draw: st.DrawFn, name: str) -> Case:
    shape = draw(shapes())
    boxes = [(draw(st.integers(1, n)), n) for n in shape[1:]]
    starts = [draw(st.sampled_from([-1, 0, n - m])) for m, n in boxes]
    conf = f"crop_conf {{ shape: [{', '.join(str(m) for m, _ in boxes)}] start: [{', '.join(map(str, starts))}] }}"
    return Case(name, conf, (Spec(shape),))


@st.composite
def matmul(draw: st.DrawFn, name: str) -> Case:
    lead, (rows, terms, columns) = draw(shapes(1, 3, 3)), draw(shapes(3, 3))
    flips = draw(st.tuples(st.booleans(), st.booleans()))
    pairs = [pair[::-1] if flip else pair for pair, flip in zip(((rows, terms), (terms, columns)), flips, strict=True)]
    conf = f"matmul_conf {{ transpose_a: {str(flips[0]).lower()} transpose_b: {str(flips[1]).lower()} }}"
    return Case(name, conf, tuple(Spec((*lead, *pair)) for pair in pairs))


@st.composite
def attention(draw: st.DrawFn, name: str) -> Case:
    lead, (queries, keys, width, values) = draw(shapes(1, 3, 3)), draw(shapes(4, 4))
    causal = draw(st.booleans())
    keys = queries if causal else keys
    masks = draw(st.sampled_from([(), (Spec((lead[0], keys), INT),), (Spec((lead[0], keys)),)]))
    pad = f"pad_value: {draw(st.integers(0, 2))}" if masks else ""
    more = f"scale: {draw(st.sampled_from([0, 2]))} dropout_ratio: {draw(st.sampled_from([0, 0.4]))} {pad}"
    conf = f"attention_conf {{ causal: {str(causal).lower()} {more} }}"
    pairs = (queries, width), (keys, width), (keys, values)
    return Case(name, conf, (*(Spec((*lead, *pair)) for pair in pairs), *masks))


@st.composite
def embedding(draw: st.DrawFn, name: str) -> Case:
    shape = draw(shapes(1, 3))
    vocabulary = prod(shape[1:]) + draw(st.integers(0, 3))
    conf = f"embedding_conf {{ vocab_size: {vocabulary} feature_dim: {draw(st.integers(1, 4))} }} {params(1)}"
    return Case(name, conf, (Spec(shape, INT),))


def rotary(name: str) -> st.SearchStrategy[Case]:
    sources = shapes(3, 4).map(lambda shape: (Spec((*shape[:-1], 2 * shape[-1])),))
    return sources.map(lambda inputs: Case(name, "rotary_conf { base: 10 }", inputs))


@st.composite
def pooling(draw: st.DrawFn, name: str) -> Case:
    ceil_mode = draw(st.booleans())
    text, shape = draw(windows(ceil_mode=ceil_mode))
    text += f" ceil_mode: {ceil_mode}".lower()
    text += draw(st.sampled_from(["", " count_include_pad: true", " count_include_pad: false"]))
    return Case(name, f"pooling_conf {{ pool: {draw(st.sampled_from(['MAX', 'AVG']))} {text} }}", (Spec(shape),))


@st.composite
def inner_product(draw: st.DrawFn, name: str) -> Case:
    bias, transpose = draw(st.booleans()), draw(st.booleans())
    shape = draw(shapes())
    axis = draw(st.integers(1, len(shape) - 1))
    flags = f"bias_term: {str(bias).lower()} transpose: {str(transpose).lower()} axis: {axis}"
    conf = f"innerproduct_conf {{ num_output: {draw(st.integers(1, 5))} {flags} }} {params(1 + bias)}"
    return Case(name, conf, (Spec(shape),))


@st.composite
def lrn(draw: st.DrawFn, name: str) -> Case:
    size, beta = draw(st.sampled_from([1, 3, 5, 7])), draw(st.sampled_from([0.5, 0.75]))
    rows, channels = draw(st.integers(1, 3)), draw(st.integers(1, 9))
    conf = f"lrn_conf {{ local_size: {size} alpha: 0.7 beta: {beta} knorm: 1.5 }}"
    return Case(name, conf, (Spec((rows, channels, *draw(shapes(0, 3, 3)))),))


def elementwise(name: str, conf: str = "") -> st.SearchStrategy[Case]:
    return shapes(1, 4).map(lambda shape: Case(name, conf, (Spec(shape),)))


def activation(name: str) -> st.SearchStrategy[Case]:
    kinds = st.sampled_from(ActivationProto.ActivationType.keys())
    return kinds.flatmap(lambda kind: elementwise(name, f"activation_conf {{ type: {kind} alpha: 0.7 }}"))


@st.composite
def softmax(draw: st.DrawFn, name: str) -> Case:
    groups = draw(st.integers(1, 3))
    shape = draw(st.integers(1, 5)), groups * draw(st.integers(1, 4))
    if draw(st.booleans()):
        return Case(name, f"softmax_conf {{ num_softmax_per_instance: {groups} }}", (Spec(shape),))
    deep = draw(shapes())
    axis = draw(st.sampled_from([axis for axis in range(1 - len(deep), len(deep)) if axis]))
    return Case(name, f"softmax_conf {{ axis: {axis} }}", (Spec(deep),))


@st.composite
def combination(draw: st.DrawFn, name: str) -> Case:
    """Sources of one shape, or some of them shrunk to 1 on some axes."""
    shape, few = draw(shapes(1)), draw(st.sampled_from([0, 0, 1, 2]))
    shrunk = [draw(st.sets(st.integers(0, len(shape) - 1), max_size=few)) for _ in range(draw(st.integers(1, 3)))]
    return Case(name, "", tuple(Spec(tuple(1 if a in s else n for a, n in enumerate(shape))) for s in shrunk))


@st.composite
def slices(draw: st.DrawFn, name: str) -> Case:
    """One part: a layer alone reads all of its source. Several are read by several layers of a net, as those of
    ``sketch.py`` and of ``tests/graph/test_slices.py``."""
    shape = draw(shapes(1))
    return Case(
        name, f"slice_conf {{ slice_dim: {draw(st.integers(0, len(shape) - 1))} num_slices: 1 }}", (Spec(shape),)
    )


@st.composite
def concate(draw: st.DrawFn, name: str) -> Case:
    shape = draw(shapes())
    axis, widths = draw(st.integers(0, len(shape) - 1)), draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    specs = tuple(Spec((*shape[:axis], width, *shape[axis + 1 :])) for width in widths)
    return Case(name, f"concate_conf {{ concate_dim: {axis} }}", specs)


@st.composite
def reshape(draw: st.DrawFn, name: str) -> Case:
    """The prime factors of one row's size, put together anew."""
    shape = draw(shapes(extent=6))
    factors = [p for n in shape[1:] for p in {4: [2, 2], 6: [2, 3]}.get(n, [n])]
    new = [1] * draw(st.integers(1, 4))
    for factor in factors:
        new[draw(st.integers(0, len(new) - 1)) if draw(st.booleans()) else -1] *= factor
    if draw(st.booleans()):
        new[draw(st.integers(0, len(new) - 1))] = -1
    conf = " ".join(f"shape: {n}" for n in new)
    return Case(name, f"reshape_conf {{ {conf} }}", (Spec(shape),))


@st.composite
def transpose(draw: st.DrawFn, name: str) -> Case:
    shape = draw(shapes())
    order = draw(st.permutations(range(1, len(shape))))
    return Case(name, f"transpose_conf {{ {' '.join(f'axis: {a}' for a in order)} }}", (Spec(shape),))


def global_pooling(name: str) -> st.SearchStrategy[Case]:
    methods = st.sampled_from(["AVG", "MAX"])
    confs = methods.map(lambda method: f"globalpooling_conf {{ pool: {method} }}")
    return st.builds(lambda conf, shape: Case(name, conf, (Spec(shape),)), confs, shapes(3, 5))


@st.composite
def labelled(draw: st.DrawFn, name: str, field: str, more: str = "") -> Case:
    shape = draw(shapes(2, 4, 4))
    places = draw(st.integers(1, len(shape) - 1))
    topk = draw(st.integers(1, prod(shape[places:])))
    sources = Spec(shape, FLOAT), Spec(shape[:places], INT)
    return Case(name, f"{field} {{ topk: {topk} {more} {draw(ignored())} }}", sources)


def ignored() -> st.SearchStrategy[str]:
    """Text of an ignored label, a class or none."""
    return st.sampled_from(["", "ignore_index: -1", "ignore_index: 0", "ignore_index: 255"])


@st.composite
def class_weights(draw: st.DrawFn, classes: int) -> str:
    """Text of a weight per class, some of them 0, or of none."""
    if draw(st.booleans()):
        return ""
    drawn = [draw(st.sampled_from([0.5, 0.0, 2.0, 1.25])) for _ in range(classes - 1)]
    return " ".join(f"class_weight: {weight}" for weight in (*drawn, 0.75))


@st.composite
def weighted(draw: st.DrawFn, name: str, more: str, means: tuple[str, ...] = ("ROWS", "WEIGHTS")) -> Case:
    """A softmax loss with weights and ignored labels, divided by either."""
    found = draw(labelled(name, "softmaxloss_conf", more))
    classes = prod(found.inputs[0].shape[found.inputs[1].rank :])
    more = f"{draw(class_weights(classes))} normalisation: {draw(st.sampled_from(means))}"
    return replace(found, conf=found.conf.replace("}", f"{more} }}"))


def confusion(name: str) -> st.SearchStrategy[Case]:
    return st.builds(
        lambda shape, ignored: Case(name, f"argsort_conf {{ {ignored} }}", (Spec(shape), Spec(shape[:1], INT))),
        shapes(2, 2),
        ignored(),
    )


@st.composite
def vocabulary(draw: st.DrawFn, name: str, half: str) -> Case:
    shape = (*draw(shapes(1, 3, 3)), draw(st.integers(1, 24)))
    conf = f"topk: {draw(st.integers(1, min(3, shape[-1])))} scale: 1.5 label_smoothing: 0.3"
    conf += f" {draw(class_weights(shape[-1]))}"
    return Case(name, f"softmaxloss_conf {{ {conf} }}", (Spec(shape), Spec(shape[:-1], INT)), half)


@st.composite
def euclidean_loss(draw: st.DrawFn, name: str) -> Case:
    shape = draw(shapes())
    target = draw(st.sampled_from([shape, (shape[0], prod(shape[1:]))]))
    return Case(name, "", (Spec(shape), Spec(target)))


@st.composite
def distance_loss(draw: st.DrawFn, name: str, conf: str = "") -> Case:
    """With a delta in the middle of the distances that the laws draw."""
    found = draw(euclidean_loss(name))
    return Case(name, f"loss_conf {{ scale: 1.5 {conf} }}", found.inputs)


@st.composite
def binary_loss(draw: st.DrawFn, name: str) -> Case:
    shape = draw(shapes())
    label = draw(st.sampled_from([shape, (shape[0], prod(shape[1:]))]))
    weights = draw(st.sampled_from([0, 1, shape[1]]))
    conf = " ".join(["scale: 1.5", *(f"positive_weight: {0.5 + k}" for k in range(weights))])
    return Case(name, f"loss_conf {{ {conf} }}", (Spec(shape), Spec(label, INT)))


@st.composite
def images(draw: st.DrawFn, name: str) -> Case:
    rows, channels, side = (draw(st.integers(1, n)) for n in (3, 3, 5))
    crop = draw(st.integers(0, side))
    conf = f"rgbimage_conf {{ cropsize: {crop} mirror: {str(draw(st.booleans())).lower()} scale: 0.5 }}"
    return Case(name, conf, (Spec((rows, channels, side, side)),))


@st.composite
def label_sums(draw: st.DrawFn, name: str) -> Case:
    return replace(draw(weighted(name, "", ("WEIGHTS",))), half="inner")


@st.composite
def batch_norm(draw: st.DrawFn, name: str, half: str = "") -> Case:
    frozen = str(not half and draw(st.booleans())).lower()
    conf = f"bm_conf {{ epsilon: 0.3 momentum: 0.7 frozen: {frozen} }} {params(draw(st.integers(0, 4)))}"
    return Case(name, conf, (Spec(draw(shapes(extent=3))),), half)


CASES: dict[str, st.SearchStrategy[Case]] = {
    "kConvolution": convolution("kConvolution"),
    "kCConvolution": convolution("kCConvolution"),
    "kCudnnConv": convolution("kCudnnConv"),
    "kTransposedConvolution": transposed_convolution("kTransposedConvolution"),
    "kUpsampling": upsampling("kUpsampling"),
    "kPooling": pooling("kPooling"),
    "kCPooling": pooling("kCPooling"),
    "kCudnnPool": pooling("kCudnnPool"),
    "kInnerProduct": inner_product("kInnerProduct"),
    "kLayerNorm": feature_norm("kLayerNorm", 2),
    "kRMSNorm": feature_norm("kRMSNorm", 1),
    "kGroupNorm": group_norm("kGroupNorm"),
    "kBM": batch_norm("kBM"),
    "kCudnnBM": batch_norm("kCudnnBM"),
    "kMatmul": matmul("kMatmul"),
    "kAttention": attention("kAttention"),
    "kEmbedding": embedding("kEmbedding"),
    "kPositions": shapes().map(lambda shape: Case("kPositions", params(1), (Spec(shape),))),
    "kRotary": rotary("kRotary"),
    "kCrop": crop("kCrop"),
    "kClassToken": shapes(3, 4).map(lambda shape: Case("kClassToken", params(1), (Spec(shape),))),
    "kLRN": lrn("kLRN"),
    "kCudnnLRN": lrn("kCudnnLRN"),
    "kReLU": elementwise("kReLU", "relu_conf { negative_slope: 0.25 }") | elementwise("kReLU"),
    "kSigmoid": elementwise("kSigmoid"),
    "kSTanh": elementwise("kSTanh"),
    "kActivation": activation("kActivation"),
    "kCudnnActivation": activation("kCudnnActivation"),
    "kDropout": elementwise("kDropout", "dropout_conf { dropout_ratio: 0.4 }"),
    "kSoftmax": softmax("kSoftmax"),
    "kCudnnSoftmax": softmax("kCudnnSoftmax"),
    "kAdd": combination("kAdd"),
    "kSum": combination("kSum"),
    "kMul": combination("kMul"),
    "kGate": shapes(1).map(lambda shape: Case("kGate", params(1), (Spec(shape),))),
    "kMax": combination("kMax"),
    "kFlatten": shapes().map(lambda shape: Case("kFlatten", "", (Spec(shape),))),
    "kReshape": reshape("kReshape"),
    "kTranspose": transpose("kTranspose"),
    "kGlobalPooling": global_pooling("kGlobalPooling"),
    "kConcate": concate("kConcate"),
    "kSlice": slices("kSlice"),
    "kSplit": elementwise("kSplit"),
    "kBridgeSrc": elementwise("kBridgeSrc"),
    "kBridgeDst": elementwise("kBridgeDst"),
    "kSoftmaxLoss": weighted("kSoftmaxLoss", "scale: 1.5 label_smoothing: 0.3"),
    "kCudnnSoftmaxLoss": weighted("kCudnnSoftmaxLoss", "bits: true"),
    "kEuclideanLoss": euclidean_loss("kEuclideanLoss"),
    "kBinaryLoss": binary_loss("kBinaryLoss"),
    "kL1Loss": distance_loss("kL1Loss"),
    "kHuberLoss": distance_loss("kHuberLoss", "delta: 0.4"),
    "kAccuracy": labelled("kAccuracy", "argsort_conf"),
    "kConfusion": confusion("kConfusion"),
    "kImagePreprocess": images("kImagePreprocess"),
}
"""Every layer type with sources of numbers."""

HALVES: dict[str, st.SearchStrategy[Case]] = {
    "inner of kSoftmaxLoss": vocabulary("kSoftmaxLoss", "inner"),
    "inner of kSoftmaxLoss by weights": label_sums("kSoftmaxLoss"),
    "inner of kBM": batch_norm("kBM", "inner"),
    "outer of kBM": batch_norm("kBM", "outer"),
}
"""The layers that an expansion inserts."""

ALL = {**CASES, **HALVES}

SYNTHETIC = ("kSyntheticInput", "kSyntheticMasks", "kSyntheticTokens")
FILES = (
    "kArrayInput", "kCSVInput", "kImageInput", "kLMDBData", "kLabel", "kMnist", "kNiftiInput", "kRGBImage",
    "kRecordInput", "kShardData", "kTarInput", "kTextInput", "kTokenInput",
)  # fmt: skip
INPUTS = (*FILES, *SYNTHETIC)
"""Every type that reads rows; ``tests/layers/test_inputs.py`` is their table."""

NO_GRADIENT = (
    "kAccuracy",
    "kConfusion",
    "kImagePreprocess",
    "inner of kSoftmaxLoss",
    "inner of kSoftmaxLoss by weights",
)

ELEMENT_LOSSES = ("kBinaryLoss", "kL1Loss", "kHuberLoss")
OBJECTIVES = {
    "kSoftmaxLoss": 1.0,
    "kCudnnSoftmaxLoss": 1.0,
    "kEuclideanLoss": 0.5,
    **dict.fromkeys(ELEMENT_LOSSES, 1.0),
}
"""Objective of a loss over its first metric, per row of the global mini-batch."""
