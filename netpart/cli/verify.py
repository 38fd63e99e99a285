"""netpart verify: checks on a job's own data that the cut net computes the same as the uncut one."""

from __future__ import annotations

import argparse
import json
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netpart.proto.reader import Job
    from netpart.verify.compare import SchemeReport
    from netpart.verify.report import ComparisonSummary, VerifyReport

HELP = "compare the cut net with the uncut one, layer by layer, and name the first layer that differs"
ADVICE = """classes of difference:
  bitwise        no difference
  reordered sum  at most what another order of addition can cause (the bound)
  rounding       at most 8 times the error of the uncut net itself, compared with float64
  semantic       more than that
The nets agree if the relative difference of every tensor is at most 1e-11 in float64 with the reference kernels, the
default. With --dtype float32 it is 1e-5, or what rounding explains. In float32 a near tie may be decided differently:
of two nearly equal numbers the other one may be the maximum of a pooling window."""
STEPS = 3
ALL = "all"
LAYERS = ("layer", "class", ">relative", ">bound", ">absolute", ">ULP", "largest in")
SCHEMES = ("scheme", "agrees", "class", ">relative", ">bytes a step", "first beyond its bound")


def add_verb_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the verb and its options."""
    from netpart.cli.common import add_job_options, parse_positive

    parser: argparse.ArgumentParser = subparsers.add_parser("verify", help=HELP, description=HELP, epilog=ADVICE)
    add_job_options(parser)
    parser.add_argument(
        "--steps", type=parse_positive, default=STEPS, metavar="K", help=f"training steps to compare (default: {STEPS})"
    )
    parser.add_argument("--schemes", metavar="A,B", help=f"verify these schemes one after the other; {ALL}: every one")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every comparison to FILE as JSON")
    return parser


def run_verb(args: argparse.Namespace) -> int:
    """Compare the cut net with the uncut one. Returns 0 if every tensor is within its tolerance, else 1."""
    from netpart.cli.common import load_job
    from netpart.cli.progress_line import show_progress
    from netpart.verify.compare import verify_job

    job = load_job(args)
    # In float32 rounding hides small mistakes; in float64 a difference above 1e-11 is one.
    if args.dtype is None:
        job.proto.dtype = job.proto.FLOAT64
    if args.schemes is not None:
        return _verify_each_scheme(args, job)
    with show_progress("cutting the net"):
        report = verify_job(job.proto, job.worker_count, args.steps, job.folder)
    _print_report(report)
    _print_float64_hint(args, report.holds)
    _write_verify_json(args.json, report.to_json())
    return 0 if report.holds else 1


def _verify_each_scheme(args: argparse.Namespace, job: Job) -> int:
    """Compare both nets under each scheme of --schemes. Returns 0 if all agree, else 1.

    Raises ConfigError together with --scheme.
    """
    from netpart.cli.print_note import print_note
    from netpart.cli.progress_line import show_progress
    from netpart.errors import ConfigError
    from netpart.graph.scheme import clear_cuts, overruled_warning
    from netpart.verify.compare import verify_schemes

    if args.scheme is not None:
        raise ConfigError("--schemes", "no --scheme with it", args.scheme, "omit one of them")
    names = _parse_scheme_names(args.schemes)
    if args.override:
        clear_cuts(job.proto)
    elif warning := overruled_warning(job.proto, *names):
        print_note(f"warning: {warning}")
    with show_progress("cutting the net"):
        found = list(verify_schemes(job.proto, job.worker_count, names, args.steps, job.folder))
    _print_scheme_reports(found)
    _print_float64_hint(args, all(scheme.report.holds for scheme in found))
    _write_verify_json(args.json, {"schemes": [scheme.to_json() for scheme in found]})
    return 0 if all(scheme.report.holds for scheme in found) else 1


def _parse_scheme_names(text: str) -> list[str]:
    """Parse --schemes into names, each once. Raises ConfigError with the nearest names for an unknown one."""
    from netpart.families import SCHEMES
    from netpart.graph.scheme import parse_scheme_name

    if text.lower() == ALL:
        return list(SCHEMES.names())
    return list(dict.fromkeys(parse_scheme_name(name.strip(), "--schemes") for name in text.split(",")))


def _write_verify_json(path: Path | None, values: dict[str, Any]) -> None:
    """Write ``values`` to ``path``, the file of --json, if it is given."""
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def _print_report(report: VerifyReport) -> None:
    """Print the title, the largest differences of every layer, and the verdict."""
    from netpart.cli.table import TextTable

    print(_comparison_title(report), end="\n\n")
    TextTable(LAYERS, [_layer_difference_cells(*item) for item in report.layers.items()]).print()
    print("", *_verdict_lines(report), sep="\n")


def _print_scheme_reports(found: list[SchemeReport]) -> None:
    """Print one row per scheme, and the verdicts of those that have a difference beyond its bound."""
    from netpart.cli.table import TextTable

    print(_comparison_title(found[0].report), end="\n\n")
    TextTable(SCHEMES, [_scheme_cells(scheme) for scheme in found]).print()
    wrong = [
        f"{scheme.scheme}: {line}" for scheme in found for line in _verdict_lines(scheme.report) if scheme.report.first
    ]
    print("", *(wrong or [f"They all agree, within {_allowed_difference(found[0].report)}."]), sep="\n")


def _print_float64_hint(args: argparse.Namespace, holds: bool) -> None:
    """After a difference in float32, print the command that shows in float64 whether it is only a near tie."""
    from netpart.cli.common import CUT, command_line

    if args.dtype != "float32" or holds:
        return
    options = {name: getattr(args, name) for name in (*CUT, "seed", "schemes")}
    print(
        f"Rounding may have decided a near tie differently. A real mistake also differs in float64, rounding does"
        f" not:\n  {command_line('verify', args, options)}"
    )


def _comparison_title(report: VerifyReport) -> str:
    """The title line: job, workers, micro-batches, steps, element type and kernels."""
    from netpart.units import plural_text

    workers = plural_text(report.workers, "worker")
    micro = report.micro_batches
    pieces = f" in {micro} micro-batches" if micro > 1 else ""
    steps = plural_text(report.steps, "training step")
    return f"{report.job} cut over {workers}{pieces}, against uncut: {steps}, {report.dtype}, {report.kernels} kernels"


def _layer_difference_cells(layer: str, summary: ComparisonSummary) -> tuple[str, ...]:
    """The cells of one layer: its largest differences, and the kind of tensor with the largest relative one."""
    from netpart.verify.report import BITWISE

    most = summary.difference
    worst = summary.worst
    if worst.category == BITWISE:
        return layer, worst.category, "0", "-", "0", "0", ""
    figures = map(_difference_text, (worst.difference.relative, worst.bound, most.absolute, most.ulp))
    return layer, worst.category, *figures, worst.kind


def _scheme_cells(found: SchemeReport) -> tuple[str, ...]:
    """The cells of one scheme's row."""
    from netpart.units import bytes_text

    report = found.report
    worst = found.report.whole.worst
    agrees = "yes" if report.holds else "no"
    first = report.first.layer if report.first else "-"
    relative = _difference_text(report.whole.difference.relative)
    return found.scheme, agrees, worst.category, relative, bytes_text(found.nbytes), first


def _difference_text(value: float) -> str:
    """A difference as text: small whole numbers in full, others with one significant digit."""
    return f"{value:g}" if value in (0, inf) or (value < 1000 and value == int(value)) else f"{value:.0e}"


def _verdict_lines(report: VerifyReport) -> Iterator[str]:
    """The lines of the verdict: whether the nets agree, and the first tensor beyond its bound."""
    total = len(report.comparisons)
    most = report.whole.difference.relative
    if report.holds:
        largest = _difference_text(most)
        allowed = _allowed_difference(report)
        yield f"They agree: {total} tensors, largest difference {largest}, allowed {allowed}."
    else:
        wrong = sum(not c.holds for c in report.comparisons)
        yield f"They differ: {wrong} of {total} tensors by more than {_allowed_difference(report)}."
    if report.first:
        yield f"First difference that the order of addition does not explain: {report.first}."


def _allowed_difference(report: VerifyReport) -> str:
    """The allowed relative difference as text."""
    from netpart.verify.report import TIMES

    rounding = f" or {TIMES} times the uncut net's own error against float64" if report.dtype != "float64" else ""
    return f"{report.law:.0e}{rounding}"
