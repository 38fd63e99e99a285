"""netpart draw: writes the partitioned net as a drawing, as text or as JSON."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netpart.choices import AUTO, DIRECTIONS, DOWN, FOLDS, JOB_FORMATS, LOOK_FORMATS, PAGE, PHASES

if TYPE_CHECKING:
    from netpart.proto.reader import Job

HELP = "draw the partitioned net: one colour per worker, with helpers, and bytes at each bridge"
PRINTED = ".pdf", ".png"
"""Endings of files that are made from an SVG."""
SUFFIXES = {
    ".gv": "dot", ".text": "txt", ".htm": PAGE,
    **{f".{name}": name for name in JOB_FORMATS}, **dict.fromkeys(PRINTED, "svg"),
}  # fmt: skip
LOOKS = {"fold": "fold", "hide_helpers": "helpers", "rankdir": "direction", "phase": "phase"}
"""Options about the look of a net, by their names in LOOK_FORMATS."""


def add_verb_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the verb and its options."""
    from netpart.cli.common import add_job_options

    parser: argparse.ArgumentParser = subparsers.add_parser("draw", help=HELP, description=HELP)
    add_job_options(parser, computes=False)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write to FILE instead of standard output")
    parser.add_argument("--format", choices=JOB_FORMATS, help="format (default: by the ending of FILE; txt without -o)")
    parser.add_argument(
        "--turns", action="store_true", help="draw the schedule of workers over time instead of the net, as svg"
    )
    parser.add_argument(
        "--groups", action="store_true", help="draw the worker groups and their servers instead of the net, as svg"
    )
    parser.add_argument(
        "--fold", choices=FOLDS, help="blocks: the blocks of the net are boxes; auto (default): if it has many parts"
    )
    parser.add_argument("--hide-helpers", action="store_true", help="draw layers alone; helpers become arrows")
    parser.add_argument("--rankdir", choices=DIRECTIONS, help="direction: TB downwards (default), LR to the right")
    parser.add_argument("--phase", choices=PHASES, help="net of this phase (default: train)")
    return parser


def run_verb(args: argparse.Namespace) -> int:
    """Draw the net, or its schedule or groups. Returns 0."""
    from netpart.cli.common import load_job
    from netpart.cli.print_note import print_note
    from netpart.cli.progress_line import show_progress
    from netpart.draw.printed import print_svg
    from netpart.errors import ConfigError

    # The format is checked before the job is read: partitioning a large job takes seconds.
    asked = "--turns" if args.turns else "--groups" if args.groups else ""
    chosen = args.format or ("svg" if asked and args.output is None else _output_format(args.output))
    if asked and chosen != "svg":
        raise ConfigError(asked, "the format svg", chosen, "name a file that ends in .svg, or add --format svg")
    _check_looks(args, asked, chosen)
    job = load_job(args, provide=False)
    with show_progress("cutting the net"):
        drawing = _draw_subject(args, job, chosen)
    if args.output is None:
        print(drawing, end="")
        return 0
    printed = args.format is None and args.output.suffix.lower() in PRINTED
    content = print_svg(drawing, args.output.suffix.lower()[1:]) if printed else drawing.encode()
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_bytes(content)
    print_note(f"drew {args.output}")
    return 0


def _draw_subject(args: argparse.Namespace, job: Job, chosen: str) -> str:
    """The drawing of what was asked for: the schedule, the groups, or the net in the format ``chosen``."""
    from netpart.draw.job_drawings import draw_job_groups, draw_job_net, draw_job_schedule
    from netpart.draw.page.job_page import draw_job_page

    if args.turns:
        return draw_job_schedule(job)
    if args.groups:
        return draw_job_groups(job)
    if chosen == PAGE:
        return draw_job_page(job)
    looks = args.fold or AUTO, not args.hide_helpers, args.rankdir or DOWN
    return draw_job_net(job, chosen, args.phase or "train", *looks)


def _check_looks(args: argparse.Namespace, asked: str, chosen: str) -> None:
    """Raise ConfigError for an option about the look of a net, if no net is drawn or the format cannot show it."""
    from netpart.errors import ConfigError

    for name, look in LOOKS.items():
        option = f"--{name.replace('_', '-')}"
        if getattr(args, name) and asked:
            raise ConfigError(option, "a drawing of the net", asked, f"omit {option} or {asked}")
        if getattr(args, name) and chosen not in LOOK_FORMATS[look]:
            raise ConfigError(option, f"a format out of {', '.join(LOOK_FORMATS[look])}", chosen, f"omit {option}")


def _output_format(output: Path | None) -> str:
    """The format by the ending of ``output``, txt without a file. Raises ConfigError for another ending."""
    from netpart.errors import ConfigError

    if output is None:
        return "txt"
    found = SUFFIXES.get(output.suffix.lower())
    if found is None:
        known = ", ".join(sorted({*PRINTED, *(f".{name}" for name in JOB_FORMATS)}))
        raise ConfigError("--output", f"a name that ends in {known}", repr(str(output)), "or add --format")
    return found
