"""How many cores a worker computes on: the option, and what makes it so."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from netpart.cli.common import count, workers_of
from netpart.proto.limits import THREADS

if TYPE_CHECKING:
    from netpart.proto.reader import Job

SHARE = "the job's, or else its share of the host's cores"
ALL = "as OMP_NUM_THREADS says, or else all cores"
STARTED = "as OMP_NUM_THREADS says, or else its share of the host's cores if a launcher tells, or else all"


def _threads(text: str) -> int:
    """A number of threads, as the option gives it."""
    return count(text, 1, THREADS)


def add_threads(parser: argparse.ArgumentParser, default: str = SHARE) -> None:
    """Adds the option of how many cores a worker computes on; ``default`` says what it does on without it."""
    parser.add_argument(
        "--threads", type=_threads, metavar="N", help=f"threads of each worker's CPU kernels (default: {default})"
    )


def keep_to(workers: int, threads: int | None) -> None:
    """Makes the kernels of this process, which are not loaded yet, use ``threads`` (None, 0: a share among workers)."""
    import os

    from netpart.launch.control.cores import shared

    os.environ.update(shared(workers, threads or 0))


def keep_to_share(threads: int | None) -> None:
    """The same for a process that a launcher may have started beside others: ``threads``, or else its share."""
    import os

    from netpart.launch.control.cores import adopted

    os.environ.update(adopted(os.environ, threads or 0))


def set_threads(job: Job, args: argparse.Namespace) -> None:
    """Gives ``job`` the threads that the options ask for; workers that are threads of this process get theirs now."""
    from netpart.graph.cluster import cluster_of
    from netpart.launch.control.cores import asked_threads

    if args.threads is not None:
        job.proto.num_openblas_threads = args.threads
    if args.launcher == "threads":
        keep_to(cluster_of(job.proto, workers_of(args, job)).size, asked_threads(job.proto))
