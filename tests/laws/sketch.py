"""Sketch: a random net in the making. Every value that it draws stands in the table (``options.py``).

A max-pooling whose window holds equal numbers has no gradient to agree on (regions.md, D13), so the sketch
remembers which tensors may hold some (``tied``) and never takes a maximum of those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

from hypothesis import strategies as st

from netpart.layers import layer_class
from netpart.layers.layer import Layer
from netpart.proto.job_pb2 import JobProto, LayerProto, LayerType
from netpart.proto.param_pb2 import InitMethod
from netpart.spec import FLOAT, Shape, Spec, size
from tests.laws.options import CUT, JOB, LAYERS, PARAM, UPDATER, Options

T = TypeVar("T")

MOST_ELEMENTS = 200
"""Elements of one row of a tensor, at most."""

TABLES: dict[str, Options] = {**LAYERS, "job": JOB, "updater": UPDATER, "param": PARAM, "cut": CUT}
"""What can be in the spotlight: a layer type, or what every job says."""
LEAST_TURNS = 7
MANY_TURNS = {
    "kSoftmax": 18, "kConvolution": 12, "kTransposedConvolution": 12, "kPooling": 12, "job": 12, "param": 12, "cut": 18,
}  # fmt: skip
"""So many nets at least are drawn of a line, for a layer may be cut in five ways; and of those with options that only
some nets have, as those of the third axis of a window."""
LINES = {name: kind for kind, options in LAYERS.items() for name in options.get("type", (kind,))}
"""The line of the table for every name of a layer type."""


def turns(kind: str) -> int:
    """How many nets it takes to draw all values of ``kind``, and all ways in which it may be cut."""
    if kind in MANY_TURNS:
        return MANY_TURNS[kind]
    return max(LEAST_TURNS, *map(len, TABLES[kind].values()), 0)


class Spot(NamedTuple):
    """What a net is drawn for: the options of ``kind`` have their values number ``turn``, around and around.

    ``shuffled`` moves all other draws by numbers that depend on the spot alone: then also the simplest example of
    hypothesis is one of its own, which is all that is drawn of the committed ones.
    """

    kind: str
    turn: int
    shuffled: bool = False


@dataclass
class Sketch:
    """A job being drawn. ``layers`` are those of the training net, in order; ``weights`` the params so far; ``lit``
    are the layers in the spotlight and ``front`` is what they read, if that is to be cut on its inputs."""

    draw: st.DrawFn
    spot: Spot | None = None
    job: JobProto = field(default_factory=JobProto)
    layers: dict[str, Layer] = field(default_factory=dict)
    tied: set[str] = field(default_factory=set)
    weights: list[tuple[str, str, Shape]] = field(default_factory=list)
    lit: list[str] = field(default_factory=list)
    front: str = ""
    count: int = 0

    def number(self, low: int, high: int) -> int:
        self.count += 1
        drawn = self.draw(st.integers(low, high))
        if self.spot is None or not self.spot.shuffled:
            return drawn
        return low + (drawn - low + crc32(f"{self.spot} {self.count}".encode())) % (high - low + 1)

    def chance(self, of: int) -> bool:
        """True in one of ``of`` cases."""
        return self.number(1, of) == of

    def pick(self, options: Sequence[T]) -> T:
        return options[self.number(0, len(options) - 1)]

    def some(self, options: Sequence[T], count: int) -> list[T]:
        """So many different ones of ``options``, in any order."""
        left = list(options)
        return [left.pop(self.number(0, len(left) - 1)) for _ in range(count)]

    def choose(
        self, kind: str, message: Any, path: str, able: Callable[[Any], bool] = lambda value: True
    ) -> Any:  # fmt: skip
        """Sets a field to one of the values of the table that are ``able``; in the spotlight, to that of the turn."""
        every = TABLES[kind][path]
        values = [value for value in every if able(value)]
        turned = [every[self.spot.turn % len(every)]] if self.spot and self.spot.kind == kind else []
        value = turned[0] if turned and turned[0] in values else self.pick(values)
        if value is not None:
            *way, last = path.split(".")
            for step in way:
                message = getattr(message, step)
            setattr(message, last, value)
        return value

    def option(self, conf: LayerProto, path: str, able: Callable[[Any], bool] = lambda value: True) -> Any:
        """``choose`` for a layer, of the line of its type."""
        return self.choose(line(conf), conf, path, able)

    def pick_option(self, kind: str, path: str) -> Any:
        """One of the values of the table for a field; in the spotlight, that of the turn."""
        every = TABLES[kind][path]
        return every[self.spot.turn % len(every)] if self.spot and self.spot.kind == kind else self.pick(every)

    def conf(self, kind: str, *sources: str) -> LayerProto:
        """A new layer of the job, by any of its names; it is named after its type and number."""
        conf: LayerProto = self.job.neuralnet.layer.add()
        names = LAYERS[kind].get("type", (kind,))
        spot = self.spot
        name = names[spot.turn % len(names)] if spot and spot.kind == kind else self.pick(names)
        conf.name, conf.type = f"{kind[1:].lower()}{len(self.layers)}", layer_type(name)
        conf.srclayers.extend(sources)
        return conf

    def add(self, conf: LayerProto, tied: bool = False) -> str:
        """Completes a layer: from here on others may read it."""
        kind = layer_class(LayerType.Name(conf.type))
        specs = [self.spec(name, kind.read_output(k)) for k, name in enumerate(conf.srclayers)]
        self.layers[conf.name] = kind(conf, tuple(specs))
        if tied:
            self.tied.add(conf.name)
        if self.spot and line(conf) == self.spot.kind:
            self.lit.append(conf.name)
        return conf.name

    def spec(self, name: str, output: str = "data") -> Spec:
        layer = self.layers[name]
        return layer.outputs[layer.output_names.index(output) if output in layer.output_names else 0]

    def shape(self, name: str) -> Shape:
        return self.spec(name).shape

    def numbers(self) -> list[str]:
        """Layers that any number of others may read, with the rows of the batch, and that are not too large yet."""
        rows = next(iter(self.layers.values())).output.shape[0]
        return [
            name for name, layer in self.layers.items()
            if not layer.is_loss and not layer.metrics and layer.output.dtype == FLOAT
            and size(layer.output.whole[1:]) <= MOST_ELEMENTS and layer.output.shape[0] == rows
            and line(layer.conf) != "kSlice"
        ]  # fmt: skip

    def params(self, conf: LayerProto, kind: str, shapes: Sequence[Shape], std: float) -> None:
        """As many param blocks as an option says, of those that a layer may have."""
        for shape in shapes[: self.count_of(conf, len(shapes))]:
            self.param(conf, kind, shape, std)

    def count_of(self, conf: LayerProto, most: int) -> int:
        """A number of param blocks."""
        every, spot = LAYERS[line(conf)]["param"], self.spot
        found: int = every[spot.turn % len(every)] if spot and spot.kind == line(conf) else self.pick(every)
        return min(found, most)

    def param(self, conf: LayerProto, kind: str, shape: Shape, std: float) -> None:
        """A param block: of its own, or shared with one of the same shape above. Only what is added may be constant:
        equal weights make equal numbers."""
        same = [name for name, owner, found in self.weights if (owner, found) == (kind, shape)]
        block = conf.param.add()
        if same and self.chance(2):
            block.share_from = self.pick(same)
            return
        block.name, init = f"p{len(self.weights)}", block.init
        matrix = kind in ("weight", "table")
        drawn = self.choose("param", block, "init.type", lambda t: matrix or t in (GAUSSIAN, UNIFORM, CONSTANT))
        if matrix and drawn == CONSTANT:
            init.type = drawn = GAUSSIAN
        if drawn == CONSTANT and kind != "bias":
            init.type = drawn = UNIFORM
        if drawn == GAUSSIAN:
            init.std = std
        elif drawn in (UNIFORM, CONSTANT):
            init.value = std
        for path in ("lr_scale", "wd_scale"):
            self.choose("param", block, path)
        self.weights.append((block.name, kind, shape))


GAUSSIAN = InitMethod.kGaussian
UNIFORM = InitMethod.kUniform
CONSTANT = InitMethod.kConstant


def line(conf: LayerProto) -> str:
    """The line of the table that a layer is drawn by."""
    return LINES[LayerType.Name(conf.type)]


def layer_type(name: str) -> LayerType:
    """The number of a type."""
    return LayerType.Value(name)  # type: ignore[return-value]
