"""The drawing of one layer alone: cut over two workers, between sources that are cut alike."""

from __future__ import annotations

from dataclasses import replace

from netpart.draw.dot import dot_lines
from netpart.draw.graph_picture import make_picture
from netpart.draw.picture import Picture
from netpart.draw.svg import finish_svg, run_graphviz
from netpart.graph.graph import BRIDGE_SRC, Graph
from netpart.graph.net import Net, Node, Parameter, Source
from netpart.graph.partition import partition_net
from netpart.graph.passes.uneven_cuts import cut_extent
from netpart.kernels.op import Op
from netpart.layers.layer import INPUT, Layer
from netpart.layers.part import Call, Needs
from netpart.plan.text.cut_text import axis_name
from netpart.proto.job_pb2 import LayerProto
from netpart.spec import FLOAT, Placement, Region, Shape, Shard, Spec, intersect, single_placement
from tools.layer_examples import source_names

PARTS = 2


class Given(Layer):
    """A source of a layer that is drawn alone: it has a shape and computes nothing."""

    is_input = True

    def __init__(self, name: str, spec: Spec) -> None:
        self.given = spec
        super().__init__(LayerProto(name=name, user_type="source"), ())

    def infer(self) -> tuple[Spec, ...]:
        return (self.given,)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs(())

    def forward(self, kernels: object, call: Call) -> Op:
        raise NotImplementedError(f"{self.name} is drawn, not run")


class Forward(Picture):
    """A picture of values alone, for a page that explains its lines."""

    @property
    def title(self) -> str:
        return self.name

    @property
    def legend(self) -> tuple[str, ...]:
        return ()


def drawing(layer: Layer) -> str:
    """The SVG of ``layer`` on the first of its cuts with messages, or else on its first one."""
    graphs = (cut_alone(layer, axis) for axis in layer.cuts())
    crossing = (graph for graph in graphs if any(part.kind == BRIDGE_SRC for part in graph.parts))
    shown = make_picture(next(crossing, None) or cut_alone(layer, layer.cuts()[0]))
    arrows = tuple(replace(arrow, gradient=True) for arrow in shown.arrows)
    forward = Forward(shown.name, shown.phase, PARTS, shown.boxes, arrows, shown.frames)
    return finish_svg(run_graphviz("\n".join(dot_lines(forward))), shown.name)


def cut_alone(layer: Layer, axis: int | str) -> Graph:
    """``layer`` cut in two on ``axis`` (or its inputs), and each source likewise where it can be."""
    shards = parts(layer, axis)
    given = [Given(name, spec) for name, spec in zip(source_names(layer.inputs), layer.inputs, strict=True)]
    sources = tuple(Source(k, 0) for k in range(len(given)))
    params = tuple(Parameter(f"y/{spec.key}", spec, len(given)) for spec in layer.params)
    nodes = [Node(k, source, (), (), ()) for k, source in enumerate(given)]
    net = Net(f"cut on {cut_name(layer, axis)}", "test", [*nodes, Node(len(given), layer, sources, params, ())], 8)
    placements = [placed(layer, k, axis, shards) for k in range(len(given))]
    return partition_net(net, [*placements, Placement(tuple(shards))], PARTS)


def parts(layer: Layer, axis: int | str) -> list[Shard]:
    """The two parts of a cut of ``layer``."""
    whole = layer.output.whole
    if axis == INPUT:
        return [Shard(worker, whole, term) for worker, term in enumerate(halves(layer.contraction() or (), 0))]
    return [Shard(worker, region) for worker, region in enumerate(halves(layer.output.shape, int(axis)))]


def halves(shape: Shape, axis: int) -> list[Region]:
    """The two regions of an even cut on ``axis`` of ``shape``."""
    whole = tuple((0, n) for n in shape)
    return [(*whole[:axis], half, *whole[axis + 1 :]) for half in cut_extent(shape[axis], PARTS, spread=True)]


def placed(layer: Layer, k: int, axis: int | str, shards: list[Shard]) -> Placement:
    """The placement of source ``k``: where it is needed, if the parts need disjoint regions; else cut on the same axis,
    or whole."""
    spec = layer.inputs[k]
    needed = [layer.needs(shard.region, shard.term).inputs[k] for shard in shards]
    boxes = [box for box in needed if box is not None]
    if len(boxes) == PARTS and intersect(*boxes) is None:
        return Placement(tuple(Shard(worker, box) for worker, box in enumerate(boxes)))
    likewise = axis if isinstance(axis, int) and spec.dtype == FLOAT else 0
    if spec.rank <= likewise or spec.shape[likewise] < PARTS:
        return single_placement(0, spec)
    return Placement(tuple(Shard(worker, box) for worker, box in enumerate(halves(spec.shape, likewise))))


def cut_name(layer: Layer, axis: int | str) -> str:
    """The name of a cut: ``batch``, ``channels``, ..., or ``inputs``."""
    return "inputs" if axis == INPUT else axis_name(layer, int(axis))
