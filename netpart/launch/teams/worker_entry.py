"""Entry point of a worker process. It ties itself to its parent before any import that takes time."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Ask the kernel to kill this process when its parent dies, even by SIGKILL; exit if the parent is dead already."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # Checked after prctl: a parent that died before that call sends no signal any more.
    if os.getppid() != parent:
        os._exit(1)


def ignore_coordinator_signals() -> None:
    """Ignore the signals to which the coordinator answers by stopping its workers.

    Ctrl-C reaches all processes of a terminal, and a batch system sends SIGUSR1 to all processes of a job.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)


def _start_worker() -> int:
    """Run one worker, configured by environment variables. Return 0 if it completed."""
    die_with_parent(int(os.environ["NETPART_PARENT"]))
    ignore_coordinator_signals()
    from netpart.launch.member.member import run_worker_process

    return run_worker_process(os.environ)


if __name__ == "__main__":
    sys.exit(_start_worker())
