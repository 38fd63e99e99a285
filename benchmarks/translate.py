"""Translation of a net of netpart for peers that do not import netpart: layers as JSON, weights and rows as tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.nets import BATCHES
from netpart.graph.build import type_name
from netpart.graph.net import Net, Node, Parameter
from netpart.initialisers import draw_initial_values
from netpart.kernels.philox import stream_key
from netpart.proto.job_pb2 import JobProto
from netpart.proto.updater_pb2 import UpdaterType
from netpart.spec import INT, whole_region

Json = dict[str, Any]
Arrays = dict[str, NDArray[Any]]


def describe(job: JobProto, net: Net) -> Json:
    """The layers of ``net`` in order, each with its ``op``, sources, parameters and ``args``, and the updater.

    Raises ValueError for a layer or an updater that has no translation.
    """
    layers = [describe_layer(net, node) for node in net.nodes if not node.layer.is_input]
    scales = {p.name: [p.spec.proto.lr_scale, p.spec.proto.wd_scale] for p in trained(net)}
    return {
        "layers": layers, "weights": [p.name for p in net.parameters], "scales": scales,
        "updater": describe_updater(job),
    }  # fmt: skip


def describe_updater(job: JobProto) -> Json:
    """The updater, with PyTorch's names."""
    conf = job.updater
    common = {"lr": conf.learning_rate.base_lr, "weight_decay": conf.weight_decay}
    if conf.type == UpdaterType.kSGD:
        return {"name": "SGD", "momentum": conf.momentum, **common}
    if conf.type == UpdaterType.kAdamW:
        return {"name": "AdamW", "betas": [conf.adamw_conf.beta1, conf.adamw_conf.beta2], "eps": conf.delta, **common}
    raise ValueError(f"expected kSGD or kAdamW, got {UpdaterType.Name(conf.type)}: translate it")


def describe_layer(net: Net, node: Node) -> Json:
    """One layer."""
    name = type_name(node.conf)
    name = next((short for short in ALIASES if name in ALIASES[short]), name)
    if name not in ARGUMENTS:
        raise ValueError(f"{node.name}: expected a layer that the peers have, got {name}: translate it")
    sources = [[net.nodes[s.node].name, s.output] for s in node.sources]
    return {
        "name": node.name, "op": name, "sources": sources, "params": [p.name for p in node.params],
        "args": ARGUMENTS[name](node.layer),
    }  # fmt: skip


ALIASES = {
    "kConvolution": ("kCConvolution", "kCudnnConv"), "kPooling": ("kCPooling", "kCudnnPool"),
    "kBM": ("kCudnnBM",), "kLRN": ("kCudnnLRN",), "kReshape": ("kFlatten",),
}  # fmt: skip


def sliding(found: Any) -> Json:
    """Kernel, stride and pad. Raises ValueError for windows that the peers do not have."""
    if found.ends != found.pad or found.ceil_mode:
        raise ValueError(f"expected windows with equal pads and extents rounded down, got {found}: translate it")
    return {"kernel": list(found.kernel), "stride": list(found.stride), "pad": list(found.pad)}


def pooled(layer: Any) -> Json:
    """The windows of a pooling, and its method. Raises ValueError for a mean without the border."""
    if layer.method == "AVG" and not layer.counts_padding:
        raise ValueError(f"{layer.name}: expected count_include_pad: true, got false: translate it")
    return sliding(layer.sliding) | {"method": layer.method}


def batch_norm(layer: Any) -> Json:
    """Epsilon, and the share of the running statistics that stays. Raises ValueError for frozen ones."""
    if layer.conf.bm_conf.frozen:
        raise ValueError(f"{layer.name}: expected statistics of the batch, got frozen ones: translate them")
    return {"epsilon": layer.epsilon, "keep": layer.conf.bm_conf.momentum}


def attention(layer: Any) -> Json:
    """Scale, and whether it is causal. Raises ValueError for a mask and for dropout."""
    if len(layer.inputs) > 3 or layer.drops:
        raise ValueError(f"{layer.name}: expected attention to all keys, got a mask or dropout: translate it")
    return {"scale": layer.scale, "causal": layer.conf.attention_conf.causal}


ARGUMENTS: dict[str, Callable[[Any], Json]] = {
    "kConvolution": lambda layer: sliding(layer.sliding) | {"groups": layer.groups},
    "kTransposedConvolution": lambda layer: sliding(layer.small),
    "kPooling": pooled,
    "kGlobalPooling": lambda layer: {"method": layer.method, "axes": list(range(2, layer.output.rank))},
    "kReLU": lambda layer: {},
    "kSTanh": lambda layer: {},
    "kActivation": lambda layer: {"kind": layer.kind()},
    "kLRN": lambda layer: {"size": layer.local_size, "factors": list(layer.factors)},
    "kInnerProduct": lambda layer: {"axis": layer.axis},
    "kDropout": lambda layer: {"ratio": layer.ratio},
    "kBM": batch_norm,
    "kLayerNorm": lambda layer: {"axes": len(layer.axes), "epsilon": layer.conf.norm_conf.epsilon},
    "kAdd": lambda layer: {},
    "kGate": lambda layer: {},
    "kConcate": lambda layer: {"axis": layer.axis},
    "kReshape": lambda layer: {"shape": list(layer.output.shape[1:])},
    "kTranspose": lambda layer: {"order": list(layer.moved_axes)},
    "kEmbedding": lambda layer: {},
    "kRotary": lambda layer: {"base": layer.conf.rotary_conf.base, "shape": list(layer.output.shape[-2:])},
    "kAttention": attention,
    "kSoftmaxLoss": lambda layer: {"places": layer.places},
}  # fmt: skip
"""By type: the arguments of a layer that a peer needs in addition to its sources and parameters."""


def trained(net: Net) -> Iterator[Parameter]:
    """The parameters that are learned, each once."""
    return (p for p in net.parameters if p.spec.running is None)


def weights(net: Net, seed: int) -> Arrays:
    """First values of every parameter, by its name, as a run initialises them."""
    return {
        p.name: draw_initial_values(
            p.spec.proto.init, stream_key(seed, p.name, "init"), whole_region(p.spec.shape), p.spec.shape, p.spec.matrix
        ).astype(np.float32)
        for p in net.parameters
    }


def rows(net: Net, seed: int) -> Arrays:
    """The mini-batches of the only input: ``SOURCE.OUTPUT.BATCH``, e.g. data.0.1 for the values of the second one."""
    (node,) = (node for node in net.nodes if node.layer.is_input)
    layer: Any = node.layer
    source, found = layer.open(layer.output.shape[0], seed, 1), Arrays()
    for batch in range(BATCHES):
        arrays = [np.empty(spec.shape, np.int32 if spec.dtype == INT else np.float32) for spec in layer.outputs]
        source.read(batch, 0, len(arrays[0]), *arrays)
        found |= {f"{node.name}.{output}.{batch}": array for output, array in enumerate(arrays)}
    return found
