"""netpart simulate: what a training step would take, without its workers: a Gantt chart, waiting, memory."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netpart.collectives.price import LinkCost

HELP = "play the workers of a job on this machine, each by a clock of its own, and show where their time would go"
EPILOG = """The kernels are real and are timed one worker after another; messages take what the link says. So any number
of workers can be tried on one machine that has the memory of all of them."""


def add(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    from netpart.cli.common import add_job_options, parse_positive
    from netpart.cli.profile import add_output_options
    from netpart.cli.threads import ALL, add_threads_option

    parser: argparse.ArgumentParser = subparsers.add_parser("simulate", help=HELP, description=HELP, epilog=EPILOG)
    add_job_options(parser)
    parser.add_argument("--steps", type=parse_positive, default=5, metavar="K", help="steps that count (default: 5)")
    parser.add_argument(
        "--link", type=_parse_link, metavar="SECONDS,BYTES/S",
        help="latency and bandwidth of what connects workers, e.g. 50e-6,1e9 (default: measured between two processes)",
    )  # fmt: skip
    parser.add_argument(
        "--speeds", type=_parse_speeds, default=[], metavar="S,S,...",
        help="speeds of the workers' devices, this machine being 1 (default: all 1)",
    )  # fmt: skip
    parser.add_argument(
        "--by", choices=("time", "flops"), default="time", help="work of kernels: timed here (default), or counted"
    )
    add_threads_option(parser, ALL)
    add_output_options(parser, "played")
    return parser


def _parse_link(text: str) -> LinkCost:
    """Latency and bandwidth as an option gives them; a message keeps each end busy for as long as the default says."""
    from netpart.collectives.price import LinkCost

    try:
        latency, bandwidth = map(float, text.split(","))
        if not (0 <= latency < math.inf and bandwidth > 0):
            raise ValueError(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected seconds,bytes/s such as 50e-6,1e9, got {text!r}") from None
    return LinkCost(latency=latency, bandwidth=bandwidth)


def _parse_speeds(text: str) -> list[float]:
    """Numbers above 0, as an option gives them."""
    try:
        found = [float(each) for each in text.split(",")]
        if not all(0 < each < math.inf for each in found):
            raise ValueError(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected numbers above 0 such as 1,0.5, got {text!r}") from None
    return found


def call(args: argparse.Namespace) -> int:
    """Simulates the job; 0 when that went to its end."""
    from netpart.cli.common import load_job
    from netpart.cli.note import print_note
    from netpart.cli.threads import limit_threads

    if args.threads is not None:
        limit_threads(1, args.threads)
    from netpart.cli.profile import create_trace_file, show_profile
    from netpart.graph.ready import check_ready
    from netpart.measure.link_speed import measure_link
    from netpart.measure.simulate import simulate_partition, worker_speeds
    from netpart.plan.partition import partition_by_scheme
    from netpart.plan.price.devices import product_speed
    from netpart.units import bytes_text, seconds_text
    from netpart.worker.initial_values import job_restored_names

    job = load_job(args)
    with job.explaining():
        cut = partition_by_scheme(job.proto, job.worker_count, job.folder, phases=("train",))
        check_ready(cut, job_restored_names(job.proto))
    speeds = worker_speeds(cut.workers, args.speeds)
    create_trace_file(args.output)
    used = args.link or measure_link()
    latency = seconds_text(used.latency)
    overhead = seconds_text(used.overhead)
    option = f"--link {used.latency:.3g},{used.bandwidth:.3g}"
    print_note(f"link: {latency} on the way, {bytes_text(used.bandwidth)}/s, {overhead} at either end ({option})")
    flops = product_speed() if args.by == "flops" else 0.0
    show_profile(simulate_partition(cut, args.steps, used, speeds, flops), args)
    return 0
