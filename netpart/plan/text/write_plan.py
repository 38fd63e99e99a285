"""Plan as text: the job with the placement of every layer written on it, and comments with the costs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from netpart.errors import FieldPath
from netpart.graph.partition import Partition
from netpart.graph.scheme import OF_PIPELINE
from netpart.plan.price.worker_shares import LayerShare, StepCounts, count_step, layer_shares, shards_text
from netpart.plan.text.cut_text import place_text
from netpart.plan.text.plan_table import PlanTable, tabulate_partition
from netpart.plan.text.spelling import WantedPlacement, spell_placement, wanted_placements
from netpart.proto.blocks.folded_text import write_expanded_job
from netpart.proto.comments import OWN
from netpart.proto.job_pb2 import JobProto
from netpart.proto.paths import rebase_paths
from netpart.proto.reader import Job
from netpart.proto.writer import write_job
from netpart.spec import Region
from netpart.units import bytes_text, count_text, plural_text

FOOT = "Lines like this one are netpart's: written anew with the next plan. Change the rest as you like."

TITLE = "A plan for "


def planned_workers(text: str) -> int | None:
    """The number of workers that a plan is made for; None for the text of any other job."""
    found = re.match(rf"{OWN} {TITLE}(\d+) ", text)
    return int(found[1]) if found else None


def write_plan(job: Job, partition: Partition, made_by: str, folder: Path) -> str:
    """The text of a job in ``folder`` that is cut, without a scheme, exactly as ``partition`` cuts ``job``.

    It keeps the author's order and comments. Above each layer it states the cut and each worker's share in a training
    step. ``made_by`` is the command named at its head. Relative paths are rewritten for ``folder``. Raises NetpartError
    for a placement that no job can express.
    """
    proto = with_placements(job.proto, partition)
    places = wanted_placements(partition)
    rebase_paths(proto, job.folder, folder)
    counts = count_step(partition)
    notes: dict[FieldPath, Sequence[str]] = {(): list(_plan_head(partition, counts, made_by))}
    of_layer = layer_shares(partition, counts)
    for i, conf in enumerate(proto.neuralnet.layer):
        notes["neuralnet", "layer", i] = list(_layer_comments(places.get(i, []), of_layer.get(conf.name, [])))
    return write_expanded_job(job.expansion, proto, notes) if job.expansion else write_job(proto, job.text, notes)


def with_placements(job: JobProto, partition: Partition) -> JobProto:
    """A copy of ``job`` with every layer's placement written on it, for the workers of ``partition``."""
    proto = JobProto()
    places = wanted_placements(partition)
    proto.CopyFrom(job)
    for field in ("scheme", *OF_PIPELINE):
        proto.neuralnet.ClearField(field)
    proto.cluster.nworkers_per_group = partition.workers
    for i, conf in enumerate(proto.neuralnet.layer):
        if i in places:
            conf.CopyFrom(spell_placement(conf, places[i], proto.neuralnet, partition.workers))
    return proto


def _plan_head(partition: Partition, counts: StepCounts, made_by: str) -> Iterator[str]:
    """The first lines of a plan: how it was made, and the cost of a step."""
    table = tabulate_partition(partition, counts)
    yield f"{TITLE}{plural_text(partition.workers, 'worker')}, made by"
    yield f"    {made_by}"
    yield f"A training step of {table.rows} rows moves {bytes_text(table.moved)} ({table.moved:,} bytes)."
    yield from _worker_lines(table)
    yield FOOT


def _worker_lines(table: PlanTable) -> Iterator[str]:
    """One line per worker."""
    rows = [
        (
            f"worker {w.worker}",
            flops_text(w.flops),
            f"sends {bytes_text(w.sent)}",
            f"memory {bytes_text(w.memory)}",
        )
        for w in table.workers
    ]
    return _align_columns(rows)


def _layer_comments(places: Sequence[WantedPlacement], of_workers: Sequence[LayerShare]) -> Iterator[str]:
    """The comments above a layer: its cut in each phase that differs, and the share of each worker."""
    if not places:
        yield "in no phase that the job runs: unchanged"
        return
    cuts = {place.phase: _describe_cut(place) for place in reversed(places)}
    first = places[0]
    same = len(set(cuts.values())) == 1
    yield cuts[first.phase] if same else "; ".join(f"{cuts[p]} in {p}" for p in dict.fromkeys(q.phase for q in places))
    if first.phase == "train":
        yield from _align_columns([_share_cells(share, first.node.layer.output.whole) for share in of_workers])


def _describe_cut(place: WantedPlacement) -> str:
    """The cut of a layer and its workers; ``sum_gradient`` is stated for training only."""
    placement = place.placement if place.phase == "train" else replace(place.placement, sum_gradient=False)
    return place_text(place.node.layer, placement)


def _share_cells(share: LayerShare, whole: Region) -> tuple[str, ...]:
    """The cells of one worker's share of a layer."""
    return (
        f"worker {share.worker}", shards_text(share.shards, whole), flops_text(share.flops),
        f"memory {bytes_text(share.memory)}", f"in {bytes_text(share.received)}", f"out {bytes_text(share.sent)}",
    )  # fmt: skip


def flops_text(count: int) -> str:
    """FLOPs in short form: ``24.7 MFLOP``."""
    text = count_text(count)
    return f"{text}FLOP" if text[-1].isalpha() else f"{text} FLOP"


def _align_columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows of text as aligned, indented columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield ("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
