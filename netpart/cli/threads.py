"""Threads of each worker: the option --threads, and the environment variables that apply it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from netpart import choices
from netpart.cli.common import parse_count
from netpart.proto.limits import THREADS

if TYPE_CHECKING:
    from netpart.proto.reader import Job

SHARE = "the job's, else its share of the host's cores"
ALL = "OMP_NUM_THREADS, else all cores"
STARTED = "OMP_NUM_THREADS, else its share of the host's cores if a launcher started it, else all cores"


def _parse_threads(text: str) -> int:
    """Parse --threads."""
    return parse_count(text, 1, THREADS)


def add_threads_option(parser: argparse.ArgumentParser, default: str = SHARE) -> None:
    """Add the option --threads; ``default`` is the help text for the case without it."""
    parser.add_argument(
        "--threads", type=_parse_threads, metavar="N", help=f"threads of each worker's CPU kernels (default: {default})"
    )


def limit_threads(workers: int, threads: int | None) -> None:
    """Limit the kernels of this process to ``threads`` threads (None, 0: its share among ``workers``).

    To be called before the kernels' libraries are loaded: they read these environment variables only then.
    """
    import os

    from netpart.launch.control.cores import child_thread_variables

    os.environ.update(child_thread_variables(workers, threads or 0))


def limit_launched_threads(threads: int | None) -> None:
    """The same for a process that a launcher may have started together with others on this host."""
    import os

    from netpart.launch.control.cores import own_thread_variables

    os.environ.update(own_thread_variables(os.environ, threads or 0))


def set_job_threads(job: Job, args: argparse.Namespace) -> None:
    """Set the threads of ``job`` from --threads; with --launcher threads, apply them to this process.

    Worker processes apply theirs themselves when they start.
    """
    from netpart.launch.control.cores import requested_threads

    if args.threads is not None:
        job.proto.num_openblas_threads = args.threads
    if args.launcher == choices.THREADS:
        limit_threads(job.cluster.size, requested_threads(job.proto))
