"""A conf that cannot work is refused when the layer is made: the error names layer, wish, fact and field."""

from __future__ import annotations

import pytest

from netpart.errors import ConfigError
from netpart.layers import layer_class
from netpart.spec import FLOAT, INT, RECORD, Spec
from tests.laws.cases import Case, params

IMAGE, ROWS = Spec((4, 3, 8, 8)), Spec((4, 10))
LABEL = Spec((4,), INT)
W, WB = params(1), params(2)
CONV, POOL = "convolution_conf", "pooling_conf"

REFUSED: list[tuple[str, str, tuple[Spec, ...], tuple[str | int, ...]]] = [
    ("kConvolution", f"{CONV} {{ }} {W}", (IMAGE,), (CONV, "num_filters")),
    ("kConvolution", f"{CONV} {{ num_filters: 0 }} {W}", (IMAGE,), (CONV, "num_filters")),
    ("kConvolution", f"{CONV} {{ num_filters: 2 kernel: 0 }} {W}", (IMAGE,), (CONV, "kernel")),
    ("kConvolution", f"{CONV} {{ num_filters: 2 kernel: 9 }} {W}", (IMAGE,), (CONV, "kernel")),
    ("kConvolution", f"{CONV} {{ num_filters: 2 stride_x: 0 }} {W}", (IMAGE,), (CONV, "stride_x")),
    ("kConvolution", f"{CONV} {{ num_filters: 2 pad: -1 }} {W}", (IMAGE,), (CONV, "pad")),
    ("kConvolution", f"{CONV} {{ num_filters: 2 spatial_axes: 4 }} {W}", (IMAGE,), (CONV, "spatial_axes")),
    ("kConvolution", f"{CONV} {{ num_filters: 2 spatial_axes: 1 }} {W}", (IMAGE,), (CONV,)),
    ("kConvolution", f"{CONV} {{ num_filters: 2 dilation: 0 }} {W}", (IMAGE,), (CONV, "dilation")),
    ("kConvolution", f"{CONV} {{ num_filters: 2 dilation_y: 4 }} {W}", (IMAGE,), (CONV, "kernel")),
    ("kConvolution", f"{CONV} {{ num_filters: 2 groups: 2 }} {W}", (IMAGE,), (CONV, "groups")),
    ("kConvolution", f"{CONV} {{ num_filters: 2 groups: 3 }} {W}", (IMAGE,), (CONV, "groups")),
    ("kConvolution", f"{CONV} {{ num_filters: 2 }}", (IMAGE,), ("param",)),
    ("kConvolution", f"{CONV} {{ num_filters: 2 }} {params(3)}", (IMAGE,), ("param",)),
    ("kConvolution", f"{CONV} {{ num_filters: 2 }} {W}", (), ("srclayers",)),
    ("kConvolution", f"{CONV} {{ num_filters: 2 }} {W}", (IMAGE, IMAGE), ("srclayers",)),
    ("kTransposedConvolution", f"{CONV} {{ num_filters: 2 groups: 3 }} {W}", (IMAGE,), (CONV, "groups")),
    ("kTransposedConvolution", f"{CONV} {{ num_filters: 2 pad: 5 }} {W}", (IMAGE,), (CONV, "pad")),
    ("kTransposedConvolution", f"{CONV} {{ num_filters: 2 output_pad: -1 }} {W}", (IMAGE,), (CONV, "output_pad")),
    ("kUpsampling", "", (ROWS,), ("srclayers", 0)),
    ("kUpsampling", "upsampling_conf { factor: 0 }", (IMAGE,), ("upsampling_conf", "factor")),
    ("kPooling", f"{POOL} {{ kernel: 9 }}", (IMAGE,), (POOL, "kernel")),
    ("kPooling", f"{POOL} {{ stride: 0 }}", (IMAGE,), (POOL, "stride")),
    ("kPooling", "", (ROWS,), (POOL,)),
    ("kInnerProduct", f"innerproduct_conf {{ num_output: 0 }} {WB}", (ROWS,), ("innerproduct_conf", "num_output")),
    ("kInnerProduct", f"innerproduct_conf {{ num_output: 3 }} {W}", (ROWS,), ("param",)),
    ("kInnerProduct", f"innerproduct_conf {{ num_output: 3 bias_term: false }} {WB}", (ROWS,), ("param",)),
    ("kInnerProduct", f"innerproduct_conf {{ num_output: 3 }} {WB}", (Spec((4,)),), ("srclayers", 0)),
    ("kInnerProduct", f"innerproduct_conf {{ num_output: 3 }} {WB}", (LABEL,), ("srclayers", 0)),
    ("kLRN", "lrn_conf { local_size: 4 }", (IMAGE,), ("lrn_conf", "local_size")),
    ("kLayerNorm", "norm_conf { axis: 0 }", (IMAGE,), ("norm_conf", "axis")),
    ("kLayerNorm", "norm_conf { axis: -4 }", (IMAGE,), ("norm_conf", "axis")),
    ("kLayerNorm", params(3), (IMAGE,), ("param",)),
    ("kRMSNorm", params(2), (IMAGE,), ("param",)),
    ("kGroupNorm", "norm_conf { groups: 2 }", (IMAGE,), ("norm_conf", "groups")),
    ("kMatmul", "", (IMAGE,), ("srclayers",)),
    ("kMatmul", "", (IMAGE, Spec((4, 3, 7, 8))), ("srclayers", 1)),
    ("kMatmul", "", (IMAGE, Spec((4, 2, 8, 8))), ("srclayers", 1)),
    ("kAttention", "", (IMAGE, Spec((4, 3, 8, 7)), IMAGE), ("srclayers", 1)),
    ("kAttention", "", (IMAGE, IMAGE, Spec((4, 3, 7, 8))), ("srclayers", 2)),
    ("kAttention", "attention_conf { causal: true }", (IMAGE, *[Spec((4, 3, 7, 8))] * 2), ("attention_conf", "causal")),
    ("kAttention", "", (IMAGE, IMAGE), ("srclayers",)),
    ("kAttention", "", (IMAGE, IMAGE, IMAGE, LABEL, LABEL), ("srclayers",)),
    ("kAttention", "", (IMAGE, IMAGE, IMAGE, LABEL), ("srclayers", 3)),
    ("kAttention", "", (IMAGE, IMAGE, IMAGE, Spec((4, 3), INT)), ("srclayers", 3)),
    ("kAttention", "", (IMAGE, IMAGE, IMAGE, Spec((), RECORD)), ("srclayers", 3)),
    ("kAttention", "attention_conf { pad_value: 1 }", (IMAGE,) * 3, ("attention_conf", "pad_value")),
    ("kAttention", "attention_conf { dropout_ratio: 1 }", (IMAGE,) * 3, ("attention_conf", "dropout_ratio")),
    ("kAttention", "attention_conf { dropout_ratio: -0.1 }", (IMAGE,) * 3, ("attention_conf", "dropout_ratio")),
    ("kEmbedding", f"embedding_conf {{ vocab_size: 9 }} {W}", (ROWS,), ("srclayers", 0)),
    ("kEmbedding", f"embedding_conf {{ }} {W}", (LABEL,), ("embedding_conf", "vocab_size")),
    (
        "kEmbedding",
        f"embedding_conf {{ vocab_size: 9 feature_dim: 0 }} {W}",
        (LABEL,),
        ("embedding_conf", "feature_dim"),
    ),
    ("kEmbedding", "embedding_conf { vocab_size: 9 }", (LABEL,), ("param",)),
    ("kPositions", "", (IMAGE,), ("param",)),
    ("kClassToken", "", (IMAGE,), ("param",)),
    ("kClassToken", "", (ROWS,), ("srclayers", 0)),
    ("kCrop", "", (ROWS,), ()),
    ("kCrop", "crop_conf { shape: 2 }", (ROWS,), ("crop_conf", "shape")),
    ("kCrop", "crop_conf { shape: 9999 start: 0 }", (ROWS,), ("crop_conf", "shape")),
    ("kRotary", "", (ROWS,), ("srclayers", 0)),
    ("kRotary", "", (Spec((4, 3, 7)),), ("srclayers", 0)),
    ("kRotary", "rotary_conf { base: 0 }", (IMAGE,), ("rotary_conf", "base")),
    ("kReLU", "", (Spec((), RECORD, 4),), ("srclayers", 0)),
    ("kDropout", "dropout_conf { dropout_ratio: 1 }", (ROWS,), ("dropout_conf", "dropout_ratio")),
    ("kDropout", "dropout_conf { dropout_ratio: -0.1 }", (ROWS,), ("dropout_conf", "dropout_ratio")),
    ("kSoftmax", "", (IMAGE,), ("srclayers", 0)),
    ("kSoftmax", "softmax_conf { num_softmax_per_instance: 3 }", (ROWS,), ("softmax_conf", "num_softmax_per_instance")),
    ("kAdd", "", (), ("srclayers",)),
    ("kAdd", "", (ROWS, Spec((4, 9))), ("srclayers", 1)),
    ("kMul", "", (ROWS, IMAGE), ("srclayers", 1)),
    ("kMax", "", (ROWS,) * 257, ("srclayers",)),
    ("kReshape", "", (ROWS,), ()),
    ("kReshape", "reshape_conf { shape: 3 shape: 3 }", (ROWS,), ("reshape_conf", "shape")),
    ("kReshape", "reshape_conf { shape: -1 shape: 3 }", (ROWS,), ("reshape_conf", "shape")),
    ("kReshape", "reshape_conf { shape: -1 shape: -1 }", (ROWS,), ("reshape_conf", "shape")),
    ("kReshape", "reshape_conf { shape: -5 shape: -2 }", (ROWS,), ("reshape_conf", "shape")),
    ("kTranspose", "", (ROWS,), ()),
    ("kTranspose", "transpose_conf { axis: 1 axis: 1 axis: 3 }", (IMAGE,), ("transpose_conf", "axis")),
    ("kGlobalPooling", "", (ROWS,), ("srclayers", 0)),
    ("kConcate", "", (), ("srclayers",)),
    ("kConcate", "concate_conf { concate_dim: -1 }", (ROWS, ROWS), ("concate_conf", "concate_dim")),
    ("kConcate", "concate_conf { concate_dim: 2 }", (ROWS, ROWS), ("concate_conf", "concate_dim")),
    ("kConcate", "concate_conf { concate_dim: 1 }", (ROWS, Spec((5, 10))), ("srclayers", 1)),
    ("kSlice", "", (ROWS, ROWS), ("srclayers",)),
    ("kSlice", "slice_conf { slice_dim: 2 }", (ROWS,), ("slice_conf", "slice_dim")),
    ("kPooling", "pooling_conf { kernel: 3 pad_end: -1 }", (IMAGE,), ("pooling_conf", "pad_end")),
    ("kPooling", "pooling_conf { kernel: 12 pad_end: 2 }", (IMAGE,), ("pooling_conf", "kernel")),
    ("kPooling", "pooling_conf { kernel: 10 stride: 2 ceil_mode: true }", (IMAGE,), ("pooling_conf", "kernel")),
    ("kConvolution", f"{CONV} {{ num_filters: 2 pad_end_x: -1 }} {WB}", (IMAGE,), (CONV, "pad_end_x")),
    ("kTransposedConvolution", f"{CONV} {{ num_filters: 2 pad_end: 12 }} {WB}", (IMAGE,), (CONV, "pad")),
    ("kSlice", "slice_conf { num_slices: 0 }", (ROWS,), ("slice_conf", "num_slices")),
    ("kSlice", "slice_conf { slice_dim: 1 num_slices: 3 }", (Spec((4, 10)),), ("slice_conf", "num_slices")),
    ("kSoftmaxLoss", "", (ROWS,), ("srclayers",)),
    ("kSoftmaxLoss", "", (ROWS, ROWS), ("srclayers", 1)),
    ("kSoftmaxLoss", "", (ROWS, Spec((5,), INT)), ("srclayers", 1)),
    ("kSoftmaxLoss", "softmaxloss_conf { topk: 11 }", (ROWS, LABEL), ("softmaxloss_conf", "topk")),
    ("kSoftmaxLoss", "softmaxloss_conf { class_weight: 1 }", (ROWS, LABEL), ("softmaxloss_conf", "class_weight")),
    ("kConfusion", "argsort_conf { topk: 2 }", (ROWS, LABEL), ("argsort_conf", "topk")),
    ("kSoftmaxLoss", "softmaxloss_conf { label_smoothing: 1 }", (ROWS, LABEL), ("softmaxloss_conf", "label_smoothing")),
    ("kInnerProduct", f"innerproduct_conf {{ num_output: 3 axis: 2 }} {WB}", (ROWS,), ("innerproduct_conf", "axis")),
    ("kEuclideanLoss", "", (ROWS, Spec((4, 9), FLOAT)), ("srclayers", 1)),
    ("kL1Loss", "", (ROWS, Spec((4, 9), FLOAT)), ("srclayers", 1)),
    ("kL1Loss", "", (ROWS,), ("srclayers",)),
    ("kL1Loss", "", (ROWS, Spec((4, 10), INT)), ("srclayers", 1)),
    ("kL1Loss", "loss_conf { delta: 2 }", (ROWS, ROWS), ("loss_conf", "delta")),
    ("kL1Loss", "loss_conf { positive_weight: 2 }", (ROWS, ROWS), ("loss_conf", "positive_weight")),
    ("kHuberLoss", "loss_conf { delta: 0 }", (ROWS, ROWS), ("loss_conf", "delta")),
    ("kHuberLoss", "loss_conf { delta: inf }", (ROWS, ROWS), ("loss_conf", "delta")),
    ("kHuberLoss", "loss_conf { positive_weight: 2 }", (ROWS, ROWS), ("loss_conf", "positive_weight")),
    ("kHuberLoss", "", (LABEL, ROWS), ("srclayers", 0)),
    ("kBinaryLoss", "", (ROWS, ROWS), ("srclayers", 1)),
    ("kBinaryLoss", "", (ROWS, LABEL), ("srclayers", 1)),
    ("kBinaryLoss", "", (ROWS, Spec((), RECORD, 4)), ("srclayers", 1)),
    ("kBinaryLoss", "loss_conf { delta: 1 }", (ROWS, Spec((4, 10), INT)), ("loss_conf", "delta")),
    (
        "kBinaryLoss",
        "loss_conf { positive_weight: [1, 2] }",
        (ROWS, Spec((4, 10), INT)),
        ("loss_conf", "positive_weight"),
    ),
    ("kBinaryLoss", "loss_conf { positive_weight: -1 }", (ROWS, Spec((4, 10), INT)), ("loss_conf", "positive_weight")),
    ("kSoftmax", "softmax_conf { axis: 0 }", (ROWS,), ("softmax_conf", "axis")),
    ("kSoftmax", "softmax_conf { axis: 4 }", (IMAGE,), ("softmax_conf", "axis")),
    ("kSoftmax", "softmax_conf { axis: -4 }", (IMAGE,), ("softmax_conf", "axis")),
    (
        "kSoftmax",
        "softmax_conf { axis: 1 num_softmax_per_instance: 3 }",
        (IMAGE,),
        ("softmax_conf", "num_softmax_per_instance"),
    ),
    ("kAccuracy", "argsort_conf { topk: 0 }", (ROWS, LABEL), ("argsort_conf", "topk")),
    ("kAccuracy", "argsort_conf { topk: 11 }", (ROWS, LABEL), ("argsort_conf", "topk")),
    ("kImagePreprocess", "rgbimage_conf { cropsize: 9 }", (IMAGE,), ("rgbimage_conf", "cropsize")),
    ("kImagePreprocess", "", (Spec((4, 3, 8, 7)),), ("rgbimage_conf", "cropsize")),
    ("kImagePreprocess", "rgbimage_conf { meanfile: 'm' }", (IMAGE,), ("rgbimage_conf", "meanfile")),
    ("kImagePreprocess", "", (ROWS,), ("srclayers", 0)),
]


@pytest.mark.parametrize(("name", "conf", "inputs", "at"), REFUSED)
def test_a_conf_that_cannot_work_is_refused(
    name: str, conf: str, inputs: tuple[Spec, ...], at: tuple[str | int, ...]
) -> None:
    with pytest.raises(ConfigError, match=r"^it: expected .+, got .+") as caught:
        Case(name, conf, inputs).layer()
    assert caught.value.at == at


def test_a_missing_weight_is_answered_with_what_to_write() -> None:
    with pytest.raises(ConfigError, match=r'write param \{ name: "it_w" init \{ type: kUniformSqrtFanIn \} \}'):
        Case("kConvolution", f"{CONV} {{ num_filters: 2 }}", (IMAGE,)).layer()


def test_an_unknown_type_is_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean kConvolution"):
        layer_class("kConvolutoin")
