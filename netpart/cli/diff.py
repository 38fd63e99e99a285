"""netpart diff: how two plans differ, in cuts, bytes, FLOPs and memory."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netpart.graph.partition import Partition
    from netpart.plan.text.diff import MeasureChange, PartitionDifference

HELP = "show how two jobs, or one job with and without some options, differ in cuts, bytes, FLOPs and memory"
EPILOG = """With one JOB, the options say what is compared with it as it is written; with two, they hold for both.
All but --set may be given twice: once for each side. exit code: 0 the plans are the same, 1 they differ, 2 something
is wrong."""
EACH = ("workers", "scheme", "stages", "replicas", "micro_batches", "schedule", "collectives")
"""Options that each side may have its own of."""
PLACING = ("scheme", "stages", "replicas")
"""Of these, those that place all layers of a side."""
LAYERS = ("layer", "before", "after")
NUMBERS = ("a training step", "", ">before", ">after", ">ratio")
SCHEME_HINT = ": a scheme leaves alone what has a partition_dim, location, cut or shard of its own, without --override"
TROUBLE = 2


def add(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    from netpart.choices import COLLECTIVES, SCHEDULES
    from netpart.cli.common import add_override_option, parse_micro_batches, parse_workers

    parser: argparse.ArgumentParser = subparsers.add_parser("diff", help=HELP, description=HELP, epilog=EPILOG)
    parser.add_argument("job", metavar="JOB", help="the job before")
    parser.add_argument("other", metavar="JOB2", nargs="?", help="the job after (default: the same job, with options)")
    parser.add_argument("--workers", type=parse_workers, action="append", metavar="N", help="cut over N workers")
    parser.add_argument("--scheme", action="append", metavar="NAME", help="place all layers at once")
    add_override_option(parser)
    parser.add_argument("--stages", type=parse_workers, action="append", metavar="K", help="a pipeline of K stages")
    parser.add_argument("--replicas", type=parse_workers, action="append", metavar="R", help="workers of each stage")
    parser.add_argument(
        "--micro-batches", type=parse_micro_batches, action="append", metavar="M", help="pieces of the mini-batch"
    )
    parser.add_argument("--schedule", choices=SCHEDULES, action="append", help="order of the passes")
    parser.add_argument("--collectives", choices=COLLECTIVES, action="append", help="how collectives are carried out")
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="change a field")
    parser.add_argument("--json", action="store_true", help="print everything as JSON, in bytes and FLOPs")
    parser.set_defaults(trouble=TROUBLE)
    return parser


def call(args: argparse.Namespace) -> int:
    """Compares; 0 if nothing differs, 1 if something does."""
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
    """The options of a job before and of one after."""
    from netpart.errors import ConfigError

    given = {name: _option_per_side(args, name) for name in EACH}
    if args.override and not any(any(given[name]) for name in PLACING):
        raise ConfigError("--override", "a scheme to cut the layers by", "none", "add --scheme NAME")
    if not (args.other or args.set or any(after for _, after in given.values())):
        raise ConfigError("diff", "two jobs, or one and an option", "one job", "add JOB2, --scheme, --workers or --set")
    before, after = ({name: pair[i] for name, pair in given.items()} for i in range(2))
    for options in (before, after):
        options["override"] = args.override and any(options[name] for name in PLACING)
    return _side_options(args.job, args.set if args.other else [], before), _side_options(
        args.other or args.job, args.set, after
    )


def _option_per_side(args: argparse.Namespace, name: str) -> tuple[Any, Any]:
    """What an option says for each side: given once, it holds for both of two jobs, or for one job's after."""
    from netpart.errors import ConfigError

    given = getattr(args, name) or []
    if len(given) > 2:
        raise ConfigError(f"--{name.replace('_', '-')}", "one or two", f"{len(given)}", "there are two sides")
    if not given:
        return None, None
    return (given[0] if args.other or len(given) == 2 else None), given[-1]


def _side_options(job: str, changes: list[str], options: dict[str, Any]) -> argparse.Namespace:
    """One side, as ``load_job`` wants its options."""
    unset = dict.fromkeys(("kernels", "precision", "dtype", "seed", "recompute", "shard_updates"))
    return argparse.Namespace(job=job, set=changes, **unset, **options)


def cut_job(args: argparse.Namespace, warn: bool = True) -> tuple[Partition, Path]:
    """The partition of one side and the folder of its job; errors say where in the job they are."""
    from netpart.cli.common import load_job
    from netpart.plan.partition import partition_by_scheme

    job = load_job(args, provide=False, warn=warn)
    with job.explaining():
        return partition_by_scheme(job.proto, job.worker_count, job.folder), job.folder


def _print_diff_json(difference: PartitionDifference) -> None:
    """Prints all layers and numbers as one JSON object."""
    from dataclasses import asdict

    print(json.dumps({"same": difference.same, **asdict(difference)}, indent=2, ensure_ascii=False))


def print_difference(difference: PartitionDifference) -> None:
    """Prints the layers that differ and the numbers that do, with those of the whole in any case."""
    from netpart.cli.table import TextTable

    if difference.layers:
        TextTable(LAYERS, [(c.layer, c.before or "-", c.after or "-") for c in difference.layers]).print()
        print()
    shown = [m for m in difference.measures if m.before != m.after or m.whose in ("all", "most")]
    TextTable(NUMBERS, [_measure_cells(measure) for measure in shown]).print()


def _measure_cells(measure: MeasureChange) -> tuple[str, ...]:
    """One number of both sides, and how many times as much it is afterwards."""
    from netpart.units import bytes_text, count_text

    write = count_text if measure.what == "FLOPs" else bytes_text
    numbers = ("-" if n is None else write(n) for n in (measure.before, measure.after))
    ratio = "-" if measure.ratio is None else f"{measure.ratio:.2f}"
    return measure.what, measure.whose, *numbers, ratio
