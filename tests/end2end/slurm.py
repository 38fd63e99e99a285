"""A real Slurm of one node in a folder: munged, slurmctld and slurmd with ports, keys and logs of their own."""

from __future__ import annotations

import os
import secrets
import select
import shutil
import socket
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Self

DAEMONS = ("munged", "slurmctld", "slurmd", "sbatch")
NEEDS = f"{', '.join(DAEMONS)} (Debian: apt-get install --no-install-recommends slurm-wlm munge), and root"
LOOK_SECONDS = 0.1
DEADLINE = 150.0
CONF = """
ClusterName=netpart-test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=5
SlurmctldPort={control_port}
SlurmdPort={node_port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
SlurmdParameters=config_overrides
ReturnToService=2
SchedulerParameters=sched_interval=1,bf_interval=1
OverTimeLimit=0
KillWait=5
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 CoresPerSocket=4 ThreadsPerCore=1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    """Daemons of a cluster of one node with 4 cores, whatever the host has. Leaving ends them and all their jobs.

    ``environment`` is what a client command needs, and ``folder`` has the daemons' logs.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}
        self.daemons: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        try:
            self.build()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def build(self) -> None:
        """Write key and configuration, start the daemons and wait for the node."""
        munge = self.folder / "munge"
        for name in ("munge", "state", "spool"):
            (self.folder / name).mkdir(parents=True, mode=0o711)
        (munge / "key").write_bytes(secrets.token_bytes(1024))
        (munge / "key").chmod(0o400)
        files = [f"--{name}-file={munge / name}" for name in ("key", "pid", "log", "seed")]
        self.start("munged", "-F", "--force", f"--socket={munge / 'socket'}", *files)
        control, node = free_ports(2)
        host = socket.gethostname().partition(".")[0]
        values = {"host": host, "folder": self.folder, "control_port": control, "node_port": node}
        (self.folder / "slurm.conf").write_text(CONF.format(**values))
        until((munge / "socket").exists, "munged listens")
        self.start("slurmctld", "-D")
        self.start("slurmd", "-D")
        until(lambda: "idle" in self.call("sinfo", "--noheader", "--format=%T"), "the node is idle")

    def start(self, *command: str) -> None:
        """Start a daemon in the foreground."""
        with open(self.folder / f"{command[0]}.out", "wb") as log:
            self.daemons.append(subprocess.Popen(command, env=self.environment, stdout=log, stderr=log))

    def call(self, *command: str) -> str:
        """What a client command writes; "" if it fails."""
        ended = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=30, check=False)
        return ended.stdout if ended.returncode == 0 else ""

    def state(self, job: str) -> str:
        """The state of a job in Slurm's words, such as RUNNING."""
        fields = dict(word.partition("=")[::2] for word in self.call("scontrol", "show", "job", job).split())
        return fields.get("JobState", "")

    def close(self) -> None:
        """End the jobs, then the daemons, the last one first. A daemon that waits for a job is killed."""
        self.call("scancel", "--user=root", "--signal=KILL", "--full")
        self.call("scancel", "--user=root")
        with suppress(AssertionError):
            until(lambda: not self.call("squeue", "--noheader"), "no job is left")
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in reversed(self.daemons):
            with suppress(subprocess.TimeoutExpired):
                daemon.wait(5)
            daemon.kill()
            daemon.wait()


def missing_slurm() -> str:
    """Why there cannot be a Slurm here; "" if there can."""
    absent = [name for name in DAEMONS if shutil.which(name) is None]
    return f"needs {NEEDS}; {', '.join(absent)} not found" if absent or os.geteuid() else ""


def free_ports(count: int) -> Sequence[int]:
    """Ports on which nothing listens now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def until(true: Callable[[], bool], what: str) -> None:
    """Wait until something is true. It is asked for again and again: the daemons tell nobody."""
    end = monotonic() + DEADLINE
    while not true():
        assert monotonic() < end, f"expected within {DEADLINE:g} s: {what}"
        select.select([], [], [], LOOK_SECONDS)
