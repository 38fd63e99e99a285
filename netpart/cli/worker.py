"""netpart worker: joins a run on another host as one of its workers."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netpart.cli.common import parse_count, parse_seconds
from netpart.cli.threads import STARTED, add_threads_option, limit_launched_threads

if TYPE_CHECKING:
    from netpart.launch.control.token import RunToken
    from netpart.launch.member.join import Invitation

HELP = "join a run that was started on another host, as one of its workers"


def add_verb_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser("worker", help=HELP, description=HELP)
    parser.add_argument("--join", metavar="tcp://HOST:PORT", required=True, help="address of the run: its --listen")
    parser.add_argument(
        "--rank", type=parse_count, metavar="R", help="number of this worker (default: that of mpirun, srun or the"
        " indexed Job that started it, else the next free one)",
    )  # fmt: skip
    parser.add_argument(
        "--listen", default="", metavar="tcp://HOST:PORT", help="address at which this worker receives tensors;"
        " PORT may be * (default: the interface that reaches the coordinator, a free port)",
    )  # fmt: skip
    parser.add_argument(
        "--folder", type=Path, metavar="DIR",
        help="folder from which relative data paths start on this host (default: the same path as on the coordinator)",
    )  # fmt: skip
    add_threads_option(parser, STARTED)
    add_meeting_options(parser)
    return parser


def add_meeting_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of joining: the token that workers share, and how long to wait for each other."""
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="F",
        help="file with the run's token, mode 600 (default: the variable NETPART_TOKEN)",
    )
    parser.add_argument(
        "--wait",
        type=parse_seconds,
        metavar="SECONDS",
        help="how long to wait for workers, or for the run (default: 600)",
    )


def wait_seconds(args: argparse.Namespace) -> float:
    """How long to wait for workers, or for the run."""
    from netpart.launch.member.join import WAIT_SECONDS

    return WAIT_SECONDS if args.wait is None else float(args.wait)


def run_verb(args: argparse.Namespace) -> int:
    """Work until the run ends. Returns 0."""
    limit_launched_threads(args.threads)  # before the imports below load the kernels' libraries
    from netpart.launch.control.address import resolve_peer_address
    from netpart.launch.member.join import Invitation
    from netpart.launch.teams.launcher_environment import find_launched_rank

    resolve_peer_address(args.join, "--join")
    adopted = find_launched_rank(os.environ)
    rank = args.rank if args.rank is not None or adopted is None else adopted.rank
    join_as_worker(
        Invitation(args.join, required_token(args, joins=True), rank, args.listen, args.folder, wait_seconds(args))
    )
    return 0


def join_as_worker(invitation: Invitation) -> None:
    """Run one worker to the end of the run, and print its progress."""
    from netpart.launch.control.signals import hear_halt_signal
    from netpart.launch.member.join import join_run

    # A batch system sends that signal to all processes of a job. The coordinator answers it, for all workers.
    with hear_halt_signal(lambda: None):
        join_run(invitation, lambda text: print(text, flush=True))


def required_token(args: argparse.Namespace, joins: bool = False) -> RunToken:
    """The run's token, of the file or the environment. Raises ConfigError if neither has a token.

    ``joins``: the run is there already, so a new token is no advice.
    """
    from netpart.errors import ConfigError
    from netpart.launch.control.token import HINT, RUN_HINT, VARIABLE, find_token

    token = find_token(os.environ, args.token_file, RUN_HINT if joins else HINT)
    if token is None:
        expected = "the run's token"
        line = f"copy the line that `netpart run` printed, set {VARIABLE} or give --token-file"
        hint = line if joins else f"{HINT}, the same for all processes, and set {VARIABLE} or give --token-file"
        raise ConfigError(VARIABLE, expected, "none", hint)
    return token
