"""netpart plan: what every planner proposes for a job and some devices, with what each is predicted to take."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netpart.choices import OBJECTIVES, SECONDS

if TYPE_CHECKING:
    from netpart.plan.search.portfolio import Portfolio
    from netpart.plan.search.task import Task
    from netpart.proto.reader import Job

HELP = "find the plan that should train a job fastest on some devices, and show it among all others"
EPILOG = "Without JOB, --profile has the net: text as PipeDream's profiler writes it."
SHAPING = (
    "workers", "collectives", "devices", "bandwidth", "partitions", "group", "by", "objective", "slack",
    "micro_batches", "take", "limit",
)  # fmt: skip
"""The options that shape a plan, in the order in which it names them."""


def add(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    from netpart.choices import COLLECTIVES
    from netpart.cli.common import add_uncut_job, members
    from netpart.cli.devices import add_devices

    parser: argparse.ArgumentParser = subparsers.add_parser("plan", help=HELP, description=HELP, epilog=EPILOG)
    add_uncut_job(parser, optional=True)
    parser.add_argument("--workers", type=members, metavar="N", help="plan for N workers (default: as the job says)")
    parser.add_argument(
        "--collectives", choices=COLLECTIVES, help="how collectives are carried out (default: the job's)"
    )
    add_devices(parser)
    parser.add_argument(
        "--profile", type=Path, metavar="FILE", help="plan for the net that was profiled, not for a job"
    )
    parser.add_argument(
        "--states", type=_states, metavar="S",
        help="arrays that the updater keeps for each parameter of a --profile: 0 for plain SGD, 1 with momentum "
        "(the default), 2 for Adam",
    )  # fmt: skip
    parser.add_argument(
        "--partitions", type=members, metavar="n", help="blocks to allocate (default: as the net has them)"
    )
    _add_search(parser)
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw how GABRA converges, as SVG")
    parser.add_argument("--json", action="store_true", help="print everything as JSON, in seconds and bytes")
    parser.add_argument("--take", metavar="PLAN", help='take this one, e.g. "gabra profit" (default: the best)')
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the plan to take to FILE")
    return parser


def _add_search(parser: argparse.ArgumentParser) -> None:
    """Adds the options of what planners look for, and how long."""
    from netpart.cli.common import members, pieces

    parser.add_argument(
        "--group", type=members, metavar="R", help="devices that share the rows of a block (default: 1)"
    )
    parser.add_argument(
        "--by", choices=("flops", "profile"), default="flops", help="work of layers: counted, or timed here first"
    )
    parser.add_argument(
        "--objective", choices=(SECONDS, *OBJECTIVES), default=SECONDS, help="what makes a plan the best"
    )
    parser.add_argument(
        "--slack", type=_share, metavar="S", help="capacities above the fair share, e.g. 0.1 (default: enough)"
    )
    parser.add_argument("--micro-batches", type=pieces, metavar="M", help="of pipelines (default: the fastest of some)")
    parser.add_argument(
        "--limit", type=_share, default=5.0, metavar="T", help="seconds of the exact planner (default: 5)"
    )


def _states(text: str) -> int:
    """A number of arrays, as the option gives it."""
    if not re.fullmatch(r"\d", text):
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 to 9, got {text!r}")
    return int(text)


def _share(text: str) -> float:
    """A number of 0 or more, as the option gives it."""
    if not re.fullmatch(r"\d+(\.\d*)?|\.\d+", text):
        raise argparse.ArgumentTypeError(f"expected a number of 0 or more, got {text!r}")
    return float(text)


def call(args: argparse.Namespace) -> int:
    """Plans; 0 when it is done."""
    from netpart.cli.plan_profile import plan_profile
    from netpart.errors import ConfigError

    if (args.job is None) == (args.profile is None):
        got, hint = ("both" if args.job else "neither"), "name one of the two; --by profile times a job's layers here"
        raise ConfigError("netpart plan", "a JOB or a --profile", got, hint)
    if args.job and args.states is not None:
        raise ConfigError("--states", "a --profile", "a JOB", "a job has an updater, whose state is counted")
    return plan_profile(args) if args.profile else _plan_job(args)


def _plan_job(args: argparse.Namespace) -> int:
    """Plans for a job: prints its table, draws and writes what is asked for."""
    from netpart.cli.partition import check_output

    if args.output:
        check_output(args.output)
    from netpart.cli.common import load_job
    from netpart.cli.proposals import print_json, print_tables
    from netpart.plan.search.portfolio import Portfolio

    job = load_job(args, provide=args.by == "profile")
    task, rates = _task_of(args, job)
    portfolio = Portfolio(job, task, rates, args.micro_batches)
    best = (portfolio.named(args.take) if args.take else portfolio.best(args.objective)).row
    if args.json:
        print_json(task, portfolio, best)
    else:
        print_tables(job, portfolio, best, args.objective if args.partitions else None)
    if args.picture:
        _write_picture(args.picture, task)
    if args.output:
        _write_plan(args, job, portfolio)
    return 0


def _task_of(args: argparse.Namespace, job: Job) -> tuple[Task, dict[str, float]]:
    """What is to be planned, and the work of each FLOP of the layers."""
    from netpart.cli.common import itemsize
    from netpart.cli.devices import devices_of
    from netpart.cli.sample import use_one_core
    from netpart.graph.build import build_net
    from netpart.graph.workers import default_workers
    from netpart.plan.price import devices as places
    from netpart.plan.price.layer_loads import loads, measured_loads, rates
    from netpart.plan.search.task import Task

    cluster = job.proto.cluster
    if not (args.devices or cluster.device):
        use_one_core()
        workers = args.workers or default_workers(job.proto)
        devices = devices_of(args, workers, places.measured(workers))
    else:
        otherwise = places.devices_of(cluster) if cluster.device else places.alike(1)
        devices = devices_of(args, args.workers, otherwise)
    counted = profile = loads(build_net(job.proto, "train", job.folder), itemsize(job))
    if args.by == "profile":
        from netpart.measure.layer_seconds import layer_seconds

        profile = measured_loads(counted, layer_seconds(job.proto, job.folder), places.product_speed())
    task = Task(profile, devices, args.partitions, args.slack, job.proto.seed, args.limit, args.group or 1)
    return task, rates(counted, profile)


def _write_picture(path: Path, task: Task) -> None:
    """Draws how GABRA converges."""
    from netpart.cli.note import note

    path.write_text(convergence(task), encoding="utf-8")
    note(f"wrote {path}")


def convergence(task: Task) -> str:
    """The best and the mean plan of each of GABRA's generations, as SVG."""
    from netpart.draw.chart import line_chart

    evolution = task.evolutions["profit"]
    curves = {"best": evolution.best, "mean of the population": evolution.mean}
    name = f"GABRA: {len(task.blocks)} partitions on {len(task.devices)} devices"
    return line_chart(name, "generation", "profit (equation 5)", curves)


def _write_plan(args: argparse.Namespace, job: Job, portfolio: Portfolio) -> None:
    """Writes the proposal to take as a job of its own."""
    from netpart.cli.note import note
    from netpart.data.atomic import atomic_file
    from netpart.plan.text.write_plan import write_plan as text_of

    best = portfolio.named(args.take) if args.take else portfolio.best(args.objective)
    assert best.partition is not None, "what can be taken is cut"
    with atomic_file(args.output) as file:
        file.write(text_of(best.job, best.partition, _command(args), args.output.parent).encode())
    note(f"wrote {args.output}: {best.row.name}")


def _command(args: argparse.Namespace) -> str:
    """The command as one would type it, without where it writes to."""
    from netpart.cli.common import READ, typed

    given = {name: value for name, value in vars(args).items() if value != args.parser.get_default(name)}
    bytes_a_second = {"bandwidth": f"{args.bandwidth:g}B/s"} if args.bandwidth else {}
    return typed("plan", args, {name: given.get(name) for name in (*SHAPING, *READ)} | bytes_a_second)
