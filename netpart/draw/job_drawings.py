"""Drawings of a job: its partitioned net, the schedule of its workers, its worker groups and their servers."""

from __future__ import annotations

from netpart.choices import AUTO, DELAYED, DOWN, GPIPE
from netpart.draw import render
from netpart.draw.cluster import groups_svg
from netpart.draw.layer_groups import Nesting
from netpart.draw.look import DrawingLook
from netpart.draw.schedule import schedule_svg
from netpart.graph.graph import Graph
from netpart.graph.server_pieces import add_job_servers
from netpart.plan.partition import partition_by_scheme, partition_phase
from netpart.program.schedules.delayed_pipeline import simulate_schedule
from netpart.program.schedules.schedule import schedule_order
from netpart.proto.element import float_size
from netpart.proto.reader import Job


def draw_job_net(
    job: Job, format: str, phase: str, fold: str = AUTO, helpers: bool = True, direction: str = DOWN
) -> str:
    """The partitioned net of ``phase`` in one of DRAWING_FORMATS. Raises ConfigError as the partition does.

    ``fold``, ``helpers`` and ``direction`` are those of DrawingLook; what is folded are the blocks of the job's text,
    if it has any.
    """
    with job.explaining():
        graph = partition_phase(job.proto, job.worker_count, phase, job.folder)
    return render(graph, format, float_size(job.proto), DrawingLook(fold, helpers, direction, job_nesting(job, graph)))


def job_nesting(job: Job, graph: Graph) -> Nesting:
    """The blocks of the job's text around each layer that is in one."""
    around = {node.name: job.blocks_around(node.at) for node in graph.net.nodes}
    return {name: blocks for name, blocks in around.items() if blocks}


def draw_job_groups(job: Job) -> str:
    """The SVG of the worker groups and their servers. Raises ConfigError as the partition does."""
    with job.explaining():
        cut = partition_by_scheme(job.proto, job.worker_count, job.folder, phases=("train",))
        return groups_svg(add_job_servers(cut))


def draw_job_schedule(job: Job) -> str:
    """The SVG of the training schedule of workers over time. Raises ConfigError as the partition does."""
    with job.explaining():
        cut = partition_by_scheme(job.proto, job.worker_count, job.folder, phases=("train",))
    played = simulate_schedule(cut)
    named = {GPIPE: "GPipe", DELAYED: "delayed gradients"}.get(schedule_order(cut.job), "1F1B")
    last = 1 + max((each.turn.micro for each in played), default=0)
    title = f"{cut.graph.net.name}: {named} of {last} micro-batches"
    return schedule_svg(played, cut.graph.teams.members, title)
