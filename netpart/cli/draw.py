"""netpart draw: writes the partitioned net as a drawing, as text or as JSON."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netpart.choices import DRAWING_FORMATS, PHASES

if TYPE_CHECKING:
    from netpart.graph.graph import Graph
    from netpart.proto.reader import Job

HELP = "draw the partitioned net: one colour per worker, with helpers, and bytes at each bridge"
SUFFIXES = {".gv": "dot", ".text": "txt", **{f".{name}": name for name in DRAWING_FORMATS}}
CONVERTED = ("png", "pdf")
"""Formats that other programs make from an SVG."""


def add_verb_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the verb and its options."""
    from netpart.cli.common import add_job_options

    parser: argparse.ArgumentParser = subparsers.add_parser("draw", help=HELP, description=HELP)
    add_job_options(parser, computes=False)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write to FILE instead of standard output")
    parser.add_argument(
        "--format", choices=DRAWING_FORMATS, help="format (default: by the ending of FILE; txt without -o)"
    )
    parser.add_argument(
        "--turns", action="store_true", help="draw the schedule of workers over time instead of the net, as svg"
    )
    parser.add_argument(
        "--groups", action="store_true", help="draw the worker groups and their servers instead of the net, as svg"
    )
    parser.add_argument("--phase", choices=PHASES, default="train", help="net of this phase (default: train)")
    return parser


def run_verb(args: argparse.Namespace) -> int:
    """Draw the net, or its schedule or groups. Returns 0."""
    from netpart.cli.common import job_float_size, load_job
    from netpart.cli.print_note import print_note
    from netpart.cli.progress_line import show_progress
    from netpart.draw import render
    from netpart.errors import ConfigError

    # The format is checked before the job is read: partitioning a large job takes seconds.
    asked = "--turns" if args.turns else "--groups" if args.groups else ""
    chosen = args.format or ("svg" if asked and args.output is None else _output_format(args.output))
    if asked and chosen != "svg":
        raise ConfigError(asked, "the format svg", chosen, "name a file that ends in .svg, or add --format svg")
    job = load_job(args, provide=False)
    workers = job.worker_count
    with show_progress("cutting the net"):
        if args.turns:
            drawing = _draw_schedule(job, workers)
        elif args.groups:
            drawing = _draw_groups(job, workers)
        else:
            drawing = render(_cut_phase(job, workers, args.phase), chosen, job_float_size(job))
    if args.output is None:
        print(drawing, end="")
        return 0
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(drawing, encoding="utf-8")
    print_note(f"drew {args.output}")
    return 0


def _output_format(output: Path | None) -> str:
    """The format by the ending of ``output``, txt without a file. Raises ConfigError for another ending."""
    from netpart.errors import ConfigError

    if output is None:
        return "txt"
    found = SUFFIXES.get(output.suffix.lower())
    if found is None:
        known = ", ".join(f".{name}" for name in DRAWING_FORMATS)
        raise ConfigError("--output", f"a name that ends in {known}", repr(str(output)), _format_hint(output))
    return found


def _format_hint(output: Path) -> str:
    """The next step for a file name with an unknown ending: how to convert an SVG to it, or --format."""
    kind = output.suffix.lower().removeprefix(".")
    if kind in CONVERTED:
        svg = output.with_suffix(".svg")
        return f"write {svg}, and make that a {kind.upper()}: rsvg-convert -f {kind} {svg} -o {output}, or any browser"
    return "or add --format"


def _draw_groups(job: Job, workers: int) -> str:
    """The SVG of the worker groups and their servers. Raises ConfigError as the partition does."""
    from netpart.draw.cluster import groups_svg
    from netpart.graph.server_pieces import add_job_servers
    from netpart.plan.partition import partition_by_scheme

    with job.explaining():
        return groups_svg(add_job_servers(partition_by_scheme(job.proto, workers, job.folder, phases=("train",))))


def _draw_schedule(job: Job, workers: int) -> str:
    """The SVG of the training schedule. Raises ConfigError as the partition does."""
    from netpart.choices import DELAYED, GPIPE
    from netpart.draw.schedule import schedule_svg
    from netpart.plan.partition import partition_by_scheme
    from netpart.program.schedules.delayed_pipeline import simulate_schedule
    from netpart.program.schedules.schedule import schedule_order

    with job.explaining():
        cut = partition_by_scheme(job.proto, workers, job.folder, phases=("train",))
    order = schedule_order(cut.job)
    played = simulate_schedule(cut)
    named = {GPIPE: "GPipe", DELAYED: "delayed gradients"}.get(order, "1F1B")
    last = 1 + max((each.turn.micro for each in played), default=0)
    title = f"{cut.graph.net.name}: {named} of {last} micro-batches"
    return schedule_svg(played, cut.graph.teams.members, title)


def _cut_phase(job: Job, workers: int, phase: str) -> Graph:
    """The partitioned graph of one phase. Raises ConfigError as the partition does."""
    from netpart.plan.partition import partition_phase

    return partition_phase(job.proto, workers, phase, job.folder)
