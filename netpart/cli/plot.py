"""netpart plot: draws the metrics of runs as curves."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

HELP = "draw the metrics of one or several runs as curves: loss, accuracy and others over steps, seconds or epochs"
EPILOG = """A run has a colour; training is a line, validations are hollow marks, tests are full ones. It works during a
run, too."""
AXES = "step", "seconds", "epoch"


def add_verb_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser("plot", help=HELP, description=HELP, epilog=EPILOG)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="workspace of a run, or its metrics.jsonl")
    parser.add_argument(
        "--metric", action="append", default=[], metavar="NAME",
        help="draw this metric, or all that match a pattern, e.g. '*/accuracy'; may be repeated (default: all)",
    )  # fmt: skip
    parser.add_argument("--x", choices=AXES, default=AXES[0], help="what runs to the right (default: step)")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="F.svg", help="file for the drawing")
    return parser


def run_verb(args: argparse.Namespace) -> int:
    """Read the runs and write the drawing. Returns 0."""
    from netpart.measure.run_curves import plot_runs, read_history

    drawing = plot_runs([read_history(path) for path in args.runs], args.metric, args.x)
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(drawing, encoding="utf-8")
    return 0
