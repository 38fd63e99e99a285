"""Rendezvous of the processes of a run on several hosts, --listen and --launcher env of netpart run; its restarts."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from netpart.choices import ENV_LAUNCHER, JOIN, LOCAL, MPI, PACK, RAY
from netpart.cli.exit_codes import HALTED

if TYPE_CHECKING:
    from netpart.launch.control.placement import ClusterPlacement
    from netpart.launch.restarts import RestartChoice
    from netpart.launch.teams.meeting import Meeting
    from netpart.proto.reader import Job

JOB, STARTS = "SLURM_JOB_ID", "SLURM_RESTART_COUNT"
"""Variables of Slurm: the number of its job, and how often Slurm has started it again."""


class RunSetting(NamedTuple):
    """Which launcher starts the workers of a run, how many a group has, and where those of other hosts join it.

    ``placement`` is how Ray places them.
    """

    launcher: str
    workers: int
    meeting: Meeting | None
    placement: ClusterPlacement | None = None


def run_setting(args: argparse.Namespace, job: Job) -> RunSetting:
    """Find the launcher, workers and meeting that the options ask for. Raises ConfigError for options that conflict."""
    from netpart.families import LAUNCHERS

    if args.launcher not in (None, ENV_LAUNCHER):
        LAUNCHERS.get(args.launcher, who="--launcher", also=(ENV_LAUNCHER,))
    placement = _cluster_placement(args)
    if args.launcher == ENV_LAUNCHER:
        return _launched_setting(args, job)
    meeting = _listen_meeting(args, job)
    return RunSetting(args.launcher or (JOIN if meeting else LOCAL), job.worker_count, meeting, placement)


def _cluster_placement(args: argparse.Namespace) -> ClusterPlacement | None:
    """How Ray places the workers; None for other launchers. Raises ConfigError for --place without Ray."""
    from netpart.cli.worker import wait_seconds
    from netpart.errors import ConfigError
    from netpart.launch.control.placement import ClusterPlacement

    if args.launcher == RAY:
        return ClusterPlacement(args.place or PACK, wait_seconds(args))
    if args.place:
        got = args.launcher or "none"
        raise ConfigError("--place", "--launcher ray", got, "omit --place, or let Ray start the workers")
    return None


def _listen_meeting(args: argparse.Namespace, job: Job) -> Meeting | None:
    """The address and token with which workers join this run; None if all run on this host. Raises ConfigError."""
    from netpart.cli.worker import wait_seconds
    from netpart.errors import ConfigError
    from netpart.units import plural_text

    if args.launcher not in (None, JOIN, MPI) and args.listen:
        raise ConfigError("--listen", "--launcher join or mpi", args.launcher, "omit one of them")
    if args.launcher == JOIN and not args.listen:
        raise ConfigError("--launcher join", "an address in --listen", "none", "give --listen tcp://HOST:PORT")
    if args.local and not args.listen:
        raise ConfigError("--local", "--listen with it", "none", "omit it: it is for runs that others join at --listen")
    if not args.listen:
        _refuse_idle_options(args)
        return None
    if args.local > (members := job.cluster.size):
        hint = "the others join; with all of them here omit --listen and --local"
        raise ConfigError("--local", f"at most the {plural_text(members, 'worker')} of this run", str(args.local), hint)
    from netpart.launch.control.token import find_token
    from netpart.launch.teams.meeting import Meeting

    token = find_token(os.environ, args.token_file)
    return Meeting(args.listen, args.local, token, wait_seconds(args), args.token_file)


def _refuse_idle_options(args: argparse.Namespace) -> None:
    """Raise ConfigError for options of joining where no worker joins. Ray's workers, and
    restarts, have --wait."""
    from netpart.errors import ConfigError

    if args.wait is not None and args.launcher != RAY and not getattr(args, "restarts", 0):
        raise ConfigError(
            "--wait", "--listen, --launcher ray or --restarts with it", "none", "omit it: nobody is waited for"
        )
    if args.token_file is not None:
        raise ConfigError("--token-file", "--listen with it", "none", "omit it: no worker joins this run")


def _launched_setting(args: argparse.Namespace, job: Job) -> RunSetting:
    """The setting of a run that a launcher has started; this process is rank 0, coordinator and worker 0 at once.

    Raises ConfigError unless there are as many ranks as members of the run: workers of all groups, and servers.
    """
    from netpart.cli.worker import required_token, wait_seconds
    from netpart.errors import ConfigError
    from netpart.launch.teams.launcher_environment import require_launched_rank
    from netpart.launch.teams.meeting import Meeting
    from netpart.proto.cluster import cluster_of, has_groups_or_servers

    adopted = require_launched_rank(os.environ)
    # With several groups or servers the number of ranks does not determine the workers per group: the job does.
    several = has_groups_or_servers(job.proto)
    workers = job.worker_count if several else args.workers or adopted.size
    if workers is None:
        expected = f"--workers, as {adopted.launcher} does not report how many there are"
        raise ConfigError("--launcher env", expected, "none", "give every process the same")
    members = cluster_of(job.proto, workers)
    if adopted.size not in (None, members.size):
        expected = f"{adopted.size}, the number of processes of {adopted.launcher}"
        got = f"{members.size} ({members})" if several else str(workers)
        raise ConfigError("--workers", expected, got, "start as many processes as workers and servers")
    meeting = Meeting(adopted.meet, 1, required_token(args), wait_seconds(args), args.token_file)
    return RunSetting(JOIN, workers, meeting)


def play_other_rank(args: argparse.Namespace) -> bool:
    """Under --launcher env, run this process as a worker to the end of the run, unless it is rank 0.

    Returns True if it did; False for rank 0 and for every other launcher.
    """
    if args.launcher != ENV_LAUNCHER:
        return False
    from netpart.cli.worker import join_as_worker, required_token, wait_seconds
    from netpart.launch.member.join import Invitation
    from netpart.launch.teams.launcher_environment import require_launched_rank

    adopted = require_launched_rank(os.environ)
    if adopted.rank == 0:
        return False
    folder = Path(args.job).absolute().parent
    join_as_worker(Invitation(adopted.meet, required_token(args), adopted.rank, "", folder, wait_seconds(args)))
    return True


def needs_supervisor(args: argparse.Namespace) -> bool:
    """True in the process that a user has started, for a run that it can start again."""
    from netpart.launch.restarts import RESTARTING
    from netpart.launch.supervisor import PIPE

    return args.restarts > 0 and PIPE not in os.environ and (args.launcher is None or args.launcher in RESTARTING)


def supervise_run(args: argparse.Namespace) -> int:
    """Run the command line of ``args`` to its end, in a process of its own; return its exit code."""
    from netpart.launch.control.token import VARIABLE
    from netpart.launch.supervisor import Supervisor

    joined = args.launcher == JOIN or bool(args.listen)
    # The workers of the run know the token of the next coordinator only if the user has made it.
    has_token = args.token_file is not None or VARIABLE in os.environ
    return Supervisor(args.words, args.restarts, has_token or not joined).run()


def restart_choice(args: argparse.Namespace, setting: RunSetting) -> RestartChoice:
    """How often the run starts again, by its options and, below a supervisor, by the state of earlier processes.

    Raises ConfigError for a launcher that cannot start workers again.
    """
    from netpart.launch.restarts import RestartChoice, check_restarts
    from netpart.launch.supervisor import supervised_choice

    if not args.restarts:
        return RestartChoice()
    if args.launcher == ENV_LAUNCHER:
        return _requeued_choice(args, setting)
    choice = RestartChoice(args.restarts, args.wait)
    check_restarts(choice, setting.launcher)
    return supervised_choice(choice)


def _requeued_choice(args: argparse.Namespace, setting: RunSetting) -> RestartChoice:
    """The choice of a run that Slurm starts again. Raises ConfigError outside of Slurm."""
    from netpart.launch.restarts import RestartChoice, RestartState, check_restarts

    if JOB not in os.environ:
        check_restarts(RestartChoice(args.restarts), ENV_LAUNCHER)
    made = int(os.environ.get(STARTS) or 0)
    begun = RestartState(made, "Slurm has started the job again", setting.workers, 1) if made else None
    return RestartChoice(args.restarts, begun=begun, elsewhere=True)


@contextmanager
def requeued_failures(args: argparse.Namespace) -> Iterator[None]:
    """Within Slurm, let the exit code of a failure that another attempt may mend be HALTED, after which the script of
    the job puts it back to the queue."""
    from netpart.launch.restarts import is_repeatable

    try:
        yield
    except Exception as error:
        if args.restarts and args.launcher == ENV_LAUNCHER and is_repeatable(error):
            args.trouble = HALTED
            error.add_note(f"exit code {HALTED}: the job may go back to the queue, and go on with --resume")
        raise
