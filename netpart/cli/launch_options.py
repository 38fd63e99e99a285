"""Options of the verbs that launch workers: where kernels run, and how workers are started, connected and found."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from netpart.choices import AUTO, PACK, PLACES, SEALS
from netpart.cli.common import add_transport_option, parse_count, parse_positive, parse_workers
from netpart.cli.threads import add_threads_option
from netpart.cli.worker import add_meeting_options

if TYPE_CHECKING:
    from netpart.cli.run_setting import RunSetting
    from netpart.launch.run import LaunchChoice
    from netpart.proto.job_pb2 import JobProto
    from netpart.proto.reader import Job


def add_launch_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of where kernels run, and of how workers are started, connected and found."""
    add_threads_option(parser)
    parser.add_argument(
        "--device", metavar="D[,D..]", help="where kernels run: auto, cpu, cuda or cuda:N; workers take the entries of"
        " a list in turn (default: the job's, else auto: the host's GPUs in turn, or the CPU if it has none)",
    )  # fmt: skip
    parser.add_argument(
        "--launcher", metavar="NAME", help="how workers start. local: one process each on this host; threads: one"
        " thread each in this process; mpi: by mpiexec; join: workers of other hosts join at --listen; env: mpirun,"
        " srun, torchrun or a Kubernetes indexed Job has started this same command for every worker; ray: on the nodes"
        " of a Ray cluster; or the name of a package's launcher (default: local, or join with --listen)",
    )  # fmt: skip
    parser.add_argument(
        "--hosts", type=Path, metavar="FILE", help="host file of --launcher mpi, e.g. workers/mpi.hosts"
    )
    parser.add_argument(
        "--place", choices=PLACES, help="with --launcher ray: workers on few nodes, on many nodes, or each on a node of"
        f" its own (default: {PACK})"
    )  # fmt: skip
    add_transport_option(parser)
    parser.add_argument(
        "--seal", choices=SEALS, default=AUTO, help="which links between workers are encrypted and authenticated. auto:"
        " those that leave loopback; yes: also those of sockets within a host; no: none (default: auto)",
    )  # fmt: skip
    parser.add_argument(
        "--listen", metavar="tcp://HOST:PORT", help="address at which workers of other hosts join; see docs/hosts.md"
    )
    parser.add_argument(
        "--local",
        type=parse_count,
        default=0,
        metavar="K",
        help="with --listen: start the first K workers on this host (default: 0)",
    )
    add_meeting_options(parser)


def add_listener_options(parser: argparse.ArgumentParser) -> None:
    """Add --listener, --tensorboard and --page, all of which append to ``listener``."""
    parser.add_argument(
        "--listener", action="append", default=[], metavar="NAME[=TEXT]", help="also send the events of the run to"
        " this listener: events (a JSON line for each, in events.jsonl of the workspace), tensorboard, or the name of a"
        " package's listener, which TEXT is for; may be repeated",
    )  # fmt: skip
    # const is "", as argparse passes it through type where the option has no value.
    parser.add_argument(
        "--tensorboard", dest="listener", action="append", nargs="?", const="", type=_tensorboard_listener,
        metavar="FOLDER", help="write metrics, job and drawing for TensorBoard to FOLDER (default: the workspace);"
        " short for --listener tensorboard=FOLDER",
    )  # fmt: skip
    parser.add_argument(
        "--page", dest="listener", action="append", nargs="?", const="", type=_page_listener, metavar="PORT",
        help="show the run in a browser of this host while it goes on: prints a URL of 127.0.0.1, which also has"
        " /metrics for Prometheus; PORT is its port (default: a free one)",
    )  # fmt: skip


def _tensorboard_listener(folder: str) -> str:
    """The listener that writes to ``folder``, "" for the workspace. Raises ArgumentTypeError for a job."""
    from netpart.proto.job_files import JOB_ENDINGS

    if folder.endswith(JOB_ENDINGS):
        raise argparse.ArgumentTypeError(f"expected a folder, got {folder!r}; write the job before --tensorboard")
    return f"tensorboard={folder}" if folder else "tensorboard"


def _page_listener(port: str) -> str:
    """The listener that serves a page at ``port``, "" for a free one. Raises ArgumentTypeError for anything else."""
    if port and not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        hint = "; write the job before --page"
        raise argparse.ArgumentTypeError(f"expected a port, 0 to 65535, got {port!r}{hint}")
    return f"page={port}" if port else "page"


def apply_launch_options(job: Job, args: argparse.Namespace) -> None:
    """Set the threads and the devices of ``job`` from the options."""
    from netpart.cli.threads import set_job_threads
    from netpart.launch.control.worker_devices import set_devices

    set_job_threads(job, args)
    if args.device:
        set_devices(job.proto, args.device)


def launch_choice(args: argparse.Namespace, setting: RunSetting) -> LaunchChoice:
    """How the workers of a run are launched, by its options and its ``setting``."""
    from netpart.launch.run import LaunchChoice

    return LaunchChoice(
        setting.launcher, args.transport, setting.meeting, args.hosts, tuple(args.listener), args.seal,
        setting.placement,
    )  # fmt: skip


def add_elastic_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--elastic", type=_parse_worker_range, metavar="MIN..MAX",
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


def _parse_worker_range(text: str) -> tuple[int, int]:
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
