"""netpart verify: proves on a job's own data that the cut net computes what the uncut one computes."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netpart.verify.compare import Report

HELP = "compare the cut net with the uncut one, layer by layer, and name the first layer that differs"
ADVICE = """Computes in float64 with the reference kernels, bound 1e-11. With --dtype float32 the bound is 1e-5, and
near ties may fall differently: of nearly equal numbers another is the maximum of a pooling window, say."""
STEPS = 3
HEADINGS = ("layer", ">activation", ">metric", ">gradient", ">parameter gradient", ">parameter", "")


def add(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    from netpart.cli.common import add_job, positive

    parser: argparse.ArgumentParser = subparsers.add_parser("verify", help=HELP, description=HELP, epilog=ADVICE)
    add_job(parser)
    parser.add_argument("--steps", type=positive, default=STEPS, metavar="K", help=f"training steps (default: {STEPS})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every comparison as JSON")
    return parser


def call(args: argparse.Namespace) -> int:
    """Compares both nets; 0 if every tensor is within its bound, 1 if one is not."""
    from netpart.cli.common import load_job, workers_of
    from netpart.verify.compare import verify

    job = load_job(args)
    if args.dtype is None:
        job.proto.dtype = job.proto.FLOAT64
    report = verify(job.proto, workers_of(args, job), args.steps, job.folder)
    print_report(report)
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(report.to_json(), indent=1) + "\n", encoding="utf-8")
    return 0 if report.holds else 1


def print_report(report: Report) -> None:
    """Prints what was compared, the largest error of every layer, and the verdict."""
    from netpart.cli.table import Table

    print(title(report), end="\n\n")
    layers = dict.fromkeys(c.layer for c in report.comparisons)
    Table(HEADINGS, [cells(report, layer) for layer in layers]).print()
    print(f"\n{verdict(report)}")


def title(report: Report) -> str:
    """What was compared, in one line."""
    from netpart.units import counted

    workers, micro = counted(report.workers, "worker"), report.micro_batches
    pieces = f" in {micro} micro-batches" if micro > 1 else ""
    kernels = ", reference kernels" if report.dtype == "float64" else ""
    steps = counted(report.steps, "training step")
    return f"{report.job} cut over {workers}{pieces}, against uncut: {steps}, {report.dtype}{kernels}"


def cells(report: Report, layer: str) -> tuple[str, ...]:
    """The largest errors of one layer, and whether they are within their bound."""
    from netpart.verify.compare import KINDS

    errors = [report.worst.get((layer, kind)) for kind in KINDS]
    fine = all(c.holds for c in report.comparisons if c.layer == layer)
    return layer, *("-" if e is None else f"{e:.0e}" if e else "0" for e in errors), "" if fine else "differs"


def verdict(report: Report) -> str:
    """One line: they agree, or the first tensor that does not."""
    if report.first is None:
        worst = max(report.worst.values(), default=0.0)
        return f"They agree: {len(report.comparisons)} tensors, largest error {worst:.0e}, bound {bound(report):.0e}."
    others = sum(not c.holds for c in report.comparisons) - 1
    behind = f" {others} more tensors behind it." if others else ""
    return f"They differ, first in {report.first}.{behind}"


def bound(report: Report) -> float:
    """The bound that all comparisons share."""
    return report.comparisons[0].bound
