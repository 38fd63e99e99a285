"""Profiles of nets: the work, output size and parameter size of each layer, and the edges between layers.

A profile is read from the text that PipeDream's profiler writes (Narayanan et al., SOSP 2019): a line for each layer,
followed by a line for each edge,

    node2 -- ReLU() -- forward_compute_time=4.4, backward_compute_time=5.6, activation_size=1.6e9, parameter_size=0.0
    <tab>node1 -- node2

with times in milliseconds for a mini-batch and sizes in bytes. Or it is made from a job
(``netpart.plan.price.layer_loads``). A layer with several outputs lists the bytes of each, as in
activation_size=[6291456.0; 131072.0]; their sum is its activation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from netpart.errors import ConfigError, Position, clip_text
from netpart.proto.job_files import decode_utf8, read_job_bytes

Floats = np.ndarray[Any, np.dtype[np.float64]]
Edge = tuple[int, int]
"""(the layer that is read, the layer that reads it)."""

NODE = re.compile(r"(?P<name>\S+) -- (?P<kind>.*) -- (?P<figures>forward_compute_time=.*)")
EDGE = re.compile(r"\t(?P<source>\S+) -- (?P<target>\S+)")
FIGURE = re.compile(r"(\w+)=(\[[^\]]*\]|[^\s,]+)")
FIGURES = ("forward_compute_time", "backward_compute_time", "activation_size", "parameter_size")
MILLI = 1e-3


@dataclass(frozen=True)
class LayerProfile:
    """One layer: its work forward and backward for a mini-batch (seconds or FLOPs), bytes of output and parameters."""

    name: str
    kind: str
    forward: float
    backward: float
    activation: float
    parameters: float

    @property
    def work(self) -> float:
        """Work forward and backward together."""
        return self.forward + self.backward


@dataclass(frozen=True)
class NetProfile:
    """Layers in an order in which each follows those that it reads, and the edges between them, by index."""

    layers: tuple[LayerProfile, ...]
    edges: tuple[Edge, ...]

    @property
    def work(self) -> float:
        """Work of all layers."""
        return sum(layer.work for layer in self.layers)

    @cached_property
    def readers(self) -> list[list[int]]:
        """Per layer, the layers that read it."""
        found: list[list[int]] = [[] for _ in self.layers]
        for source, target in self.edges:
            found[source].append(target)
        return found

    @cached_property
    def sources(self) -> list[list[int]]:
        """Per layer, the layers that it reads."""
        found: list[list[int]] = [[] for _ in self.layers]
        for source, target in self.edges:
            found[target].append(source)
        return found

    def __repr__(self) -> str:
        return f"NetProfile({len(self.layers)} layers, {len(self.edges)} edges)"


def read_profile(path: Path) -> NetProfile:
    """Read the profile in file ``path``; raise ConfigError, with its place, for a line that is neither layer nor edge.

    Inputs are omitted, as their time is that of loading data, and so are elements of a tuple that no layer reads.
    """
    layers = dict[str, LayerProfile]()
    edges = list[tuple[str, str, Position]]()
    for number, line in enumerate(decode_utf8(read_job_bytes(path, "a profile"), str(path)).splitlines(), start=1):
        position = Position(str(path), number, 1)
        if edge := EDGE.fullmatch(line.rstrip()):
            edges.append((edge["source"], edge["target"], position))
        elif line.strip():
            layer = _read_layer(line.strip(), position)
            layers[layer.name] = layer
    if not layers:
        raise ConfigError(str(path), "a profile", "no layers", "a line is: NAME -- TYPE -- forward_compute_time=…, …")
    return _make_profile(layers, list(_named_edges(layers, edges)))


def _read_layer(line: str, position: Position) -> LayerProfile:
    """The layer in one line; raises ConfigError, at ``position``, for a malformed line."""
    found = NODE.fullmatch(line)
    figures = dict(FIGURE.findall(found["figures"])) if found else {}
    try:
        if found is None:
            raise KeyError("NAME -- TYPE -- FIGURES")
        forward, backward, activation, parameters = (_sum_figures(figures[name]) for name in FIGURES)
    except (KeyError, ValueError) as error:
        expected = f"NAME -- TYPE -- {'=, '.join(FIGURES)}="
        hint = f"correct {clip_text(str(error))}"
        raise ConfigError("profile", expected, repr(line[:60]), hint, position=position) from None
    return LayerProfile(found["name"], found["kind"], forward * MILLI, backward * MILLI, activation, parameters)


def _sum_figures(text: str) -> float:
    """The number in ``text``, or the sum of the numbers that it lists: ``[1.5; 2.5]``. Raises ValueError for others."""
    numbers = [float(number) for number in text.removeprefix("[").removesuffix("]").split(";")]
    if not all(isfinite(number) and number >= 0 for number in numbers):
        raise ValueError(f"{text!r}, a number of 0 or more is expected")
    return sum(numbers)


def _named_edges(
    layers: dict[str, LayerProfile], edges: Sequence[tuple[str, str, Position]]
) -> Iterator[tuple[str, str]]:
    """The edges by names; raises ConfigError for a name that is not a layer."""
    for source, target, position in edges:
        for name in (source, target):
            if name not in layers:
                raise ConfigError("profile", "an edge between layers", repr(name), "add its line", position=position)
        yield source, target


def _make_profile(layers: dict[str, LayerProfile], edges: Sequence[tuple[str, str]]) -> NetProfile:
    """A profile of the layers that take part in training, in topological order; raises ConfigError for a cycle."""
    read = {source for source, _ in edges}
    kept = {n for n, layer in layers.items() if not _is_ignored_layer(layer, n in read)}
    order = _sort_layers([n for n in layers if n in kept], [e for e in edges if e[0] in kept and e[1] in kept])
    index = {name: i for i, name in enumerate(order)}
    between = sorted((index[s], index[t]) for s, t in edges if s in kept and t in kept)
    return NetProfile(tuple(layers[name] for name in order), tuple(between))


def _is_ignored_layer(layer: LayerProfile, read: bool) -> bool:
    """True for layers without work of the net: inputs, and tuple elements that no layer reads."""
    return layer.kind.startswith("Input") or (layer.kind.startswith("__getitem__") and not read)


def _sort_layers(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[str]:
    """Sort ``names`` so that each follows those that it reads; raise ConfigError for a cycle."""
    missing = {name: sum(target == name for _, target in edges) for name in names}
    ready = [name for name in names if not missing[name]]
    # Kahn's algorithm. ``ready`` grows while it is iterated, so the loop also visits the layers that become ready in
    # it.
    for name in ready:
        for target in (t for s, t in edges if s == name):
            missing[target] -= 1
            if not missing[target]:
                ready.append(target)
    if len(ready) < len(names):
        stuck = ", ".join(name for name in names if name not in ready)
        raise ConfigError("profile", "layers without a cycle", stuck, "remove an edge among them")
    return ready
