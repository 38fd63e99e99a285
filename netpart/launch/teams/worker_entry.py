"""Entry of a worker process. It ties its life to its parent's first, before it imports anything that takes time."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Asks the kernel to kill this process when its parent dies, also by kill -9; exits if it is dead already."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def main() -> int:
    """Runs one worker; what it needs to know comes through its environment. 0 if it went to its end."""
    die_with_parent(int(os.environ["NETPART_PARENT"]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the coordinator hears it and tells the workers
    from netpart.launch.member.member import run_worker_process

    return run_worker_process(os.environ)


if __name__ == "__main__":
    sys.exit(main())
