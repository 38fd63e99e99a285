"""How many cores a worker computes on: the option, and what makes it so."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from netpart.cli.common import parse_count
from netpart.proto.limits import THREADS

if TYPE_CHECKING:
    from netpart.proto.reader import Job

SHARE = "the job's, or else its share of the host's cores"
ALL = "as OMP_NUM_THREADS says, or else all cores"
STARTED = "as OMP_NUM_THREADS says, or else its share of the host's cores if a launcher tells, or else all"


def _parse_threads(text: str) -> int:
    """A number of threads, as the option gives it."""
    return parse_count(text, 1, THREADS)


def add_threads_option(parser: argparse.ArgumentParser, default: str = SHARE) -> None:
    """Adds the option of how many cores a worker computes on; ``default`` says what it does on without it."""
    parser.add_argument(
        "--threads", type=_parse_threads, metavar="N", help=f"threads of each worker's CPU kernels (default: {default})"
    )


def limit_threads(workers: int, threads: int | None) -> None:
    """Makes the kernels of this process, which are not loaded yet, use ``threads`` (None, 0: a share among workers)."""
    import os

    from netpart.launch.control.cores import child_thread_variables

    os.environ.update(child_thread_variables(workers, threads or 0))


def limit_launched_threads(threads: int | None) -> None:
    """The same for a process that a launcher may have started beside others: ``threads``, or else its share."""
    import os

    from netpart.launch.control.cores import own_thread_variables

    os.environ.update(own_thread_variables(os.environ, threads or 0))


def set_job_threads(job: Job, args: argparse.Namespace) -> None:
    """Gives ``job`` the threads that the options ask for; workers that are threads of this process get theirs now."""
    from netpart.launch.control.cores import requested_threads

    if args.threads is not None:
        job.proto.num_openblas_threads = args.threads
    if args.launcher == "threads":
        limit_threads(job.cluster.size, requested_threads(job.proto))
