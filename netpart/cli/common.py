"""What the verbs share: the options of a job, and reading it as they say."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netpart.proto.reader import Job

PIPELINE = ("stages", "replicas", "micro_batches", "order", "recompute")
DTYPES = ("float32", "float64")
ORDERS = ("1f1b", "gpipe")
KERNELS = ("auto", "reference", "onednn")
SHARDING = ("auto", "yes", "no")
COLLECTIVES = ("auto", "ring", "doubling", "tree", "direct")


def count(text: str, least: int = 0) -> int:
    """A whole number of ``least`` or more, as an option gives it."""
    if not text.isascii() or not text.isdigit() or int(text) < least:
        raise argparse.ArgumentTypeError(f"expected a whole number of {least} or more, got {text!r}")
    return int(text)


def positive(text: str) -> int:
    """A whole number of at least 1, as an option gives it."""
    return count(text, 1)


def add_job(parser: argparse.ArgumentParser) -> None:
    """Adds JOB and the options that say how it is read and cut."""
    add_uncut_job(parser)
    parser.add_argument("--workers", type=positive, metavar="N", help="cut over N workers (default: as the job says)")
    parser.add_argument("--scheme", metavar="NAME", help="place all layers at once, e.g. altsplit (default: the job's)")
    parser.add_argument("--stages", type=positive, metavar="K", help="a pipeline of K stages, one after another")
    parser.add_argument("--replicas", type=positive, metavar="R", help="workers that share the rows of each stage")
    parser.add_argument(
        "--micro-batches", type=positive, metavar="M", help="cut the mini-batch into M, one after another"
    )
    parser.add_argument(
        "--recompute", action="store_true", default=None,
        help="compute activations again before backward instead of holding them",
    )  # fmt: skip
    parser.add_argument("--order", choices=ORDERS, help="order of the micro-batches (default: the job's, or 1f1b)")
    parser.add_argument(
        "--collectives", choices=COLLECTIVES, help="how collectives are carried out (default: the job's, or else auto)"
    )
    parser.add_argument(
        "--shard-updates", choices=SHARDING, metavar="auto|yes|no",
        help="share out updates among the workers that sum a gradient (default: the job's, or else auto)",
    )  # fmt: skip


def add_uncut_job(parser: argparse.ArgumentParser, optional: bool = False) -> None:
    """Adds JOB, which may be ``optional``, and the options that say how it is read, but none that say how it is cut."""
    parser.set_defaults(workers=None, scheme=None, collectives=None, shard_updates=None, **dict.fromkeys(PIPELINE))
    nargs = "?" if optional else None
    parser.add_argument("job", nargs=nargs, metavar="JOB", help="the job's configuration, e.g. graphs/mnist/conv.conf")
    parser.add_argument(
        "--set", action="append", default=[], metavar="PATH=VALUE",
        help="change a field, e.g. fc1.partition_dim=0 or updater.learning_rate.base_lr=0.1; may be repeated",
    )  # fmt: skip
    parser.add_argument("--kernels", choices=KERNELS, help="what computes on a CPU (default: the job's, or else auto)")
    parser.add_argument("--dtype", choices=DTYPES, help="type of activations and parameters (default: the job's)")
    parser.add_argument("--seed", type=int, metavar="S", help="key of all random numbers (default: the job's)")


SHARE = "the job's, or else its share of the host's cores"
ALL = "as OMP_NUM_THREADS says, or else all cores"


def add_threads(parser: argparse.ArgumentParser, default: str = SHARE) -> None:
    """Adds the option of how many cores a worker computes on; ``default`` says what it does on without it."""
    parser.add_argument(
        "--threads", type=positive, metavar="N", help=f"threads of each worker's CPU kernels (default: {default})"
    )


def keep_to(workers: int, threads: int | None) -> None:
    """Makes the kernels of this process, which are not loaded yet, use ``threads`` (None: a share among workers)."""
    import os

    from netpart.launch.cores import shared

    os.environ.update(shared(workers, threads or 0))


def load_job(args: argparse.Namespace, provide: bool = True) -> Job:
    """Reads the job that ``args`` names, with its options applied; ``args.loaded`` remembers it for errors.

    ``provide`` makes the zoo's data where the job reads it and it is not there. Raises ConfigError.
    """
    from netpart.graph.scheme import set_scheme
    from netpart.proto.job_pb2 import Collectives, KernelSet, Sharding
    from netpart.proto.reader import load

    job = args.loaded = load(args.job, args.set)
    if args.scheme is not None:
        set_scheme(job.proto, args.scheme)
    set_pipeline(job, args)
    if args.collectives is not None:
        job.proto.collectives = Collectives.Algorithm.Value(args.collectives.upper())  # type: ignore[assignment]
    if args.shard_updates is not None:
        job.proto.shard_updates = Sharding.Updates.Value(args.shard_updates.upper())  # type: ignore[assignment]
    if args.kernels is not None:
        job.proto.kernels = KernelSet.Name.Value(args.kernels.upper())  # type: ignore[assignment]
    if args.dtype is not None:
        job.proto.dtype = (job.proto.FLOAT32, job.proto.FLOAT64)[DTYPES.index(args.dtype)]
    if args.seed is not None:
        job.proto.seed = seed(args.seed)
    if provide:
        from netpart.cli.provide import provide as make_missing

        make_missing(job)
    return job


def set_pipeline(job: Job, args: argparse.Namespace) -> None:
    """Gives ``job`` the pipeline that the options ask for: --stages and --replicas are of no use without one."""
    from netpart.graph.scheme import set_scheme
    from netpart.proto.job_pb2 import Schedule

    net = job.proto.neuralnet
    for name in ("stages", "replicas", "micro_batches", "recompute"):
        if getattr(args, name) is not None:
            setattr(net, name, getattr(args, name))
    if (args.stages or args.replicas) and args.scheme is None:
        set_scheme(job.proto, "pipeline")
    if args.order is not None:
        net.schedule = (Schedule.ONE_F_ONE_B, Schedule.GPIPE)[ORDERS.index(args.order)]


def seed(number: int) -> int:
    """``number``, which must fit the job's field; raises ConfigError."""
    from netpart.errors import ConfigError

    if not 0 <= number < 1 << 64:
        raise ConfigError("--seed", "a whole number from 0 to 2^64 - 1", str(number))
    return number


def workers_of(args: argparse.Namespace, job: Job) -> int:
    """--workers, or else what the job asks for."""
    from netpart.graph.workers import default_workers

    return int(args.workers or default_workers(job.proto))


def itemsize(job: Job) -> int:
    """Bytes of an activation."""
    from netpart.proto.element import float_size

    return float_size(job.proto)
