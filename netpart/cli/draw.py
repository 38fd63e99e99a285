"""netpart draw: the partitioned net as a drawing, as text or as JSON."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netpart.choices import DRAWING_FORMATS, PHASES

if TYPE_CHECKING:
    from netpart.graph.graph import Graph
    from netpart.proto.reader import Job

HELP = "draw the partitioned net: one colour per worker, helpers and bytes on bridges"
SUFFIXES = {".gv": "dot", ".text": "txt", **{f".{name}": name for name in DRAWING_FORMATS}}
CONVERTED = ("png", "pdf")
"""What others make of an SVG."""


def add(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    from netpart.cli.common import add_job_options

    parser: argparse.ArgumentParser = subparsers.add_parser("draw", help=HELP, description=HELP)
    add_job_options(parser, computes=False)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write to FILE instead of the screen")
    parser.add_argument("--format", choices=DRAWING_FORMATS, help="default: as FILE ends, txt on the screen")
    parser.add_argument(
        "--turns", action="store_true", help="draw which worker computes what when instead of the net, as svg"
    )
    parser.add_argument(
        "--groups", action="store_true", help="draw the groups of workers and their servers instead of the net, as svg"
    )
    parser.add_argument("--phase", choices=PHASES, default="train", help="which net (default: train)")
    return parser


def call(args: argparse.Namespace) -> int:
    """Draws the net; 0 when it is drawn."""
    from netpart.cli.common import job_float_size, load_job
    from netpart.cli.note import print_note
    from netpart.draw import render
    from netpart.errors import ConfigError

    asked = "--turns" if args.turns else "--groups" if args.groups else ""
    chosen = args.format or ("svg" if asked and args.output is None else _output_format(args.output))
    if asked and chosen != "svg":
        raise ConfigError(asked, "the format svg", chosen, "name a file that ends in .svg, or say --format svg")
    job = load_job(args, provide=False)
    workers = job.worker_count
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
    """The format that a file's name asks for, txt for the screen; raises ConfigError for another name."""
    from netpart.errors import ConfigError

    if output is None:
        return "txt"
    found = SUFFIXES.get(output.suffix.lower())
    if found is None:
        known = ", ".join(f".{name}" for name in DRAWING_FORMATS)
        raise ConfigError("--output", f"a name that ends in {known}", repr(str(output)), _format_hint(output))
    return found


def _format_hint(output: Path) -> str:
    """How a drawing becomes what ``output`` asks for, or how its format is said outright."""
    kind = output.suffix.lower().removeprefix(".")
    if kind in CONVERTED:
        svg = output.with_suffix(".svg")
        return f"write {svg}, and make that a {kind.upper()}: rsvg-convert -f {kind} {svg} -o {output}, or any browser"
    return "or say --format"


def _draw_groups(job: Job, workers: int) -> str:
    """The groups of workers and their servers, drawn; raises ConfigError as the partition does."""
    from netpart.draw.cluster import groups_svg
    from netpart.graph.passes.serve import add_job_servers
    from netpart.plan.partition import partition_by_scheme

    with job.explaining():
        return groups_svg(add_job_servers(partition_by_scheme(job.proto, workers, job.folder, phases=("train",))))


def _draw_schedule(job: Job, workers: int) -> str:
    """The schedule of training, drawn; raises ConfigError as the partition does."""
    from netpart.draw.schedule import schedule_svg
    from netpart.plan.partition import partition_by_scheme
    from netpart.program.schedules.delayed_rehearsal import simulate_schedule
    from netpart.program.schedules.schedule import DELAYED, GPIPE, schedule_order

    with job.explaining():
        cut = partition_by_scheme(job.proto, workers, job.folder, phases=("train",))
    order = schedule_order(cut.job)
    played = simulate_schedule(cut)
    named = {GPIPE: "GPipe", DELAYED: "delayed gradients"}.get(order, "1F1B")
    last = 1 + max((each.turn.micro for each in played), default=0)
    title = f"{cut.graph.net.name}: {named} of {last} micro-batches"
    return schedule_svg(played, cut.graph.teams.members, title)


def _cut_phase(job: Job, workers: int, phase: str) -> Graph:
    """The graph of one phase, cut; raises ConfigError as the partition does."""
    from netpart.plan.partition import partition_phase

    return partition_phase(job.proto, workers, phase, job.folder)
