"""RaySeat: the actor of one worker on a node of a Ray cluster. It starts `netpart worker` and waits for its end.

Ray imports this module on the node, so netpart must be installed there. Nothing here imports Ray.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from netpart.launch.teams.exit_status import ENDED_BY_RAY, describe_exit, read_log_tail
from netpart.launch.teams.processes import TETHER, process_environment
from netpart.resources import installed_version

WORKER = (sys.executable, "-P", "-m", "netpart", "worker")
TAIL = 12
"""Lines of the log that come back with the end of a worker."""
MARKS = (":job_id:", ":actor_name:", ":task_name:")
GPUS = "CUDA_VISIBLE_DEVICES"


class RaySeat:
    """One seat of a run. Its methods take and return texts only, which Ray sends without its object store."""

    def describe_place(self) -> tuple[str, str, str]:
        """The version of netpart on this node, its host name, and the log of this process, which the worker shares."""
        return installed_version(), socket.gethostname(), _log_path()

    def serve(self, options: Sequence[str], variables: Mapping[str, str], gpus: int) -> tuple[str, str]:
        """Run `netpart worker` with ``options`` to its end; return how it ended, and the end of its log.

        The process is a child of this thread, the main one: if this process or its node's Ray ends, even by SIGKILL,
        the kernel kills it. Ray itself would leave it behind.
        """
        parent = os.getppid()
        # Without a reserved GPU, Ray leaves the variable unset, and the worker would use the GPUs of others.
        hidden = {} if gpus else {GPUS: ""}
        process = subprocess.Popen(
            [*TETHER, str(os.getpid()), *WORKER, *options], stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT,
            env=os.environ | process_environment() | hidden | dict(variables), start_new_session=True,
        )  # fmt: skip
        how = describe_exit(process.wait())
        # An ending Ray kills the children of its processes before them: then the signal is not the reason.
        if os.getppid() != parent:
            how = f"{ENDED_BY_RAY}: the Ray of its node has ended"
        return how, _log_tail()


def _log_tail() -> str:
    """The last lines of the log, without those that mark for Ray's dashboard whose lines follow."""
    lines = read_log_tail(Path(_log_path()), TAIL).splitlines()
    return "\n".join(line for line in lines if not line.startswith(MARKS))


def _log_path() -> str:
    """The file that Ray writes this process's output to."""
    return os.readlink("/proc/self/fd/1")
