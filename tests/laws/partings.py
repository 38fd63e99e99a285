"""Cuts of random jobs: each layer is cut in some way that the language can say, by itself or as its neighbours are."""

from __future__ import annotations

from itertools import pairwise, product
from math import prod
from typing import Any

from netpart.layers.layer import INPUT, Layer
from netpart.proto.cut_pb2 import CutProto
from netpart.proto.job_pb2 import LayerProto
from tests.laws.options import CUT
from tests.laws.sketch import Sketch

MOST_PARTS = 8
REPLICA = "REPLICA"
SPACE = "space"
CLASSES = (SPACE, INPUT, 0, 1, REPLICA)
"""The ways in which a layer can be cut; all axes of space are one."""
Grid = list[tuple[CutProto, int]]
"""Blocks of a cut and the parts of each."""


def cut(s: Sketch, workers: int) -> None:
    """Cuts and places every layer, in the short form or the long one, or leaves it to the net's ``partition_dim``.

    Each by itself, they seldom meet: addends that lie on the workers that read them, replicas that meet replicas. So in
    some nets most layers are cut over one ``team``, a part on each of its workers, and in others all in one way.
    """
    net, habit = s.job.neuralnet, LayerProto()
    custom = "team" if s.lit else s.pick(["team", "team", "rows", "none"])
    if s.spot and s.spot.kind == "cut":
        custom = "none"
    team = s.some(range(workers), s.pick([workers, workers, max(2, workers - 1)]) if workers > 1 else 1)
    if custom == "rows":
        common(s, habit, workers)
    for path in ("neuralnet.partition_dim", "neuralnet.remainder"):
        s.choose("job", s.job, path)
    for conf in net.layer:
        if s.lit and conf.name in (*s.lit, s.front):
            spotted(s, conf, team)
        elif custom == "team" and not s.chance(4):
            together(s, conf, team)
        elif habit.cut and s.shape(conf.name)[0] == s.shape(net.layer[0].name)[0] and not s.chance(6):
            conf.cut.extend(habit.cut)
        else:
            apart(s, conf, workers)
        if s.chance(5):
            remainder = s.pick(CUT["remainder"])
            if remainder is not None:
                conf.remainder = remainder


def spotted(s: Sketch, conf: LayerProto, team: list[int]) -> None:
    """What is in the spotlight is cut in the way of its turn, but each other time that it reads addends on space; and
    what it reads, on its inputs."""
    able = ways(s.layers[conf.name], len(team))
    if conf.name == s.front and INPUT in able:
        over(s, conf, INPUT, team)
    elif able and s.spot and conf.name in s.lit:
        first = s.spot.turn + 2 * s.lit.index(conf.name)
        if s.front in s.layers[conf.name].conf.srclayers and s.spot.turn % 2 == 0:
            first = 0
        order = sorted(able, key=lambda what: (CLASSES.index(way_class(what)) - first) % len(CLASSES))
        over(s, conf, s.pick([what for what in order if way_class(what) == way_class(order[0])]), team)


def way_class(what: int | str) -> int | str:
    """Of what is cut, the way that this is."""
    return SPACE if isinstance(what, int) and what > 1 else what


def together(s: Sketch, conf: LayerProto, team: list[int]) -> None:
    """A layer on a team: cut in any way that it can, a part on each worker, or two ways on a grid."""
    able = ways(s.layers[conf.name], len(team))
    if not able or s.chance(6):
        whole(s, conf, team)
    else:
        over(s, conf, s.pick(able), team)


def ways(layer: Layer, workers: int) -> list[int | str]:
    """What a layer can be cut on, in several parts."""
    return [what for what in (*layer.cuts(), REPLICA) if min(workers, extent_of(layer, what, workers)) > 1]


def over(s: Sketch, conf: LayerProto, what: int | str, team: list[int]) -> None:
    """Cuts a layer in one way over a team, in short or with sizes; who comes first is the team's order."""
    length = extent_of(s.layers[conf.name], what, len(team))
    parts = min(length, len(team))
    if isinstance(what, int) and s.chance(2):
        conf.partition_dim = what
        conf.location.extend(team[:parts])
        return
    block = conf.cut.add()
    aim(block, what)
    if what != REPLICA and s.chance(3):
        block.sizes.extend(composition(s, length, parts))
    elif s.chance(2):
        block.parts = parts
    (conf.location if s.chance(2) else block.location).extend(team[:parts])


def whole(s: Sketch, conf: LayerProto, workers: list[int]) -> None:
    conf.partition_dim = -1
    conf.location.append(s.pick(workers))


def apart(s: Sketch, conf: LayerProto, workers: int) -> None:
    """A layer that is cut as if it were the only one."""
    way = s.pick(["long", "short", "inherited", "whole", "long"])
    if s.spot and s.spot.kind == "cut" and conf.name.startswith("sigmoid"):
        way = ("long", "short", "long")[s.spot.turn // 6]
    if way == "whole":
        whole(s, conf, list(range(workers)))
    elif way == "short":
        short(s, conf, workers)
    elif way == "long":
        long(s, conf, workers)


def common(s: Sketch, habit: LayerProto, workers: int) -> None:
    """Rows cut in a way that every layer can take, in one or more copies."""
    rows = next(iter(s.layers.values())).output.shape[0]
    parts, copies = min(rows, s.pick([2, 3, 1])), min(workers, s.pick([2, 1, 3]))
    grid: Grid = []
    for count in s.some([parts, -copies], 2):
        block = habit.cut.add(axis=0, parts=count) if count > 0 else habit.cut.add(over=CutProto.REPLICA, parts=copies)
        grid.append((block, abs(count)))
    locate(s, grid[-1][0].location, grid, copies, workers)


def short(s: Sketch, conf: LayerProto, workers: int) -> None:
    layer = s.layers[conf.name]
    axes = [a for a in layer.cuts() if isinstance(a, int) and layer.output.shape[a] > 1]
    if not axes:
        return
    axis = s.choose("cut", conf, "partition_dim", lambda a: a in axes) if set(axes) & {0, 1, 2, 3} else axes[0]
    parts = s.number(2, min(layer.output.shape[axis], 5))
    conf.partition_dim = axis
    if parts != workers or s.chance(2):
        conf.location.extend(s.number(0, workers - 1) for _ in range(parts))


def long(s: Sketch, conf: LayerProto, workers: int) -> None:
    """``cut`` blocks: a grid over axes, inputs and replicas, even or uneven, its cells on any workers."""
    layer = s.layers[conf.name]
    grid = Grid()
    copies = 1
    every = [*layer.cuts(), REPLICA]
    shown = s.spot is not None and s.spot.kind == "cut"
    wanted = CUT["cut.axis"][s.spot.turn % len(CUT["cut.axis"])] if s.spot and shown else None
    for what in sorted(s.some(every, len(every)), key=lambda what: what != wanted):
        room, length = MOST_PARTS // prod(n for _, n in grid), extent_of(layer, what, workers)
        if length < 2 or room < 2 or not s.chance(1 if what in (INPUT, wanted) else 2 if shown or not grid else 3):
            continue
        block, parts = conf.cut.add(), s.number(2, min(length, room, 4))
        aim(block, what)
        copies = parts if what == REPLICA else copies
        if what != REPLICA and s.chance(2):
            block.sizes.extend(composition(s, length, parts))
        else:
            block.parts = parts
        grid.append((block, parts))
    if grid:
        locate(s, conf.location if s.chance(2) else grid[-1][0].location, grid, copies, workers)


def aim(block: CutProto, what: int | str) -> None:
    """Says what a block cuts."""
    if isinstance(what, int):
        block.axis = what
    else:
        block.over = CutProto.INPUT if what == INPUT else CutProto.REPLICA


def extent_of(layer: Layer, what: int | str, workers: int) -> int:
    if what == REPLICA:
        return workers
    space = layer.contraction() or (1,)
    return space[0] if isinstance(what, str) else layer.output.shape[what]


def locate(s: Sketch, written: Any, grid: Grid, copies: int, workers: int) -> None:
    """Writes any worker for every cell, but different ones for the copies of one cell."""
    replica = next((i for i, (block, _) in enumerate(grid) if block.over == CutProto.REPLICA), None)
    chosen: dict[tuple[int, ...], list[int]] = {}
    for cell in product(*(range(parts) for _, parts in grid)):
        key = tuple(c for i, c in enumerate(cell) if i != replica)
        if key not in chosen:
            chosen[key] = s.some(range(workers), copies)
        written.append(chosen[key][0 if replica is None else cell[replica]])


def composition(s: Sketch, total: int, parts: int) -> list[int]:
    """``parts`` positive numbers that sum to ``total``."""
    bounds = [0, *sorted(s.some(range(1, total), parts - 1)), total]
    return [b - a for a, b in pairwise(bounds)]
