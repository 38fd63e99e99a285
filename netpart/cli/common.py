"""Options that several verbs share, and reading a job with these options applied."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from netpart.choices import AUTO, COLLECTIVES, DTYPES, KERNELS, PRECISIONS, SCHEDULES, SHARDING
from netpart.proto.limits import EXTENT, MICRO_BATCHES, SECONDS, WORKERS

if TYPE_CHECKING:
    from netpart.proto.reader import Job

LONGEST = 20
"""Maximum number of digits of a number. Every limit has fewer, and int() of very long texts is slow."""

CUT = (
    "workers",
    "scheme",
    "devices",
    "override",
    "stages",
    "replicas",
    "micro_batches",
    "schedule",
    "recompute",
    "collectives",
    "shard_updates",
)
"""The options that define how a job is cut."""
NAMED = ("collectives", "shard_updates", "kernels", "precision", "dtype")
"""The options whose values are the enum values of the job's fields in small letters."""
READ = ("kernels", "precision", "dtype", "seed")
"""The options, apart from --set, that replace a field of the job and do not change its cut."""


def parse_count(text: str, least: int = 0, most: int = EXTENT) -> int:
    """Parse an option's whole number from ``least`` to ``most``. Raises ArgumentTypeError."""
    # isascii too: isdigit accepts digits of every script, and int() would read them.
    digits = text if text.isascii() and text.isdigit() and len(text) <= LONGEST else "-1"
    if not least <= int(digits) <= most:
        raise argparse.ArgumentTypeError(
            f"expected a whole number from {least} to {most}, got {_quote_beginning(text)}"
        )
    return int(digits)


def _quote_beginning(text: str) -> str:
    """``text`` in quotes, as an error shows it: whole, or only its beginning if it is long."""
    return repr(text if len(text) <= LONGEST else f"{text[:LONGEST]}…")


def parse_positive(text: str) -> int:
    """Parse an option's whole number of at least 1."""
    return parse_count(text, 1)


def parse_workers(text: str) -> int:
    """Parse an option's number of workers."""
    return parse_count(text, 1, WORKERS)


def parse_micro_batches(text: str) -> int:
    """Parse an option's number of micro-batches."""
    return parse_count(text, 1, MICRO_BATCHES)


def parse_seconds(text: str) -> float:
    """Parse an option's time to wait, in seconds. Raises ArgumentTypeError."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= SECONDS:
        raise argparse.ArgumentTypeError(f"expected seconds from 0 to {SECONDS:.10g}, got {_quote_beginning(text)}")
    return value


def add_job_options(parser: argparse.ArgumentParser, computes: bool = True, devices: bool = True) -> None:
    """Add JOB and the options that define how it is read and cut; ``computes``: also those of kernels and the seed,
    ``devices``: also that of a file of devices, which the verb then does not add itself."""
    add_uncut_job_options(parser, computes=computes)
    parser.set_defaults(adopts_devices=True)
    parser.add_argument(
        "--workers", type=parse_workers, metavar="N", help="cut the net over N workers (default: the job's)"
    )
    parser.add_argument(
        "--scheme", metavar="NAME", help="cut and place all layers by one rule, e.g. altsplit (default: the job's)"
    )
    add_override_option(parser)
    if devices:
        parser.add_argument(
            "--devices", type=Path, metavar="FILE",
            help="file with devices, links and hosts, for --scheme optimal (default: the job's)",
        )  # fmt: skip
    parser.add_argument(
        "--stages", type=parse_workers, metavar="K", help="run a pipeline of K stages (--scheme pipeline)"
    )
    parser.add_argument(
        "--replicas", type=parse_workers, metavar="R", help="workers of each pipeline stage, which divide its rows"
    )
    parser.add_argument(
        "--micro-batches", type=parse_micro_batches, metavar="M",
        help="split the mini-batch into M micro-batches, computed one after another",
    )  # fmt: skip
    # default=None here and in --override: False would replace what the job has, None leaves it.
    parser.add_argument(
        "--recompute", action="store_true", default=None,
        help="compute activations again before backward instead of keeping them, but for layers with recompute: false",
    )  # fmt: skip
    parser.add_argument(
        "--schedule", choices=SCHEDULES, help="order of forward and backward passes (default: the job's, else 1f1b)"
    )
    parser.add_argument(
        "--collectives", choices=COLLECTIVES, help="algorithm of collectives (default: the job's, else auto)"
    )
    parser.add_argument(
        "--shard-updates", choices=SHARDING, metavar="auto|yes|no",
        help="divide updates among the workers that sum a gradient (default: the job's, else auto)",
    )  # fmt: skip


def add_override_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that lets a scheme replace the cuts and locations of layers."""
    parser.add_argument(
        "--override", action="store_true", default=None,
        help="let the scheme also replace the cuts and locations that the job gives to single layers, but not those of"
        " --set",
    )  # fmt: skip


def add_uncut_job_options(parser: argparse.ArgumentParser, optional: bool = False, computes: bool = True) -> None:
    """Add JOB, which may be ``optional``, and the options that define how it is read, but none of its cut.

    ``computes``: also those of kernels and the seed.
    """
    # load_job reads all of these from every verb's arguments, so a verb without such an option has None.
    parser.set_defaults(**dict.fromkeys(("kernels", "precision", "seed", *CUT)))
    nargs = "?" if optional else None
    parser.add_argument("job", nargs=nargs, metavar="JOB", help="job configuration file, e.g. graphs/mnist/conv.conf")
    parser.add_argument(
        "--set", action="append", default=[], metavar="PATH=VALUE",
        help="change a field, e.g. fc1.partition_dim=0 or updater.learning_rate.base_lr=0.1; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--dtype", choices=DTYPES, help="element type of activations and parameters (default: the job's)"
    )
    if computes:
        _add_kernel_options(parser)
        parser.add_argument("--seed", type=int, metavar="S", help="seed of all random numbers (default: the job's)")


def _add_kernel_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that select the kernels."""
    parser.add_argument(
        "--kernels", choices=KERNELS, help="library that computes the layers (default: the job's, else auto)"
    )
    parser.add_argument(
        "--precision", choices=PRECISIONS,
        help="number format of products and convolutions on a GPU; bfloat16 on CPUs: of activations, too (default: the"
        " job's, else float32)",
    )  # fmt: skip


def add_transport_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that selects how processes of one host exchange tensors."""
    parser.add_argument(
        "--transport", default=AUTO, metavar="NAME",
        help="how processes exchange tensors: auto, zeromq, shm, cuda-ipc or the transport of a package (default: auto,"
        " which takes shared memory where the host has it, and GPU memory between workers on GPUs)",
    )  # fmt: skip


def load_job(args: argparse.Namespace, provide: bool = True, warn: bool = True) -> Job:
    """Read the job that ``args`` names and apply its options; also store it as ``args.loaded``.

    ``provide``: generate the zoo's data sets that the job reads and that do not exist. ``warn``: print a note for each
    setting with little or no effect. Raises ConfigError.
    """
    from netpart.cli.print_note import print_note
    from netpart.graph.ineffective_settings import ineffective_warnings
    from netpart.graph.scheme import override_cuts, set_scheme
    from netpart.graph.uncomputed import uncomputed_warnings
    from netpart.proto.job_pb2 import JobProto
    from netpart.proto.reader import read_job

    # Stored before the options are applied: main uses it to find the position of an error that they cause.
    job = args.loaded = replace(read_job(args.job, args.set), workers=getattr(args, "workers", None))
    if args.scheme is not None:
        set_scheme(job.proto, args.scheme)
    _set_pipeline(job, args)
    # netpart verify --schemes clears the cuts itself, as it tries several schemes on one job.
    if args.override and not getattr(args, "schemes", None):
        override_cuts(job.proto, job.overridden)
    for warning in (*uncomputed_warnings(job), *ineffective_warnings(job.proto)) if warn else ():
        print_note(f"warning: {warning}")
    named = {name: value.upper() for name in NAMED if (value := getattr(args, name)) is not None}
    # A field given as None counts as unset, and MergeFrom only copies fields that are set.
    job.proto.MergeFrom(JobProto(seed=_check_seed(args.seed), **named))
    if getattr(args, "adopts_devices", False) and args.devices is not None:
        from netpart.plan.price.named_devices import adopt_devices

        job = args.loaded = adopt_devices(job, args.devices)
    if provide:
        from netpart.cli.provide import provide_data as make_missing

        make_missing(job)
    return job


def _set_pipeline(job: Job, args: argparse.Namespace) -> None:
    """Set the pipeline of ``job`` from the options; --stages and --replicas select the scheme pipeline."""
    from netpart.graph.scheme import set_scheme
    from netpart.proto.job_pb2 import NetProto

    net = job.proto.neuralnet
    for name in ("stages", "replicas", "micro_batches", "recompute"):
        if getattr(args, name) is not None:
            setattr(net, name, getattr(args, name))
    if (args.stages or args.replicas) and args.scheme is None:
        set_scheme(job.proto, "pipeline")
    if args.schedule is not None:
        net.MergeFrom(NetProto(schedule=SCHEDULES[args.schedule]))


def _check_seed(number: int | None) -> int | None:
    """Return ``number``. Raises ConfigError if it does not fit into the job's field ``seed``, a uint64."""
    from netpart.errors import ConfigError

    if number is not None and not 0 <= number < 1 << 64:
        raise ConfigError("--seed", "a whole number from 0 to 2^64 - 1", str(number), "choose another number")
    return number


def command_line(verb: str, args: argparse.Namespace, options: Mapping[str, object]) -> str:
    """The command line of ``verb`` with those of ``options`` that were given, quoted for a shell."""
    given = [(f"--{name.replace('_', '-')}", value) for name, value in options.items() if value not in (None, "")]
    words = [word for flag, value in given for word in ((flag,) if value is True else (flag, str(value)))]
    words += [word for change in args.set for word in ("--set", change)]
    return shlex.join(["netpart", verb, args.job, *words])
