"""Supervisor: the parent of the coordinator of a run with restarts. It starts another coordinator if that dies.

    supervisor ── same command line, state of the run ──▶ coordinator ──▶ workers
               ◀─ each new state, through a pipe ────────

The coordinator starts the run again after every other failure itself. The kernel ends it with its supervisor.
"""

from __future__ import annotations

import os
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace

from netpart.errors import NetpartError, SignalInterrupt
from netpart.launch.control.signals import ENDING, defer_signals, hear_halt_signal
from netpart.launch.restarts import RestartChoice, RestartState, parse_restart_state
from netpart.launch.teams.exit_status import describe_exit
from netpart.launch.teams.processes import TETHER, process_environment

PIPE, STATE = "NETPART_RESTART_PIPE", "NETPART_RESTART_STATE"
"""Variables of the coordinator's process: the number of the pipe's end, and the state of earlier processes or ""."""
READ_BYTES = 1 << 16


def supervised_choice(choice: RestartChoice) -> RestartChoice:
    """``choice`` with what this process has from its supervisor, if it has one: the state of the run, and the pipe."""
    pipe, text = os.environ.pop(PIPE, ""), os.environ.pop(STATE, "")  # workers do not inherit them
    if not pipe:
        return choice
    os.set_inheritable(int(pipe), False)

    def tell(state: RestartState) -> None:
        os.write(int(pipe), f"{state.text}\n".encode())

    return replace(choice, supervised=True, begun=parse_restart_state(text) if text else None, tell=tell)


class Supervisor:
    """Parent of the coordinator that runs the command line ``words`` of netpart, at most ``limit`` times again.

    ``comes_back``: its workers can join another one, as their token is not lost with it.
    """

    def __init__(self, words: Sequence[str], limit: int, comes_back: bool) -> None:
        self.words = words
        self.limit = limit
        self.comes_back = comes_back
        self.state: RestartState | None = None
        self.interrupted = False
        self.rest = b""

    def run(self) -> int:
        """Start coordinators until one ends by itself; return its exit code.

        Raises NetpartError, with what continues the run, if one has died and none may be started any more;
        SignalInterrupt if a signal has ended it before it could answer.
        """
        text = ""
        while (code := self.run_once(text)) < 0:
            if self.interrupted or -code in ENDING:
                raise SignalInterrupt(-code)
            reason = f"the coordinator died ({describe_exit(code)})"
            if self.state is None or not self.comes_back or self.state.made >= self.limit:
                raise NetpartError(f"{reason}; {self.refusal()}; {self.advice()}")
            self.state = replace(self.state, made=self.state.made + 1, reason=reason)
            text = self.state.text
        return code

    def refusal(self) -> str:
        """Why no other coordinator is started."""
        if self.state is None:
            return "the run had not begun"
        if not self.comes_back:
            return "its workers have a token that was lost with it: set NETPART_TOKEN to one of your own"
        return f"all {self.limit} restarts are used"

    def advice(self) -> str:
        """What continues the run."""
        if self.state is None or not self.state.saved:
            return "no checkpoint was saved"
        words = [*self.words, *([] if "--resume" in self.words else ["--resume"])]
        return f"continue from {self.state.saved[-1]} with `{shlex.join(['netpart', *words])}`"

    def run_once(self, state: str) -> int:
        """Start a coordinator with the ``state`` of the run, and wait for its end; return its exit code, or minus the
        signal that has ended it."""
        self.rest = b""
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
        *lines, self.rest = (self.rest + data).split(b"\n")
        if lines:
            self.state = parse_restart_state(lines[-1].decode())
