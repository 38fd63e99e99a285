"""What the verbs share: the options of a job, and reading it as they say."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from netpart.choices import AUTO, COLLECTIVES, DTYPES, KERNELS, PRECISIONS, SCHEDULES, SHARDING
from netpart.proto.limits import EXTENT, MICRO_BATCHES, SECONDS, WORKERS

if TYPE_CHECKING:
    from netpart.proto.reader import Job

LONGEST = 20
"""Characters of a number that are read."""

CUT = (
    "workers",
    "scheme",
    "override",
    "stages",
    "replicas",
    "micro_batches",
    "schedule",
    "recompute",
    "collectives",
    "shard_updates",
)
"""The options that say how a job is cut."""
NAMED = ("collectives", "shard_updates", "kernels", "precision", "dtype")
"""The options whose values are those of the job's fields, in small letters."""
READ = ("kernels", "precision", "dtype", "seed")
"""The options that say how it is read, but --set."""


def parse_count(text: str, least: int = 0, most: int = EXTENT) -> int:
    """A whole number from ``least`` to ``most``, as an option gives it."""
    digits = text if text.isascii() and text.isdigit() and len(text) <= LONGEST else "-1"
    if not least <= int(digits) <= most:
        raise argparse.ArgumentTypeError(
            f"expected a whole number from {least} to {most}, got {_quote_beginning(text)}"
        )
    return int(digits)


def _quote_beginning(text: str) -> str:
    """``text`` in quotes, as an error shows it: of a long one the beginning."""
    return repr(text if len(text) <= LONGEST else f"{text[:LONGEST]}…")


def parse_positive(text: str) -> int:
    """A whole number of at least 1, as an option gives it."""
    return parse_count(text, 1)


def parse_workers(text: str) -> int:
    """A number of workers, as an option gives it."""
    return parse_count(text, 1, WORKERS)


def parse_micro_batches(text: str) -> int:
    """A number of micro-batches, as an option gives it."""
    return parse_count(text, 1, MICRO_BATCHES)


def parse_seconds(text: str) -> float:
    """A time to wait, as an option gives it."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= SECONDS:
        raise argparse.ArgumentTypeError(f"expected seconds from 0 to {SECONDS:.10g}, got {_quote_beginning(text)}")
    return value


def add_job_options(parser: argparse.ArgumentParser, computes: bool = True) -> None:
    """Adds JOB and the options that say how it is read and cut; ``computes``: the verb cares about kernels and seed."""
    add_uncut_job_options(parser, computes=computes)
    parser.add_argument(
        "--workers", type=parse_workers, metavar="N", help="cut over N workers (default: as the job says)"
    )
    parser.add_argument("--scheme", metavar="NAME", help="place all layers at once, e.g. altsplit (default: the job's)")
    add_override_option(parser)
    parser.add_argument("--stages", type=parse_workers, metavar="K", help="a pipeline of K stages, one after another")
    parser.add_argument("--replicas", type=parse_workers, metavar="R", help="workers that share the rows of each stage")
    parser.add_argument(
        "--micro-batches", type=parse_micro_batches, metavar="M", help="cut the mini-batch into M, one after another"
    )
    parser.add_argument(
        "--recompute", action="store_true", default=None,
        help="compute activations again before backward instead of holding them",
    )  # fmt: skip
    parser.add_argument(
        "--schedule", choices=SCHEDULES, help="order of forward and backward passes (default: the job's, or 1f1b)"
    )
    parser.add_argument(
        "--collectives", choices=COLLECTIVES, help="how collectives are carried out (default: the job's, or else auto)"
    )
    parser.add_argument(
        "--shard-updates", choices=SHARDING, metavar="auto|yes|no",
        help="share out updates among the workers that sum a gradient (default: the job's, or else auto)",
    )  # fmt: skip


def add_override_option(parser: argparse.ArgumentParser) -> None:
    """Adds the option that lets a scheme replace what is written on layers."""
    parser.add_argument(
        "--override", action="store_true", default=None,
        help="let the scheme replace the cuts and locations that are written on layers",
    )  # fmt: skip


def add_uncut_job_options(parser: argparse.ArgumentParser, optional: bool = False, computes: bool = True) -> None:
    """Adds JOB, which may be ``optional``, and the options that say how it is read, but none that say how it is cut."""
    parser.set_defaults(**dict.fromkeys(("kernels", "precision", "seed", *CUT)))
    nargs = "?" if optional else None
    parser.add_argument("job", nargs=nargs, metavar="JOB", help="the job's configuration, e.g. graphs/mnist/conv.conf")
    parser.add_argument(
        "--set", action="append", default=[], metavar="PATH=VALUE",
        help="change a field, e.g. fc1.partition_dim=0 or updater.learning_rate.base_lr=0.1; may be repeated",
    )  # fmt: skip
    parser.add_argument("--dtype", choices=DTYPES, help="type of activations and parameters (default: the job's)")
    if computes:
        _add_kernel_options(parser)
        parser.add_argument("--seed", type=int, metavar="S", help="key of all random numbers (default: the job's)")


def _add_kernel_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of what computes."""
    parser.add_argument("--kernels", choices=KERNELS, help="what computes (default: the job's, or else auto)")
    parser.add_argument(
        "--precision", choices=PRECISIONS, help="of products on a GPU (default: the job's, or else float32)"
    )


def add_transport_option(parser: argparse.ArgumentParser) -> None:
    """Adds the option of what processes of one host exchange tensors through."""
    parser.add_argument(
        "--transport", default=AUTO, metavar="NAME",
        help="what processes exchange tensors through: auto, zeromq, shm, cuda-ipc or that of a package (default:"
        " auto, shared memory where the host has it, that of GPUs between workers on GPUs)",
    )  # fmt: skip


def load_job(args: argparse.Namespace, provide: bool = True, warn: bool = True) -> Job:
    """Reads the job that ``args`` names, with its options applied; ``args.loaded`` remembers it for errors.

    ``provide`` makes the zoo's data where the job reads it and it is not there; ``warn`` says what has little effect.
    Raises ConfigError.
    """
    from netpart.cli.note import print_note
    from netpart.graph.scheme import override_cuts, set_scheme
    from netpart.graph.uncomputed import uncomputed_warnings
    from netpart.graph.unheeded import ineffective_warnings
    from netpart.proto.job_pb2 import JobProto
    from netpart.proto.reader import read_job

    job = args.loaded = replace(read_job(args.job, args.set), workers=getattr(args, "workers", None))
    if args.scheme is not None:
        set_scheme(job.proto, args.scheme)
    _set_pipeline(job, args)
    if args.override and not getattr(args, "schemes", None):
        override_cuts(job.proto)
    for warning in (*uncomputed_warnings(job), *ineffective_warnings(job.proto)) if warn else ():
        print_note(f"warning: {warning}")
    named = {name: value.upper() for name in NAMED if (value := getattr(args, name)) is not None}
    job.proto.MergeFrom(JobProto(seed=_check_seed(args.seed), **named))
    if provide:
        from netpart.cli.provide import provide_data as make_missing

        make_missing(job)
    return job


def _set_pipeline(job: Job, args: argparse.Namespace) -> None:
    """Gives ``job`` the pipeline that the options ask for: --stages and --replicas are of no use without one."""
    from netpart.graph.scheme import set_scheme
    from netpart.proto.job_pb2 import Schedule

    net = job.proto.neuralnet
    for name in ("stages", "replicas", "micro_batches", "recompute"):
        if getattr(args, name) is not None:
            setattr(net, name, getattr(args, name))
    if (args.stages or args.replicas) and args.scheme is None:
        set_scheme(job.proto, "pipeline")
    if args.schedule is not None:
        net.schedule = (Schedule.ONE_F_ONE_B, Schedule.GPIPE, Schedule.DELAYED)[SCHEDULES.index(args.schedule)]


def _check_seed(number: int | None) -> int | None:
    """``number``, which must fit the job's field if there is one; raises ConfigError."""
    from netpart.errors import ConfigError

    if number is not None and not 0 <= number < 1 << 64:
        raise ConfigError("--seed", "a whole number from 0 to 2^64 - 1", str(number))
    return number


def command_line(verb: str, args: argparse.Namespace, options: Mapping[str, object]) -> str:
    """The command line of ``verb`` with ``options``, but those that are not given, as one would type it."""
    given = [(f"--{name.replace('_', '-')}", value) for name, value in options.items() if value not in (None, "")]
    words = [word for flag, value in given for word in ((flag,) if value is True else (flag, str(value)))]
    words += [word for change in args.set for word in ("--set", change)]
    return shlex.join(["netpart", verb, args.job, *words])


def job_float_size(job: Job) -> int:
    """Bytes of an activation."""
    from netpart.proto.element import float_size

    return float_size(job.proto)
