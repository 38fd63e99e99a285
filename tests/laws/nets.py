"""Random jobs for law 9: nets of every shape the language can say, each layer cut in some way it can say."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product
from math import prod
from typing import Any

from hypothesis import strategies as st

from netpart.graph.passes.shard import whole_updates
from netpart.layers.layer import INPUT, Layer
from netpart.proto.cut_pb2 import CutProto, Remainder
from netpart.proto.job_pb2 import Collectives, JobProto, LayerProto, Phase, Schedule, Sharding
from netpart.proto.updater_pb2 import ChangeMethod, UpdaterType
from tests.laws.sketch import Sketch, finish, grow

MOST_PARTS = 8
REMAINDERS = (Remainder.LAST, Remainder.SPREAD)
UPDATERS = (
    UpdaterType.kSGD, UpdaterType.kSGD, UpdaterType.kNesterov, UpdaterType.kAdaGrad, UpdaterType.kRMSProp,
    UpdaterType.kAdaDelta, UpdaterType.kAdam, UpdaterType.kAdamMax, UpdaterType.kAdamW,
)  # fmt: skip


@st.composite
def nets(draw: st.DrawFn) -> Sketch:
    """A job whose layers are not cut yet."""
    s = Sketch(draw)
    s.job.dtype, s.job.seed = JobProto.FLOAT64, s.number(0, 99)
    s.job.bucket_bytes = s.pick([8, 64, 65536])
    s.job.collectives = s.pick(Collectives.Algorithm.values())  # type: ignore[assignment]
    conf = s.conf("kSyntheticInput")
    rows, axes = s.number(1, 6), s.number(1, 4)
    most = {1: 8, 2: 8, 3: 8, 4: 4}[axes]
    shape = [s.number(1, 3) if i == 0 and axes > 2 else s.number(1, most) for i in range(axes)]
    conf.store_conf.shape.extend(shape)
    sizes = composition(s, rows, s.number(1, min(rows, 3))) if s.chance(4) else [rows]
    conf.store_conf.batchsize.extend(sizes)
    conf.synthetic_conf.classes = 2
    data = s.add(conf)
    grow(s, s.number(1, 6))
    finish(s, data)
    whole_rows = any(layer.makes_rows for layer in s.layers.values())
    s.job.neuralnet.micro_batches = 1 if whole_rows else min(s.pick([1, 1, 2, 3]), rows)
    s.job.neuralnet.schedule = s.pick([Schedule.ONE_F_ONE_B, Schedule.GPIPE, Schedule.DELAYED])
    s.job.neuralnet.recompute = s.chance(3)
    choose_updater(s)
    whole = whole_updates(s.job) is not None
    s.job.shard_updates = Sharding.AUTO if whole else s.pick([Sharding.YES, Sharding.YES, Sharding.NO])
    return s


def choose_updater(s: Sketch) -> None:
    """Any rule; ``delta`` is large enough to keep division by a vanishing gradient well conditioned."""
    conf = s.job.updater
    conf.type, conf.delta = s.pick(UPDATERS), 0.1
    conf.learning_rate.type, conf.learning_rate.base_lr = ChangeMethod.kFixed, 0.01
    conf.rmsprop_conf.rho = 0.8
    conf.momentum = s.pick([0.0, 0.9])
    conf.weight_decay = s.pick([0.0, 0.01])
    if s.chance(4):
        conf.clip_low, conf.clip_high = -0.05, 0.05
    conf.clip_norm = s.pick([0.0, 0.1, 10.0])
    conf.adam_conf.bias_correction = s.chance(2)
    if s.chance(3):
        conf.ema_decay, conf.ema_eval, conf.ema_warmup = 0.5, s.chance(2), s.chance(2)


def composition(s: Sketch, total: int, parts: int) -> list[int]:
    """``parts`` positive numbers that sum to ``total``."""
    inner = s.draw(st.lists(st.integers(1, max(total - 1, 1)), min_size=parts - 1, max_size=parts - 1, unique=True))
    bounds = [0, *sorted(inner), total]
    return [b - a for a, b in pairwise(bounds)]


def cut(s: Sketch, workers: int) -> None:
    """Cuts and places every layer, in the short form or the long one, or leaves it to the net's ``partition_dim``.

    In half of the nets most layers follow a common habit: replicas then meet replicas.
    """
    net = s.job.neuralnet
    habit = LayerProto()
    if s.chance(2):
        common(s, habit, workers)
    net.partition_dim, net.remainder = s.pick([-1, 0, 0, 1, 2]), s.pick(REMAINDERS)
    for conf in net.layer:
        way = s.pick(["inherited", "short", "long", "whole", "long"])
        if habit.cut and not s.chance(6):
            conf.cut.extend(habit.cut)
        elif way == "whole":
            conf.partition_dim = -1
            conf.location.append(s.number(0, workers - 1))
        elif way == "short":
            short(s, conf, workers)
        elif way == "long":
            long(s, conf, workers)
        if s.chance(5):
            conf.remainder = s.pick(REMAINDERS)


def common(s: Sketch, habit: LayerProto, workers: int) -> None:
    """Rows cut in a way that every layer can take, in one or more copies."""
    rows = next(iter(s.layers.values())).output.shape[0]
    parts, copies = min(rows, s.pick([2, 3, 1])), min(workers, s.pick([2, 1, 3]))
    grid: list[tuple[CutProto, int]] = []
    for count in s.draw(st.permutations([parts, -copies])):
        block = habit.cut.add(axis=0, parts=count) if count > 0 else habit.cut.add(over=CutProto.REPLICA, parts=copies)
        grid.append((block, abs(count)))
    locate(s, grid[-1][0].location, grid, copies, workers)


def short(s: Sketch, conf: LayerProto, workers: int) -> None:
    layer = s.layers[conf.name]
    axes = [a for a in layer.cuts() if isinstance(a, int) and layer.output.shape[a] > 1]
    if not axes:
        return
    axis = s.pick([*axes, *(a for a in axes if a)])
    parts = s.number(2, min(layer.output.shape[axis], 5))
    conf.partition_dim = axis
    if parts != workers or s.chance(2):
        conf.location.extend(s.number(0, workers - 1) for _ in range(parts))


def long(s: Sketch, conf: LayerProto, workers: int) -> None:
    """``cut`` blocks: a grid over axes, inputs and replicas, even or uneven, its cells on any workers."""
    layer, grid = s.layers[conf.name], list[tuple[CutProto, int]]()
    copies = 1
    for what in s.draw(st.permutations([*layer.cuts(), "REPLICA"])):
        room = MOST_PARTS // prod(n for _, n in grid)
        length = extent_of(layer, what, workers)
        if length < 2 or room < 2 or not s.chance(1 if what == INPUT else 2 if not grid else 3):
            continue
        block = conf.cut.add()
        parts = s.number(2, min(length, room, 4))
        if isinstance(what, int):
            block.axis = what
        elif what == INPUT:
            block.over = CutProto.INPUT
        else:
            block.over, copies = CutProto.REPLICA, parts
        if what != "REPLICA" and s.chance(2):
            block.sizes.extend(composition(s, length, parts))
        else:
            block.parts = parts
        grid.append((block, parts))
    if grid:
        locate(s, conf.location if s.chance(2) else grid[-1][0].location, grid, copies, workers)


def extent_of(layer: Layer, what: int | str, workers: int) -> int:
    if what == "REPLICA":
        return workers
    space = layer.contraction() or (1,)
    return space[0] if isinstance(what, str) else layer.output.shape[what]


def locate(s: Sketch, written: Any, grid: list[tuple[CutProto, int]], copies: int, workers: int) -> None:
    """Writes any worker for every cell, but different ones for the copies of one cell."""
    replica = next((i for i, (block, _) in enumerate(grid) if block.over == CutProto.REPLICA), None)
    chosen: dict[tuple[int, ...], list[int]] = {}
    for cell in product(*(range(parts) for _, parts in grid)):
        key = tuple(c for i, c in enumerate(cell) if i != replica)
        if key not in chosen:
            ids = st.integers(0, workers - 1)
            chosen[key] = s.draw(st.lists(ids, min_size=copies, max_size=copies, unique=True))
        written.append(chosen[key][0 if replica is None else cell[replica]])


def tested(s: Sketch) -> None:
    """Gives the job a test net on the same layers: its input reads other rows."""
    data = s.job.neuralnet.layer[0]
    twin = s.job.neuralnet.layer.add()
    twin.CopyFrom(data)
    data.include.append(Phase.kTrain)
    twin.include.append(Phase.kTest)
    s.job.test_steps = 1


@dataclass(frozen=True)
class Example:
    """One case of the law: a cut job and its workers."""

    job: JobProto
    workers: int

    def __repr__(self) -> str:
        return f"Example(workers={self.workers}, job='''\n{self.job}''')"


@st.composite
def examples(draw: st.DrawFn) -> Example:
    """A job with every layer cut, and the number of workers it is cut for."""
    s = draw(nets())
    workers = s.pick([2, 3, 4, 5, 3, 2, 1])
    cut(s, workers)
    if s.chance(3):
        tested(s)
    return Example(s.job, workers)
