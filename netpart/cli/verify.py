"""netpart verify: proves on a job's own data that the cut net computes what the uncut one computes."""

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
ADVICE = """bitwise: no difference. reordered sum: no more than sums in another order explain (the bound). rounding: no
more than 8 times what the uncut net errs itself, beside float64. semantic: more than that. They agree if every tensor
is within 1e-11 in float64 with the reference kernels, the default; with --dtype float32 it is 1e-5 or what rounding
explains, and a near tie may fall differently: of nearly equal numbers another is the maximum of a window, say."""
STEPS = 3
ALL = "all"
LAYERS = ("layer", "class", ">relative", ">bound", ">absolute", ">ULP", "largest in")
SCHEMES = ("scheme", "agrees", "class", ">relative", ">bytes a step", "first beyond its bound")


def add(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    from netpart.cli.common import add_job_options, parse_positive

    parser: argparse.ArgumentParser = subparsers.add_parser("verify", help=HELP, description=HELP, epilog=ADVICE)
    add_job_options(parser)
    parser.add_argument(
        "--steps", type=parse_positive, default=STEPS, metavar="K", help=f"training steps (default: {STEPS})"
    )
    parser.add_argument("--schemes", metavar="A,B", help=f"verify these schemes one after the other, or {ALL}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every comparison as JSON")
    return parser


def call(args: argparse.Namespace) -> int:
    """Compares both nets; 0 if every tensor is within the law, 1 if one is not."""
    from netpart.cli.common import load_job
    from netpart.verify.compare import verify_job

    job = load_job(args)
    if args.dtype is None:
        job.proto.dtype = job.proto.FLOAT64
    if args.schemes is not None:
        return _verify_each_scheme(args, job)
    report = verify_job(job.proto, job.worker_count, args.steps, job.folder)
    _print_report(report)
    _print_float64_hint(args, report.holds)
    _write_verify_json(args.json, report.to_json())
    return 0 if report.holds else 1


def _verify_each_scheme(args: argparse.Namespace, job: Job) -> int:
    """Compares both nets under each scheme that was asked for; 0 if all agree. Raises ConfigError beside --scheme."""
    from netpart.cli.note import print_note
    from netpart.errors import ConfigError
    from netpart.graph.scheme import clear_cuts, overruled_warning
    from netpart.verify.compare import verify_schemes

    if args.scheme is not None:
        raise ConfigError("--schemes", "no --scheme beside it", args.scheme, "leave one of them away")
    names = _parse_scheme_names(args.schemes)
    if args.override:
        clear_cuts(job.proto)
    elif warning := overruled_warning(job.proto, *names):
        print_note(f"warning: {warning}")
    found = list(verify_schemes(job.proto, job.worker_count, names, args.steps, job.folder))
    _print_scheme_reports(found)
    _print_float64_hint(args, all(scheme.report.holds for scheme in found))
    _write_verify_json(args.json, {"schemes": [scheme.to_json() for scheme in found]})
    return 0 if all(scheme.report.holds for scheme in found) else 1


def _parse_scheme_names(text: str) -> list[str]:
    """The names that --schemes gives; raises ConfigError with the nearest names for one that is none."""
    from netpart.families import SCHEMES
    from netpart.graph.scheme import parse_scheme_name

    if text.lower() == ALL:
        return list(SCHEMES.names())
    return list(dict.fromkeys(parse_scheme_name(name.strip(), "--schemes") for name in text.split(",")))


def _write_verify_json(path: Path | None, values: dict[str, Any]) -> None:
    """Writes ``values`` to the file that --json names."""
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def _print_report(report: VerifyReport) -> None:
    """Prints what was compared, the largest differences of every layer, and the verdict."""
    from netpart.cli.table import TextTable

    print(_comparison_title(report), end="\n\n")
    TextTable(LAYERS, [_layer_difference_cells(*item) for item in report.layers.items()]).print()
    print("", *_verdict_lines(report), sep="\n")


def _print_scheme_reports(found: list[SchemeReport]) -> None:
    """Prints one row per scheme, and what is wrong with those that do not agree."""
    from netpart.cli.table import TextTable

    print(_comparison_title(found[0].report), end="\n\n")
    TextTable(SCHEMES, [_scheme_cells(scheme) for scheme in found]).print()
    wrong = [
        f"{scheme.scheme}: {line}" for scheme in found for line in _verdict_lines(scheme.report) if scheme.report.first
    ]
    print("", *(wrong or [f"They all agree, within {_allowed_difference(found[0].report)}."]), sep="\n")


def _print_float64_hint(args: argparse.Namespace, holds: bool) -> None:
    """Says which command tells a mistake from a near tie that rounding has decided otherwise."""
    from netpart.cli.common import CUT, command_line

    if args.dtype != "float32" or holds:
        return
    options = {name: getattr(args, name) for name in (*CUT, "seed", "schemes")}
    print(
        f"It may be rounding that decided a near tie otherwise. A mistake differs in float64 too, and nothing else"
        f" does:\n  {command_line('verify', args, options)}"
    )


def _comparison_title(report: VerifyReport) -> str:
    """What was compared, in one line."""
    from netpart.units import plural_text

    workers = plural_text(report.workers, "worker")
    micro = report.micro_batches
    pieces = f" in {micro} micro-batches" if micro > 1 else ""
    steps = plural_text(report.steps, "training step")
    return f"{report.job} cut over {workers}{pieces}, against uncut: {steps}, {report.dtype}, {report.kernels} kernels"


def _layer_difference_cells(layer: str, summary: ComparisonSummary) -> tuple[str, ...]:
    """The largest differences of one layer, and what the largest relative one is of."""
    from netpart.verify.report import BITWISE

    most = summary.difference
    worst = summary.worst
    if worst.category == BITWISE:
        return layer, worst.category, "0", "-", "0", "0", ""
    figures = map(_difference_text, (worst.difference.relative, worst.bound, most.absolute, most.ulp))
    return layer, worst.category, *figures, worst.kind


def _scheme_cells(found: SchemeReport) -> tuple[str, ...]:
    """One scheme as it is printed."""
    from netpart.units import bytes_text

    report = found.report
    worst = found.report.whole.worst
    agrees = "yes" if report.holds else "no"
    first = report.first.layer if report.first else "-"
    relative = _difference_text(report.whole.difference.relative)
    return found.scheme, agrees, worst.category, relative, bytes_text(found.nbytes), first


def _difference_text(value: float) -> str:
    """A difference as it is printed: one digit tells its size."""
    return f"{value:g}" if value in (0, inf) or (value < 1000 and value == int(value)) else f"{value:.0e}"


def _verdict_lines(report: VerifyReport) -> Iterator[str]:
    """They agree or not, and the first tensor that leaves its bound."""
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
        yield f"First beyond what sums in another order explain: {report.first}."


def _allowed_difference(report: VerifyReport) -> str:
    """The relative difference that the law allows, in words."""
    from netpart.verify.report import TIMES

    rounding = f" or {TIMES} times what the uncut net errs beside float64" if report.dtype == "float32" else ""
    return f"{report.law:.0e}{rounding}"
