"""Profiles of nets: what each layer computes, hands on and keeps, and which layer reads which.

A profile is read from the text that PipeDream's profiler writes (Narayanan et al., SOSP 2019): a line for each layer
and then one for each edge,

    node2 -- ReLU() -- forward_compute_time=4.4, backward_compute_time=5.6, activation_size=1.6e9, parameter_size=0.0
    <tab>node1 -- node2

in milliseconds for a mini-batch and in bytes; or it is made from a job (``netpart.plan.price.layer_loads``). A
layer of several outputs lists the bytes of each, as in activation_size=[6291456.0; 131072.0]; together they are its
activation.
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
from netpart.proto.reader import decode_utf8, read_job_bytes

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
    """A layer: its work forward and backward for a mini-batch (seconds, or FLOPs), bytes of output and parameters."""

    name: str
    kind: str
    forward: float
    backward: float
    activation: float
    parameters: float

    @property
    def work(self) -> float:
        """Forward and backward together."""
        return self.forward + self.backward


@dataclass(frozen=True)
class NetProfile:
    """Layers in an order in which each stands behind those that it reads."""

    layers: tuple[LayerProfile, ...]
    edges: tuple[Edge, ...]

    @property
    def work(self) -> float:
        """That of all layers."""
        return sum(layer.work for layer in self.layers)

    @cached_property
    def readers(self) -> list[list[int]]:
        """Per layer, those that read it."""
        found: list[list[int]] = [[] for _ in self.layers]
        for source, target in self.edges:
            found[source].append(target)
        return found

    @cached_property
    def sources(self) -> list[list[int]]:
        """Per layer, those that it reads."""
        found: list[list[int]] = [[] for _ in self.layers]
        for source, target in self.edges:
            found[target].append(source)
        return found

    def __repr__(self) -> str:
        return f"NetProfile({len(self.layers)} layers, {len(self.edges)} edges)"


def read_profile(path: Path) -> NetProfile:
    """The profile in file ``path``; raises ConfigError, with its place, for a line that is neither layer nor edge.

    Inputs, whose time is that of loading data, and what is taken out of a tuple that nobody reads, are left out.
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
    """The layer of one line."""
    found = NODE.fullmatch(line)
    figures = dict(FIGURE.findall(found["figures"])) if found else {}
    try:
        if found is None:
            raise KeyError("NAME -- TYPE -- FIGURES")
        forward, backward, activation, parameters = (_sum_figures(figures[name]) for name in FIGURES)
    except (KeyError, ValueError) as error:
        expected = f"NAME -- TYPE -- {'=, '.join(FIGURES)}="
        hint = f"mend {clip_text(str(error))}"
        raise ConfigError("profile", expected, repr(line[:60]), hint, position=position) from None
    return LayerProfile(found["name"], found["kind"], forward * MILLI, backward * MILLI, activation, parameters)


def _sum_figures(text: str) -> float:
    """The number that ``text`` is, or the sum of those that it lists: ``[1.5; 2.5]``. Raises ValueError for others."""
    numbers = [float(number) for number in text.removeprefix("[").removesuffix("]").split(";")]
    if not all(isfinite(number) and number >= 0 for number in numbers):
        raise ValueError(f"{text!r}, a number of 0 or more is expected")
    return sum(numbers)


def _named_edges(
    layers: dict[str, LayerProfile], edges: Sequence[tuple[str, str, Position]]
) -> Iterator[tuple[str, str]]:
    """The edges by names; raises ConfigError for a name that is no layer's."""
    for source, target, position in edges:
        for name in (source, target):
            if name not in layers:
                raise ConfigError("profile", "an edge between layers", repr(name), "add its line", position=position)
        yield source, target


def _make_profile(layers: dict[str, LayerProfile], edges: Sequence[tuple[str, str]]) -> NetProfile:
    """A profile of what takes part in training, in topological order; raises ConfigError for a cycle."""
    read = {source for source, _ in edges}
    kept = {n for n, layer in layers.items() if not _is_ignored_layer(layer, n in read)}
    order = _sort_layers([n for n in layers if n in kept], [e for e in edges if e[0] in kept and e[1] in kept])
    index = {name: i for i, name in enumerate(order)}
    between = sorted((index[s], index[t]) for s, t in edges if s in kept and t in kept)
    return NetProfile(tuple(layers[name] for name in order), tuple(between))


def _is_ignored_layer(layer: LayerProfile, read: bool) -> bool:
    """True for what is no work of the net."""
    return layer.kind.startswith("Input") or (layer.kind.startswith("__getitem__") and not read)


def _sort_layers(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[str]:
    """``names`` so that each stands behind those that it reads; raises ConfigError for a cycle."""
    missing = {name: sum(target == name for _, target in edges) for name in names}
    ready = [name for name in names if not missing[name]]
    for name in ready:
        for target in (t for s, t in edges if s == name):
            missing[target] -= 1
            if not missing[target]:
                ready.append(target)
    if len(ready) < len(names):
        stuck = ", ".join(name for name in names if name not in ready)
        raise ConfigError("profile", "layers without a cycle", stuck, "remove an edge among them")
    return ready
