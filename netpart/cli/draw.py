"""netpart draw: writes the partitioned net as a drawing, as text or as JSON."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from netpart.choices import DRAWING_FORMATS, PHASES

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
    from netpart.cli.common import load_job
    from netpart.cli.print_note import print_note
    from netpart.draw.job_drawings import draw_job_groups, draw_job_net, draw_job_schedule
    from netpart.errors import ConfigError

    # The format is checked before the job is read: partitioning a large job takes seconds.
    asked = "--turns" if args.turns else "--groups" if args.groups else ""
    chosen = args.format or ("svg" if asked and args.output is None else _output_format(args.output))
    if asked and chosen != "svg":
        raise ConfigError(asked, "the format svg", chosen, "name a file that ends in .svg, or add --format svg")
    job = load_job(args, provide=False)
    if args.turns:
        drawing = draw_job_schedule(job)
    elif args.groups:
        drawing = draw_job_groups(job)
    else:
        drawing = draw_job_net(job, chosen, args.phase)
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
