"""Options of elastic runs: --elastic MIN..MAX and --snapshot N."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from netpart.cli.common import parse_positive, parse_workers

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import JobProto


def add_elastic_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--elastic", type=parse_worker_range, metavar="MIN..MAX",
        help="go on with the workers that are left when one is lost, down to MIN; others may join, up to MAX",
    )  # fmt: skip
    parser.add_argument(
        "--snapshot", type=parse_positive, metavar="N",
        help="with --elastic: steps between snapshots, which a lost run goes back to (default: the job's, else 10)",
    )  # fmt: skip


def add_respawn_option(parser: argparse.ArgumentParser) -> None:
    """Add --respawn."""
    parser.add_argument(
        "--respawn", action="store_true",
        help="with --elastic: start a lost worker of this host again; it takes part from the next snapshot on",
    )  # fmt: skip


def parse_worker_range(text: str) -> tuple[int, int]:
    """Parse MIN..MAX. Raises ArgumentTypeError."""
    first, dots, last = text.partition("..")
    if not dots:
        raise argparse.ArgumentTypeError(f"expected MIN..MAX, e.g. 2..6, got {text[:20]!r}")
    least, most = parse_workers(first), parse_workers(last)
    if least > most:
        raise argparse.ArgumentTypeError(f"expected MIN..MAX with MIN at most MAX, got {text[:20]!r}")
    return least, most


def set_elastic(job: JobProto, args: argparse.Namespace) -> None:
    """Set the fields of ``job`` from the options. Raises ConfigError for --snapshot without an elastic run."""
    from netpart.errors import ConfigError

    if args.elastic is not None:
        job.elastic.min_workers, job.elastic.max_workers = args.elastic
    if args.snapshot is not None:
        if not job.HasField("elastic"):
            raise ConfigError("--snapshot", "--elastic MIN..MAX with it", "none", "add it; or use checkpoint_freq")
        job.elastic.snapshot_freq = args.snapshot
