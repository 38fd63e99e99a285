"""Spelling of placements: the shortest text in a job that gives exactly a placement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import permutations
from math import prod

from netpart.errors import ConfigError, NetpartError
from netpart.graph.net import Node
from netpart.graph.partition import Partition
from netpart.graph.passes.listed_shards import region_bounds
from netpart.graph.passes.placer import LayerPlacer
from netpart.graph.scheme import is_cut_by_user
from netpart.plan.text.cut_text import axis_sizes
from netpart.proto.cut_pb2 import CutProto, Remainder
from netpart.proto.job_pb2 import LayerProto, NetProto
from netpart.proto.phase import PHASE_VALUES
from netpart.proto.writer import CUT
from netpart.spec import RECORD, Placement

REMAINDERS = (None, Remainder.SPREAD, Remainder.LAST)
"""None: as the net sets it."""

Direction = tuple[CutProto, list[int]]
"""The cut in one direction, and the sizes of its parts (of copies, 1 each)."""


@dataclass(frozen=True)
class WantedPlacement:
    """The placement of a layer in one net: that of a phase, for micro-batches of one size out of ``full_rows``."""

    phase: str
    node: Node
    placement: Placement
    full_rows: int

    @property
    def rows(self) -> int:
        """Rows of the micro-batch."""
        return self.node.layer.output.shape[0]

    def is_said_by(self, conf: LayerProto, net: NetProto, workers: int) -> bool:
        """True if ``conf`` gives exactly this placement; ``sum_gradient`` is compared in training only."""
        # A shallow copy, so that the candidate conf does not change the layer of the net itself.
        layer = copy(self.node.layer)
        layer.conf = conf
        try:
            placer = LayerPlacer(replace(self.node, layer=layer), net, workers, self.full_rows, self.phase)
            found = placer.place([])
        except ConfigError:
            return False
        sums = self.placement.sum_gradient if self.phase == "train" else found.sum_gradient
        return found == replace(self.placement, sum_gradient=sums)


def wanted_placements(partition: Partition) -> dict[int, list[WantedPlacement]]:
    """The placements of every layer that some step runs, by its number in the job."""
    found: dict[int, list[WantedPlacement]] = {}
    for phase, micros in partition.phases.items():
        for graph in {id(micro.graph): micro.graph for micro in micros}.values():
            for node in (node for node in graph.net.nodes if not node.inserted):
                placement = graph.placements[node.index]
                found.setdefault(int(node.at[2]), []).append(
                    WantedPlacement(phase, node, placement, micros[-1].rows[1])
                )
    return found


def spell_placement(conf: LayerProto, places: Sequence[WantedPlacement], net: NetProto, workers: int) -> LayerProto:
    """A copy of ``conf`` that gives ``places`` in every phase and for every micro-batch; ``conf`` itself if it does.
    Raises NetpartError if no text gives them: replicas that sum their gradient in some micro-batches only."""
    if places[0].node.layer.output.dtype == RECORD:
        return conf
    for candidate in _candidate_confs(conf, places, net, workers):
        if all(place.is_said_by(candidate, net, workers) for place in places):
            return candidate
    raise NetpartError(f"{conf.name}: expected one placement for all micro-batches, got several; use micro_batches: 1")


def _candidate_confs(
    conf: LayerProto, places: Sequence[WantedPlacement], net: NetProto, workers: int
) -> Iterator[LayerProto]:
    """Confs that may give ``places``, the simplest first; the last lists every shard."""
    # The largest micro-batch shows the cut best: in a small one parts may be empty.
    model = max(places, key=lambda place: place.rows)
    if is_cut_by_user(conf):
        yield conf
    base = LayerProto()
    base.CopyFrom(conf)
    for name in CUT:
        base.ClearField(name)
    base.sum_gradient = any(place.placement.sum_gradient for place in places if place.phase == "train")
    if not base.sum_gradient:
        base.ClearField("sum_gradient")
    yield from _short_forms(base, model.placement, workers)
    yield from _grid_forms(base, model)
    yield from _phased_form(base, places, net, workers)
    yield _listed_form(base, places)


def _short_forms(base: LayerProto, placement: Placement, workers: int) -> Iterator[LayerProto]:
    """Confs with ``partition_dim`` and ``location``."""
    location = [shard.worker for shard in placement.shards]
    axes = list(axis_sizes(placement))
    if len(location) == 1:
        yield _with_fields(base, -1, location if location != [0] else [])
    elif len(axes) == 1:
        for remainder in REMAINDERS:
            yield _with_fields(base, axes[0], location if location != list(range(workers)) else [], remainder)


def _grid_forms(base: LayerProto, model: WantedPlacement) -> Iterator[LayerProto]:
    """Confs with ``cut`` blocks in any order, even or with sizes."""
    shards = model.placement.shards
    found = _cut_directions(model.placement)
    location = [shard.worker for shard in shards]
    if prod(len(sizes) for _, sizes in found) != len(shards):
        return
    # The order of the blocks sets the row-major order of the cells, and with it the workers.
    for blocks in permutations(found):
        for remainder, uneven in [*((remainder, False) for remainder in REMAINDERS), (None, True)]:
            conf = _with_fields(base, None, [], remainder)
            conf.cut.extend(_cut_block(cut, sizes, uneven) for cut, sizes in blocks)
            if location != list(range(len(shards))):
                conf.location.extend(location)
            yield conf


def _phased_form(
    base: LayerProto, places: Sequence[WantedPlacement], net: NetProto, workers: int
) -> Iterator[LayerProto]:
    """Conf with ``cut`` blocks for each phase, and the locations in the first block of each."""
    conf = _with_fields(base, None, [])
    for phase in dict.fromkeys(place.phase for place in places):
        own = [place for place in places if place.phase == phase]
        # ``remainder`` belongs to the layer, not to a cut, so it cannot differ between phases.
        grid = (
            each for each in _grid_forms(base, max(own, key=lambda place: place.rows)) if not each.HasField("remainder")
        )
        found = next((c for c in grid if c.cut and all(p.is_said_by(c, net, workers) for p in own)), None)
        if found is None:
            return
        found.cut[0].location.extend(found.location)
        for cut in found.cut:
            cut.phase = PHASE_VALUES[phase]
        conf.cut.extend(found.cut)
    yield conf


def _cut_directions(placement: Placement) -> list[Direction]:
    """The directions in which a grid with these shards is cut: axes, inputs, copies."""
    found = [(CutProto(axis=axis), sizes) for axis, sizes in axis_sizes(placement).items()]
    terms = sorted({term[0] for term in placement.terms if term})
    if len(terms) > 1:
        found.append((CutProto(over=CutProto.INPUT), [hi - lo for lo, hi in terms]))
    copies = max(map(len, placement.classes.values()))
    return found if found and copies == 1 else [*found, (CutProto(over=CutProto.REPLICA), [1] * copies)]


def _cut_block(cut: CutProto, sizes: list[int], uneven: bool) -> CutProto:
    """A cut into as many parts as there are ``sizes``: of these sizes if ``uneven``, otherwise even."""
    made = CutProto()
    made.CopyFrom(cut)
    if uneven and cut.over != CutProto.REPLICA:
        made.sizes.extend(sizes)
    else:
        made.parts = len(sizes)
    return made


def _listed_form(base: LayerProto, places: Sequence[WantedPlacement]) -> LayerProto:
    """Conf that lists every shard, for each phase and size of micro-batch if they differ."""
    conf = _with_fields(base, None, [])
    differ = len({place.placement.shards for place in places}) > 1
    for place in places if differ else places[:1]:
        for shard in place.placement.shards:
            made = conf.shard.add(
                worker=shard.worker, region=region_bounds(shard.region), term=region_bounds(shard.term or ())
            )
            if differ:
                made.phase = PHASE_VALUES[place.phase]
                made.rows = place.rows
    return conf


def _with_fields(
    base: LayerProto, axis: int | None, location: Sequence[int], remainder: Remainder | None = None
) -> LayerProto:
    """A copy of ``base`` with the given fields set."""
    conf = LayerProto()
    conf.CopyFrom(base)
    if axis is not None:
        conf.partition_dim = axis
    conf.location.extend(location)
    if remainder is not None:
        conf.remainder = remainder
    return conf


def cut_fields(conf: LayerProto) -> LayerProto:
    """The fields of ``conf`` that set its cut, alone."""
    alone = LayerProto()
    alone.CopyFrom(conf)
    for field, _ in conf.ListFields():
        if field.name not in CUT:
            alone.ClearField(field.name)
    return alone


__all__ = ["WantedPlacement", "cut_fields", "spell_placement", "wanted_placements"]
