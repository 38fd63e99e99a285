"""netpart simulate: predicts the time and memory of training steps by running all workers on this machine."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netpart.collectives.network import LinkCost

HELP = "simulate the workers of a job on this machine, each with its own clock, and show their time and memory"
EPILOG = """The kernels really run and are timed, one worker after another; messages take the time that the link gives
them. So any number of workers can be tried on one machine that has enough memory for all of them."""


def add_verb_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the verb and its options."""
    from netpart.cli.common import add_job_options, parse_positive
    from netpart.cli.profile import add_output_options
    from netpart.cli.threads import ALL, add_threads_option

    parser: argparse.ArgumentParser = subparsers.add_parser("simulate", help=HELP, description=HELP, epilog=EPILOG)
    add_job_options(parser, devices=False)
    parser.add_argument("--steps", type=parse_positive, default=5, metavar="K", help="measured steps (default: 5)")
    parser.add_argument(
        "--link", type=_parse_link, metavar="SECONDS,BYTES/S",
        help="latency and bandwidth between workers, e.g. 50e-6,1e9 (default: measured between two processes, once)",
    )  # fmt: skip
    parser.add_argument(
        "--speeds", type=_parse_speeds, default=[], metavar="S,S,...",
        help="speed of each worker's device relative to this machine, e.g. 1,0.5 (default: all 1)",
    )  # fmt: skip
    parser.add_argument(
        "--devices", type=Path, metavar="FILE",
        help="file with devices, links and hosts, in place of --link and --speeds, e.g. workers/two-hosts.conf",
    )  # fmt: skip
    parser.add_argument(
        "--by",
        choices=("time", "flops"),
        default="time",
        help="time of kernels: measured here, or computed from counted FLOPs (default: time)",
    )
    add_threads_option(parser, ALL)
    add_output_options(parser, "simulated")
    return parser


def _parse_link(text: str) -> LinkCost:
    """Parse --link, latency and bandwidth. Raises ArgumentTypeError.

    The overhead, for which a message keeps each end busy, is LinkCost's default.
    """
    from netpart.collectives.network import LinkCost

    try:
        latency, bandwidth = map(float, text.split(","))
        if not (0 <= latency < math.inf and bandwidth > 0):
            raise ValueError(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected seconds,bytes/s such as 50e-6,1e9, got {text!r}") from None
    return LinkCost(latency=latency, bandwidth=bandwidth)


def _parse_speeds(text: str) -> list[float]:
    """Parse --speeds, numbers above 0. Raises ArgumentTypeError."""
    try:
        found = [float(each) for each in text.split(",")]
        if not all(0 < each < math.inf for each in found):
            raise ValueError(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected numbers above 0 such as 1,0.5, got {text!r}") from None
    return found


def run_verb(args: argparse.Namespace) -> int:
    """Simulate the job and print the tables. Returns 0."""
    from netpart.cli.common import load_job
    from netpart.cli.progress_line import show_progress
    from netpart.cli.threads import limit_threads

    # 1: simulated workers compute one after another, so each may use all cores. Before the imports that load BLAS.
    if args.threads is not None:
        limit_threads(1, args.threads)
    from netpart.cli.print_note import print_note
    from netpart.cli.profile import create_trace_file, show_profile
    from netpart.graph.partition import keep_objects
    from netpart.graph.ready import check_ready
    from netpart.measure.simulated_job import SimulationRequest, read_simulated_devices, simulate_job
    from netpart.plan.partition import partition_by_scheme
    from netpart.plan.price.named_devices import adopt_hosts
    from netpart.worker.initial_values import job_restored_names

    args.every = args.output is not None  # a trace has all workers
    request = SimulationRequest(**{field: getattr(args, field) for field in SimulationRequest.__dataclass_fields__})
    read_simulated_devices(request)  # a wrong file is reported before the net is cut
    job = adopt_hosts(load_job(args), args.devices)
    with job.explaining(), show_progress("cutting the net"), keep_objects():
        cut = partition_by_scheme(job.proto, job.worker_count, job.folder, phases=("train",), compact=True)
        check_ready(cut, job_restored_names(job.proto))
    create_trace_file(args.output)
    with show_progress("simulating"), keep_objects():
        simulated = simulate_job(cut, request, print_note)
    show_profile(simulated, args)
    return 0
