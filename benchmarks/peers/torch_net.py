"""A net of netpart as a PyTorch module, translated by benchmarks.translate: one function per type of layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn
from torch.nn import functional as f

Args = dict[str, Any]
Op = Callable[[Args, list[Any], list[Any]], Any]
"""From the arguments of a layer, its parameters and its inputs to its output."""

OUTER, INNER = 1.7159047, 0.66666667
"""The scaled tanh of LeCun et al., Efficient BackProp, 1998, section 4.4."""


def convolution(a: Args, w: list[Any], x: list[Any]) -> Any:
    """x (B, C, *space), w (F, C / groups, *kernel)."""
    conv = (f.conv1d, f.conv2d, f.conv3d)[len(a["kernel"]) - 1]
    return conv(x[0], *w, stride=a["stride"], padding=a["pad"], groups=a["groups"])


def transposed_convolution(a: Args, w: list[Any], x: list[Any]) -> Any:
    """x (B, C, *space), w (C, F, *kernel)."""
    conv = (f.conv_transpose1d, f.conv_transpose2d, f.conv_transpose3d)[len(a["kernel"]) - 1]
    return conv(x[0], *w, stride=a["stride"], padding=a["pad"])


def pooling(a: Args, w: list[Any], x: list[Any]) -> Any:
    """x (B, C, *space)."""
    axes = len(a["kernel"]) - 1
    pool = ((f.max_pool1d, f.max_pool2d, f.max_pool3d) if a["method"] == "MAX" else MEANS)[axes]
    return pool(x[0], a["kernel"], a["stride"], a["pad"])


MEANS = f.avg_pool1d, f.avg_pool2d, f.avg_pool3d


def global_pooling(a: Args, w: list[Any], x: list[Any]) -> Any:
    """x (B, C, *space) to (B, C, 1, ...)."""
    return x[0].mean(a["axes"], keepdim=True) if a["method"] == "AVG" else x[0].amax(a["axes"], keepdim=True)


def batch_norm(a: Args, w: list[Any], x: list[Any]) -> Any:
    """Two parameters are the running statistics, four are scale and shift before them; with ``fixed`` they are used."""
    *affine, mean, variance = w
    scale, shift = affine or (None, None)
    return f.batch_norm(x[0], mean, variance, scale, shift, not a.get("fixed"), 1 - a["keep"], a["epsilon"])


def layer_norm(a: Args, w: list[Any], x: list[Any]) -> Any:
    """Over the last axes."""
    scale, shift = (*w, None, None)[:2]
    return f.layer_norm(x[0], x[0].shape[-a["axes"] :], scale, shift, a["epsilon"])


def activation(a: Args, w: list[Any], x: list[Any]) -> Any:
    """By netpart's name of the function."""
    if a["kind"] == "gelu_tanh":
        return f.gelu(x[0], approximate="tanh")
    return {"gelu": f.gelu, "silu": f.silu, "tanh": torch.tanh, "sigmoid": torch.sigmoid}[a["kind"]](x[0])


def rotary(a: Args, w: list[Any], x: list[Any]) -> Any:
    """x (..., T, D): neighbours turned by angles whose cosine and sine (T, D / 2) are ready-made."""
    even, odd = x[0].unflatten(-1, (-1, 2)).unbind(-1)
    cos, sin = a["cos"], a["sin"]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


def attention(a: Args, w: list[Any], x: list[Any]) -> Any:
    """Queries, keys and values (..., T, D)."""
    query, key, value = x
    return f.scaled_dot_product_attention(query, key, value, is_causal=a["causal"], scale=a["scale"])


def softmax_loss(a: Args, w: list[Any], x: list[Any]) -> Any:
    """The mean of -log p over all rows and places."""
    return f.cross_entropy(x[0].flatten(0, a["places"] - 1).flatten(1), x[1].flatten())


OPS: dict[str, Op] = {
    "kConvolution": convolution,
    "kTransposedConvolution": transposed_convolution,
    "kPooling": pooling,
    "kGlobalPooling": global_pooling,
    "kReLU": lambda a, w, x: f.relu(x[0]),
    "kSTanh": lambda a, w, x: OUTER * torch.tanh(INNER * x[0]),
    "kActivation": activation,
    "kLRN": lambda a, w, x: f.local_response_norm(x[0], a["size"], *a["factors"]),
    "kInnerProduct": lambda a, w, x: f.linear(x[0].flatten(a["axis"]), *w),
    "kDropout": lambda a, w, x: f.dropout(x[0], a["ratio"]),
    "kBM": batch_norm,
    "kLayerNorm": layer_norm,
    "kAdd": lambda a, w, x: sum(x[1:], x[0]),
    "kGate": lambda a, w, x: x[0] * w[0],
    "kConcate": lambda a, w, x: torch.cat(x, a["axis"]),
    "kReshape": lambda a, w, x: x[0].reshape(x[0].shape[0], *a["shape"]),
    "kTranspose": lambda a, w, x: x[0].permute(a["order"]),
    "kEmbedding": lambda a, w, x: f.embedding(x[0], w[0]),
    "kRotary": rotary,
    "kAttention": attention,
    "kSoftmaxLoss": softmax_loss,
}


class TorchNet(nn.Module):  # type: ignore[misc]
    """The layers of ``description`` with first values ``weights``; called with the outputs of the input layer.

    Parameters have the names of netpart with "." for "/" and "-"; an inner product's weight is a matrix.
    """

    def __init__(self, description: Mapping[str, Any], weights: Mapping[str, Any]) -> None:
        super().__init__()
        self.layers = [layer | {"args": prepared(layer)} for layer in description["layers"]]
        flat = {p for layer in self.layers if layer["op"] == "kInnerProduct" for p in layer["params"][:1]}
        for name, value in weights.items():
            value = value.flatten(1) if name in flat else value
            if name in description["scales"]:
                self.register_parameter(safe(name), nn.Parameter(value.clone()))
            else:
                self.register_buffer(safe(name), value.clone())

    def forward(self, *inputs: Any) -> Any:
        """The loss."""
        found: dict[tuple[str, int], Any] = {}
        for layer in self.layers:
            sources = [found.get((name, output), inputs[output]) for name, output in layer["sources"]]
            w = [getattr(self, safe(name)) for name in layer["params"]]
            found[layer["name"], 0] = OPS[layer["op"]](layer["args"], w, sources)
        return found[self.layers[-1]["name"], 0]

    def groups(self, description: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Parameters by their own factors of learning rate and weight decay, as optimisers take them."""
        rule, found = description["updater"], dict[tuple[float, float], list[Any]]()
        for name, (lr, decay) in description["scales"].items():
            found.setdefault((lr, decay), []).append(getattr(self, safe(name)))
        return [
            {"params": params, "lr": rule["lr"] * lr, "weight_decay": rule["weight_decay"] * decay}
            for (lr, decay), params in found.items()
        ]


def prepared(layer: Args) -> Args:
    """The arguments of a layer, with values that need not be computed again in each step."""
    args: Args = layer["args"]
    if layer["op"] != "kRotary":
        return args
    positions, features = args["shape"]
    frequencies = args["base"] ** -(torch.arange(0, features, 2, dtype=torch.float64) / features)
    angles = torch.arange(positions, dtype=torch.float64)[:, None] * frequencies
    return {"cos": angles.cos().to(torch.get_default_dtype()), "sin": angles.sin().to(torch.get_default_dtype())}


def safe(name: str) -> str:
    """A parameter's name as an attribute."""
    return name.replace("/", "__").replace("-", "_")
