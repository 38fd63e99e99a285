"""netpart draw: writes the partitioned net as a drawing, as text or as JSON."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netpart.choices import AUTO, DIRECTIONS, DOWN, DRAWING_FORMATS, FOLDS, PHASES

if TYPE_CHECKING:
    from netpart.draw.look import DrawingLook
    from netpart.graph.graph import Graph
    from netpart.proto.reader import Job

HELP = "draw the partitioned net: one colour per worker, with helpers, and bytes at each bridge"
PRINTED = ".pdf", ".png"
"""Endings of files that are made from an SVG."""
SUFFIXES = {
    ".gv": "dot", ".text": "txt", **{f".{name}": name for name in DRAWING_FORMATS}, **dict.fromkeys(PRINTED, "svg"),
}  # fmt: skip
LOOKS = {"fold": ("dot", "svg", "txt"), "hide_helpers": ("dot", "svg", "txt"), "rankdir": ("dot", "svg")}
"""Options about the look of a net, and the formats that have it."""


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
    parser.add_argument(
        "--fold",
        choices=FOLDS,
        help="blocks: repeated blocks of layers are one box; auto: in nets of many parts (default)",
    )
    parser.add_argument("--hide-helpers", action="store_true", help="draw layers alone; helpers become arrows")
    parser.add_argument("--rankdir", choices=DIRECTIONS, help="direction: TB downwards (default), LR to the right")
    parser.add_argument("--phase", choices=PHASES, default="train", help="net of this phase (default: train)")
    return parser


def run_verb(args: argparse.Namespace) -> int:
    """Draw the net, or its schedule or groups. Returns 0."""
    from netpart.cli.common import job_float_size, load_job
    from netpart.cli.print_note import print_note
    from netpart.cli.progress_line import show_progress
    from netpart.draw import render
    from netpart.draw.printed import print_svg
    from netpart.errors import ConfigError

    # The format is checked before the job is read: partitioning a large job takes seconds.
    asked = "--turns" if args.turns else "--groups" if args.groups else ""
    chosen = args.format or ("svg" if asked and args.output is None else _output_format(args.output))
    if asked and chosen != "svg":
        raise ConfigError(asked, "the format svg", chosen, "name a file that ends in .svg, or add --format svg")
    _check_looks(args, asked, chosen)
    job = load_job(args, provide=False)
    workers = job.worker_count
    with show_progress("cutting the net"):
        if args.turns:
            drawing = _draw_schedule(job, workers)
        elif args.groups:
            drawing = _draw_groups(job, workers)
        else:
            graph = _cut_phase(job, workers, args.phase)
            drawing = render(graph, chosen, job_float_size(job), _drawing_look(args, job, graph))
    if args.output is None:
        print(drawing, end="")
        return 0
    printed = args.format is None and args.output.suffix.lower() in PRINTED
    content = print_svg(drawing, args.output.suffix.lower()[1:]) if printed else drawing.encode()
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_bytes(content)
    print_note(f"drew {args.output}")
    return 0


def _check_looks(args: argparse.Namespace, asked: str, chosen: str) -> None:
    """Raise ConfigError for an option about the look of a net, if no net is drawn or the format cannot show it."""
    from netpart.errors import ConfigError

    for name, formats in LOOKS.items():
        option = f"--{name.replace('_', '-')}"
        if getattr(args, name) and asked:
            raise ConfigError(option, "a drawing of the net", asked, f"leave out {option} or {asked}")
        if getattr(args, name) and chosen not in formats:
            raise ConfigError(option, f"a format out of {', '.join(formats)}", chosen, f"leave out {option}")


def _drawing_look(args: argparse.Namespace, job: Job, graph: Graph) -> DrawingLook:
    """The look that the options ask for; what is folded are the blocks of the job's text, if it has any."""
    from netpart.draw.look import DrawingLook

    around = {node.name: job.blocks_around(node.at) for node in graph.net.nodes}
    nesting = {name: blocks for name, blocks in around.items() if blocks}
    return DrawingLook(args.fold or AUTO, not args.hide_helpers, args.rankdir or DOWN, nesting)


def _output_format(output: Path | None) -> str:
    """The format by the ending of ``output``, txt without a file. Raises ConfigError for another ending."""
    from netpart.errors import ConfigError

    if output is None:
        return "txt"
    found = SUFFIXES.get(output.suffix.lower())
    if found is None:
        known = ", ".join(sorted({*PRINTED, *(f".{name}" for name in DRAWING_FORMATS)}))
        raise ConfigError("--output", f"a name that ends in {known}", repr(str(output)), "or add --format")
    return found


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
