"""The parent of `netpart run --restarts N`: it starts the coordinator as a process of its own, and again if that dies.

    supervisor ── same command line, state of the run ──▶ coordinator ──▶ workers
               ◀─ each new state, through a pipe ────────

The coordinator starts the run again after every other failure itself. The kernel ends it with its supervisor.
"""

from __future__ import annotations

import argparse
import os
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from netpart.choices import ENV_LAUNCHER, JOIN
from netpart.cli.exit_codes import HALTED, SIGNALLED, WRONG

if TYPE_CHECKING:
    from netpart.cli.run_setting import RunSetting
    from netpart.launch.restarts import RestartChoice, RestartState

PIPE, STATE = "NETPART_RESTART_PIPE", "NETPART_RESTART_STATE"
"""Variables of the coordinator's process: the number of the pipe's end, and the state of earlier processes or ""."""
JOB, STARTS = "SLURM_JOB_ID", "SLURM_RESTART_COUNT"
"""Variables of Slurm: the number of its job, and how often Slurm has started it again."""
READ_BYTES = 1 << 16


def needs_supervisor(args: argparse.Namespace) -> bool:
    """True in the process that a user has started, for a run that it can start again."""
    from netpart.launch.restarts import RESTARTING

    return args.restarts > 0 and PIPE not in os.environ and (args.launcher is None or args.launcher in RESTARTING)


def restart_choice(args: argparse.Namespace, setting: RunSetting) -> RestartChoice:
    """How often the run starts again, by its options and, below a supervisor, by the state of earlier processes.

    Raises ConfigError for a launcher that cannot start workers again.
    """
    from netpart.launch.restarts import RestartChoice, RestartState, check_restarts, parse_restart_state

    if not args.restarts:
        return RestartChoice()
    if args.launcher == ENV_LAUNCHER:
        if JOB not in os.environ:
            check_restarts(RestartChoice(args.restarts), args.launcher)
        made = int(os.environ.get(STARTS) or 0)
        begun = RestartState(made, "Slurm has started the job again", setting.workers, 1) if made else None
        args.trouble = WRONG
        return RestartChoice(args.restarts, begun=begun, elsewhere=True)
    choice = RestartChoice(args.restarts, args.wait)
    check_restarts(choice, setting.launcher)
    pipe, text = os.environ.pop(PIPE, ""), os.environ.pop(STATE, "")  # workers do not inherit them
    if not pipe:
        return choice
    os.set_inheritable(int(pipe), False)

    def tell(state: RestartState) -> None:
        os.write(int(pipe), f"{state.text}\n".encode())

    begun = parse_restart_state(text) if text else None
    return replace(choice, supervised=True, begun=begun, tell=tell)


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


def supervise_run(args: argparse.Namespace) -> int:
    """Run the command line of ``args`` to its end; return its exit code."""
    supervisor = Supervisor(args.words, args.restarts, args.launcher == JOIN or bool(args.listen), _has_token(args))
    return supervisor.run()


def _has_token(args: argparse.Namespace) -> bool:
    """True if the user has made the token of the run, so that its workers know that of the next coordinator."""
    from netpart.launch.control.token import VARIABLE

    return args.token_file is not None or VARIABLE in os.environ


class Supervisor:
    """Parent of the coordinator that runs ``words``, at most ``limit`` times again.

    ``joined``: workers join the run; ``has_token``: with a token that outlives the coordinator.
    """

    def __init__(self, words: Sequence[str], limit: int, joined: bool, has_token: bool) -> None:
        self.words = words
        self.limit = limit
        self.comes_back = has_token or not joined
        self.state: RestartState | None = None
        self.interrupted = False
        self.rest = b""

    def run(self) -> int:
        """Start coordinators until one ends by itself, or none may be started any more; return the exit code."""
        from netpart.launch.control.signals import ENDING
        from netpart.launch.teams.exit_status import describe_exit

        text = ""
        while (code := self.run_once(text)) < 0:
            if self.interrupted or -code in ENDING:
                return SIGNALLED - code
            reason = f"the coordinator died ({describe_exit(code)})"
            if not self.may_restart():
                return self.give_up(reason)
            assert self.state is not None, "may_restart has checked this"
            self.state = replace(self.state, made=self.state.made + 1, reason=reason)
            text = self.state.text
        return code

    def may_restart(self) -> bool:
        """True if another coordinator may be started."""
        return self.state is not None and self.comes_back and self.state.made < self.limit

    def give_up(self, reason: str) -> int:
        """Print why the run ends, and how to continue it; return the exit code."""
        from netpart.cli.main import print_error

        why = f"all {self.limit} restarts are used"
        if self.state is None:
            why = "the run had not begun"
        elif not self.comes_back:
            why = "its workers have a token that was lost with it: set NETPART_TOKEN to one of your own"
        saved = self.state.saved if self.state else ()
        words = [*self.words, *([] if "--resume" in self.words else ["--resume"])]
        left = (
            f"continue from {saved[-1]} with `{shlex.join(['netpart', *words])}`"
            if saved
            else "no checkpoint was saved"
        )
        print_error(f"{reason}; {why}; {left}")
        return WRONG

    def run_once(self, state: str) -> int:
        """Start a coordinator with the ``state`` of the run, and wait for its end; return its exit code, or minus the
        signal that has ended it."""
        from netpart.launch.control.signals import defer_signals, hear_halt_signal

        ours, theirs = os.pipe()
        with open(ours, "rb", buffering=0) as pipe:
            with defer_signals():
                child = self.start(theirs, state)
                os.close(theirs)
            with hear_halt_signal(lambda: child.send_signal(signal.SIGUSR1)):
                self.follow(child, pipe.fileno())
        return child.wait()

    def start(self, pipe: int, state: str) -> subprocess.Popen[bytes]:
        """Start the coordinator."""
        from netpart.launch.teams.processes import process_environment
        from netpart.launch.teams.ray_seat import TETHER

        command = (*TETHER, str(os.getpid()), sys.executable, "-P", "-m", "netpart", *self.words)
        own = {PIPE: str(pipe), STATE: state, "PYTHONPATH": process_environment()["PYTHONPATH"]}
        return subprocess.Popen(command, env=os.environ | own, pass_fds=(pipe,))

    def follow(self, child: subprocess.Popen[bytes], pipe: int) -> None:
        """Take what the coordinator tells until it closes the pipe, which it does at its end. Pass signals on to it."""
        while True:
            try:
                select.select([pipe], [], [])
                data = os.read(pipe, READ_BYTES)
                if not data:
                    return
                self.take(data)
            except KeyboardInterrupt as error:
                self.interrupted = True
                child.send_signal(getattr(error, "number", signal.SIGINT))

    def take(self, data: bytes) -> None:
        """Note the newest state in what was read."""
        from netpart.launch.restarts import parse_restart_state

        *lines, self.rest = (self.rest + data).split(b"\n")
        if lines:
            self.state = parse_restart_state(lines[-1].decode())
