"""A stand-in for srun: one task per node, each with the variables that Slurm's manual gives a task.

It stands for Slurm's side of the bargain as its documentation states it (srun, OUTPUT ENVIRONMENT VARIABLES), no more:
tasks inherit the environment, and with --kill-on-bad-exit the first that fails ends the others. NODES names the
network namespaces that play the nodes, ADDRESS is that of the node from which the job was launched.
"""

from __future__ import annotations

import os
import subprocess
import sys

NODES, ADDRESS = os.environ["NODES"].split(), os.environ["ADDRESS"]


def start(rank: int, command: list[str]) -> subprocess.Popen[bytes]:
    variables = {
        "SLURM_PROCID": str(rank),
        "SLURM_LOCALID": "0",
        "SLURM_NODEID": str(rank),
        "SLURM_NTASKS": str(len(NODES)),
        "SLURM_LAUNCH_NODE_IPADDR": ADDRESS,
    }
    return subprocess.Popen(["ip", "netns", "exec", NODES[rank], *command], env=os.environ | variables)


def main() -> int:
    option, *command = sys.argv[1:]
    assert option == "--kill-on-bad-exit=1", option
    tasks = {task.pid: task for task in (start(rank, command) for rank in range(len(NODES)))}
    worst = 0
    while tasks:
        pid, status = os.wait()
        tasks.pop(pid).returncode = code = os.waitstatus_to_exitcode(status)
        if code and not worst:
            worst = code
            for task in tasks.values():
                task.kill()
    return worst


if __name__ == "__main__":
    sys.exit(main())
