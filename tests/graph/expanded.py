"""Jobs with layers that are expanded where they are cut."""

from __future__ import annotations

from netpart.proto.job_pb2 import JobProto
from tests.graph.jobs import data, job, layer, product

FILTERS = "convolution_conf { num_filters: 4 kernel: 3 pad: 1 } param { init { type: kGaussian std: 0.3 } }"
NORM = "epsilon: 0.1"
SCALED = "param { init { type: kGaussian } } param { init { type: kGaussian } }"


def normed(cut: str, rows: int = 7, norm: str = NORM, space: str = "shape: 6 shape: 6") -> JobProto:
    """A convolution, a batch norm, a sigmoid and a loss; the first three cut alike."""
    axes = f"spatial_axes: {space.count('shape')}"
    filters = FILTERS.replace("kernel", f"{axes} kernel")
    return job(
        data(rows, f"shape: 3 {space}"),
        layer("conv", "kConvolution", "data", more=f"{filters} {cut}"),
        layer("bn", "kBM", "conv", more=f"bm_conf {{ {norm} }} {SCALED} {cut}"),
        layer("act", "kSigmoid", "bn", more=cut),
        product("fc", "act", 4, "partition_dim: 0"),
        layer("loss", "kSoftmaxLoss", "fc", "data"),
    )


def classified(cut: str, classes: int = 40, topk: int = 2, rows: int = 6) -> JobProto:
    """An inner product and a loss, cut alike."""
    conf = f"softmaxloss_conf {{ topk: {topk} label_smoothing: 0.1 scale: 0.5 }}"
    return job(
        data(rows, "shape: 5", classes),
        product("fc", "data", classes, cut),
        layer("loss", "kSoftmaxLoss", "fc", "data", more=f"{conf} {cut}"),
    )
