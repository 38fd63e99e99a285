"""netpart plan: proposals of all planners for a job and some devices, with the predicted time of each."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

from netpart.choices import OBJECTIVES, SECONDS

if TYPE_CHECKING:
    from netpart.plan.search.portfolio import Portfolio
    from netpart.plan.search.task import PlanningTask
    from netpart.proto.reader import Job

HELP = "predict the step time of many plans for a job on some devices, list them, and write the best one"
EPILOG = "Without JOB, --profile gives the net, as text in the format of PipeDream's profiler."
SHAPING = (
    "workers", "collectives", "devices", "bandwidth", "partitions", "group", "by", "objective", "slack",
    "micro_batches", "take", "limit",
)  # fmt: skip
"""The options that determine a plan, in the order in which the plan's comment lists them."""


def add_verb_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the verb and its options."""
    from netpart.choices import COLLECTIVES
    from netpart.cli.common import add_uncut_job_options, parse_workers
    from netpart.cli.devices import add_device_options

    parser: argparse.ArgumentParser = subparsers.add_parser("plan", help=HELP, description=HELP, epilog=EPILOG)
    add_uncut_job_options(parser, optional=True)
    parser.add_argument("--workers", type=parse_workers, metavar="N", help="plan for N workers (default: the job's)")
    parser.add_argument("--collectives", choices=COLLECTIVES, help="algorithm of collectives (default: the job's)")
    add_device_options(parser)
    parser.add_argument(
        "--profile", type=Path, metavar="FILE", help="plan for the profiled net in FILE instead of a job"
    )
    parser.add_argument(
        "--states", type=_parse_state_count, metavar="S",
        help="with --profile: arrays that the updater keeps for each parameter, 0 for plain SGD, 1 with momentum "
        "(the default), 2 for Adam",
    )  # fmt: skip
    parser.add_argument(
        "--levels", type=_parse_levels, metavar="N:B,...",
        help="with --profile: workers in hosts, and hosts in racks, each with the bandwidth of its port, e.g. "
        "8:10GB/s,4:1.25GB/s for 4 hosts of 8 workers",
    )  # fmt: skip
    parser.add_argument(
        "--partitions", type=parse_workers, metavar="n",
        help="number of blocks to allocate to devices (default: the net's own blocks)",
    )  # fmt: skip
    _add_search_options(parser)
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the convergence of GABRA to FILE, as SVG")
    parser.add_argument("--json", action="store_true", help="print everything as JSON, in seconds and bytes")
    parser.add_argument(
        "--take", metavar="PLAN", help='choose this row of the table, e.g. "gabra profit" (default: the best)'
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the chosen plan to FILE")
    return parser


def _add_search_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that control the planners' search."""
    from netpart.cli.common import parse_micro_batches, parse_workers

    parser.add_argument(
        "--group", type=parse_workers, metavar="R",
        help="devices that divide the rows of each block (default: 1, and other divisors of their number are tried)",
    )  # fmt: skip
    parser.add_argument(
        "--by", choices=("kernels", "flops", "profile"),
        help="work of layers: times of their kernels by shape on this machine, counted FLOPs, or times of the uncut "
        "net on this machine (default: kernels; flops for --devices, for those of the job, and for GPUs)",
    )  # fmt: skip
    parser.add_argument(
        "--objective", choices=(SECONDS, *OBJECTIVES), default=SECONDS,
        help="measure by which the best plan is chosen (default: seconds, the predicted step)",
    )  # fmt: skip
    parser.add_argument(
        "--slack", type=_parse_amount, metavar="S",
        help="capacity of devices above their fair share, e.g. 0.1 (default: the smallest that allows a plan)",
    )  # fmt: skip
    parser.add_argument(
        "--micro-batches", type=parse_micro_batches, metavar="M",
        help="micro-batches of pipelines (default: several are tried)",
    )  # fmt: skip
    parser.add_argument(
        "--limit", type=_parse_amount, default=10.0, metavar="T",
        help="time limit of all planners together, and of timing kernels, in seconds of the processor (default: 10)",
    )  # fmt: skip


def _parse_state_count(text: str) -> int:
    """Parse --states, a number of arrays. Raises ArgumentTypeError."""
    if not re.fullmatch(r"\d", text):
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 to 9, got {text!r}")
    return int(text)


def _parse_levels(text: str) -> list[tuple[int, float]]:
    """Parse --levels, numbers of members and bandwidths from workers up. Raises ArgumentTypeError."""
    from netpart.cli.common import parse_workers
    from netpart.cli.devices import parse_bandwidth

    pairs = [one.partition(":") for one in text.split(",")]
    if not all(bandwidth for _, _, bandwidth in pairs):
        raise argparse.ArgumentTypeError(f"expected members and bandwidths, as in 8:10GB/s,4:1.25GB/s, got {text!r}")
    return [(parse_workers(count), parse_bandwidth(bandwidth)) for count, _, bandwidth in pairs]


def _parse_amount(text: str) -> float:
    """Parse an option's number of 0 or more. Raises ArgumentTypeError."""
    # Not float() alone, which reads "nan", "inf" and "1_0".
    if not re.fullmatch(r"\d+(\.\d*)?|\.\d+", text):
        raise argparse.ArgumentTypeError(f"expected a number of 0 or more, got {text!r}")
    return float(text)


def run_verb(args: argparse.Namespace) -> int:
    """Plan the job; return 0 when it is done."""
    from netpart.cli.plan_profile import plan_profile
    from netpart.errors import ConfigError

    if (args.job is None) == (args.profile is None):
        got = "both" if args.job else "neither"
        hint = "name one of the two; --by profile times a job's layers here"
        raise ConfigError("netpart plan", "a JOB or a --profile", got, hint)
    if args.job and args.states is not None:
        raise ConfigError("--states", "a --profile", "a JOB", "omit it: the updater of the job defines its states")
    if args.job and args.levels is not None:
        raise ConfigError("--levels", "a --profile", "a JOB", "name --devices in place of levels")
    return plan_profile(args) if args.profile else _plan_job(args)


def _plan_job(args: argparse.Namespace) -> int:
    """Plan for a job: print the table, and write the picture and the plan if requested. Returns 0."""
    from netpart.plan.text.plan_file import check_plan_file

    begun = process_time()
    # Before planning, which may take minutes.
    if args.output:
        check_plan_file(args.output)
    from netpart.cli.common import load_job
    from netpart.cli.print_note import print_note
    from netpart.cli.progress_line import show_progress
    from netpart.cli.proposals import print_plan_tables, print_plans_json

    job = load_job(args, provide=args.by == "profile")
    _limit_planning_threads(args, job)
    # Only now, as this import loads the kernels' libraries, which read their number of threads once.
    with show_progress("loading the kernels"):
        from netpart.measure.planning_prices import PlanningRequest
        from netpart.measure.propose_plans import propose_plans

    request = PlanningRequest(**{field: getattr(args, field) for field in PlanningRequest.__dataclass_fields__})
    # Loading counts: the limit is that of the answer.
    request = replace(request, limit=max(0.0, args.limit - (process_time() - begun)))
    with show_progress("measuring this host"):
        portfolio = propose_plans(job, request, print_note)
        # What is taken may have to be worked out.
        best = (portfolio.find_proposal(args.take) if args.take else portfolio.best(args.objective)).row
    task = portfolio.task
    if args.json:
        print_plans_json(task, portfolio, best)
    else:
        print_plan_tables(job, portfolio, best, args.objective if args.partitions else None)
    if args.picture:
        _write_convergence(args.picture, task)
    if args.output:
        _write_chosen_plan(args, job, portfolio)
    return 0


def _limit_planning_threads(args: argparse.Namespace, job: Job) -> None:
    """Limit the threads of kernels to those that a worker will have. Of named devices the speed is what counts, so one
    thread is timed."""
    from netpart.cli.threads import limit_threads
    from netpart.launch.control.cores import requested_threads

    if not (args.devices or job.proto.cluster.device):
        limit_threads(job.worker_count, requested_threads(job.proto))
    elif args.by == "kernels":
        limit_threads(1, 1)


def _write_convergence(path: Path, task: PlanningTask) -> None:
    """Write the drawing of GABRA's convergence to ``path``."""
    from netpart.cli.print_note import print_note

    path.write_text(draw_convergence(task), encoding="utf-8")
    print_note(f"wrote {path}")


def draw_convergence(task: PlanningTask) -> str:
    """The profit of the best plan and the mean profit of each of GABRA's generations, as SVG."""
    from netpart.draw.chart import line_chart

    evolution = task.evolutions["profit"]
    curves = {"best": evolution.best, "mean of the population": evolution.mean}
    name = f"GABRA: {len(task.blocks)} partitions on {len(task.devices)} devices"
    return line_chart(name, "generation", "profit (equation 5)", curves)


def _write_chosen_plan(args: argparse.Namespace, job: Job, portfolio: Portfolio) -> None:
    """Write the chosen proposal to --output, as a job."""
    from netpart.cli.print_note import print_note
    from netpart.cli.progress_line import show_progress
    from netpart.plan.text.plan_file import save_plan_file
    from netpart.plan.text.write_plan import write_plan as text_of

    best = portfolio.find_proposal(args.take) if args.take else portfolio.best(args.objective)
    assert best.partition is not None, "every proposal that can be chosen has a partition"
    with show_progress("writing the plan"):
        text = text_of(best.job, best.partition, _plan_command(args), args.output.parent)
    save_plan_file(args.output, text)
    print_note(f"wrote {args.output}: {best.row.name}")


def _plan_command(args: argparse.Namespace) -> str:
    """The command that makes this plan, without its output file: a comment in the plan shows it."""
    from netpart.cli.common import READ, command_line

    given = {name: value for name, value in vars(args).items() if value != args.parser.get_default(name)}
    # args has the parsed number of bytes per second; the option is written with a unit.
    bytes_a_second = {"bandwidth": f"{args.bandwidth:g}B/s"} if args.bandwidth else {}
    return command_line("plan", args, {name: given.get(name) for name in (*SHAPING, *READ)} | bytes_a_second)
