"""netpart diff: the differences between two plans in cuts, bytes, FLOPs and memory."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netpart.graph.partition import Partition
    from netpart.plan.text.diff import MeasureChange, PartitionDifference

HELP = "show how two jobs, or one job with and without some options, differ in cuts, bytes, FLOPs and memory"
EPILOG = """With one JOB, that job as it is written is compared with the same job under the options. With two, the
options apply to both, except --set, which changes only JOB2. Workers, scheme, stages, replicas, micro-batches, schedule
and collectives may be given twice: first for the job before, then for the job after.
exit code: 0 the plans are the same, 1 they differ, 2 an error"""
EACH = ("workers", "scheme", "stages", "replicas", "micro_batches", "schedule", "collectives")
"""Options that may be given twice, once for each side."""
PLACING = ("scheme", "stages", "replicas")
"""Those of EACH that place all layers of a side."""
LAYERS = ("layer", "before", "after")
NUMBERS = ("a training step", "", ">before", ">after", ">ratio")
SCHEME_HINT = ": without --override a scheme does not change layers with a partition_dim, location, cut or shard"
TROUBLE = 2


def add_verb_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the verb and its options."""
    from netpart.choices import COLLECTIVES, SCHEDULES
    from netpart.cli.common import add_override_option, parse_micro_batches, parse_workers

    parser: argparse.ArgumentParser = subparsers.add_parser("diff", help=HELP, description=HELP, epilog=EPILOG)
    parser.add_argument("job", metavar="JOB", help="the job before")
    parser.add_argument("other", metavar="JOB2", nargs="?", help="the job after (default: JOB with the options)")
    parser.add_argument("--workers", type=parse_workers, action="append", metavar="N", help="cut over N workers")
    parser.add_argument("--scheme", action="append", metavar="NAME", help="cut and place all layers by one rule")
    add_override_option(parser)
    parser.add_argument("--stages", type=parse_workers, action="append", metavar="K", help="pipeline stages")
    parser.add_argument("--replicas", type=parse_workers, action="append", metavar="R", help="workers of each stage")
    parser.add_argument(
        "--micro-batches", type=parse_micro_batches, action="append", metavar="M", help="pieces of the mini-batch"
    )
    parser.add_argument("--schedule", choices=SCHEDULES, action="append", help="order of forward and backward passes")
    parser.add_argument("--collectives", choices=COLLECTIVES, action="append", help="algorithm of collectives")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PATH=VALUE",
        help="change a field of the job after; may be repeated",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON, in bytes and FLOPs")
    # Exit code 1 already means that the plans differ, as in diff(1): every failure is 2.
    parser.set_defaults(trouble=TROUBLE)
    return parser


def run_verb(args: argparse.Namespace) -> int:
    """Compare the two plans. Returns 0 if they are the same, 1 if they differ."""
    from netpart.plan.text.diff import compare_partitions

    difference = compare_partitions(*(cut_job(side)[0] for side in _diff_sides(args)))
    if args.json:
        _print_diff_json(difference)
    elif difference.same:
        print(f"The plans are the same{SCHEME_HINT if args.scheme and not args.override else ''}.")
    else:
        print_difference(difference)
    return 0 if difference.same else 1


def _diff_sides(args: argparse.Namespace) -> tuple[argparse.Namespace, argparse.Namespace]:
    """The options of the job before and of the job after. Raises ConfigError if they cannot differ."""
    from netpart.errors import ConfigError

    given = {name: _option_per_side(args, name) for name in EACH}
    if args.override and not any(any(given[name]) for name in PLACING):
        raise ConfigError("--override", "a scheme to cut the layers by", "none", "add --scheme NAME")
    if not (args.other or args.set or any(after for _, after in given.values())):
        raise ConfigError("diff", "two jobs, or one and an option", "one job", "add JOB2, --scheme, --workers or --set")
    before, after = ({name: pair[i] for name, pair in given.items()} for i in range(2))
    # A side without a scheme has nothing that could replace its cuts, and load_job would refuse --override there.
    for options in (before, after):
        options["override"] = args.override and any(options[name] for name in PLACING)
    return _side_options(args.job, args.set if args.other else [], before), _side_options(
        args.other or args.job, args.set, after
    )


def _option_per_side(args: argparse.Namespace, name: str) -> tuple[Any, Any]:
    """The value of an option for each side.

    Given once, it applies to both of two jobs, or only to the side after if there is one job.
    """
    from netpart.errors import ConfigError

    given = getattr(args, name) or []
    if len(given) > 2:
        raise ConfigError(
            f"--{name.replace('_', '-')}", "one or two", f"{len(given)}", "give one for each of the two plans"
        )
    if not given:
        return None, None
    return (given[0] if args.other or len(given) == 2 else None), given[-1]


def _side_options(job: str, changes: list[str], options: dict[str, Any]) -> argparse.Namespace:
    """The arguments of one side in the form that ``load_job`` reads."""
    unset = dict.fromkeys(("kernels", "precision", "dtype", "seed", "recompute", "shard_updates"))
    return argparse.Namespace(job=job, set=changes, **unset, **options)


def cut_job(args: argparse.Namespace, warn: bool = True) -> tuple[Partition, Path]:
    """The partition of one side and the folder of its job. Errors carry their position in the job."""
    from netpart.cli.common import load_job
    from netpart.cli.progress_line import show_progress
    from netpart.plan.partition import partition_by_scheme

    job = load_job(args, provide=False, warn=warn)
    with job.explaining(), show_progress("cutting the net"):
        return partition_by_scheme(job.proto, job.worker_count, job.folder), job.folder


def _print_diff_json(difference: PartitionDifference) -> None:
    """Print all layers and numbers as one JSON object."""
    from dataclasses import asdict

    print(json.dumps({"same": difference.same, **asdict(difference)}, indent=2, ensure_ascii=False))


def print_difference(difference: PartitionDifference) -> None:
    """Print the layers and the numbers that differ; the totals and maxima are always printed."""
    from netpart.cli.table import TextTable

    if difference.layers:
        TextTable(LAYERS, [(c.layer, c.before or "-", c.after or "-") for c in difference.layers]).print()
        print()
    shown = [m for m in difference.measures if m.before != m.after or m.whose in ("all", "most")]
    TextTable(NUMBERS, [_measure_cells(measure) for measure in shown]).print()


def _measure_cells(measure: MeasureChange) -> tuple[str, ...]:
    """The cells of one number: before, after, and the ratio of after to before."""
    from netpart.units import bytes_text, count_text

    write = count_text if measure.what == "FLOPs" else bytes_text
    numbers = ("-" if n is None else write(n) for n in (measure.before, measure.after))
    ratio = "-" if measure.ratio is None else f"{measure.ratio:.2f}"
    return measure.what, measure.whose, *numbers, ratio
