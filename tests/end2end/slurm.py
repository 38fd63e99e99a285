"""A real Slurm in a folder: munged, slurmctld and a slurmd for each node, with ports, keys and logs of their own."""

from __future__ import annotations

import os
import secrets
import select
import shutil
import signal
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
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmdTimeout=10
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
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

NODE = "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 CoresPerSocket=4 ThreadsPerCore=1"


class Slurm:
    """Daemons of a cluster of ``nodes`` with 4 cores each, whatever the host has, named node0, node1 and so on. Leaving
    ends them and all their jobs.

    ``environment`` is what a client command needs, and ``folder`` has the daemons' logs.
    """

    def __init__(self, folder: Path, nodes: int = 1) -> None:
        self.folder = folder
        self.names = [f"node{index}" for index in range(nodes)]
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
        for name in ("munge", "state", *(f"spool-{name}" for name in self.names)):
            (self.folder / name).mkdir(parents=True, mode=0o711)
        (munge / "key").write_bytes(secrets.token_bytes(1024))
        (munge / "key").chmod(0o400)
        files = [f"--{name}-file={munge / name}" for name in ("key", "pid", "log", "seed")]
        self.start("munged", "-F", "--force", f"--socket={munge / 'socket'}", *files)
        self.write_configuration()
        until((munge / "socket").exists, "munged listens")
        self.start("slurmctld", "-D")
        self.slurmds = {name: self.start_node(name) for name in self.names}
        until(lambda: set(self.node_states().values()) == {"idle"}, "all nodes are idle")

    def write_configuration(self) -> None:
        """Write slurm.conf, with ports that are free now."""
        control, *ports = free_ports(1 + len(self.names))
        host = socket.gethostname().partition(".")[0]
        lines = [NODE.format(name=name, host=host, port=port) for name, port in zip(self.names, ports, strict=True)]
        values = {"host": host, "folder": self.folder, "control_port": control, "nodes": "\n".join(lines)}
        (self.folder / "slurm.conf").write_text(CONF.format(**values))

    def node_states(self) -> dict[str, str]:
        """The state of each node in Slurm's words, such as idle, or down*."""
        return dict(line.split() for line in self.call("sinfo", "--noheader", "--Node", "--format=%N %T").splitlines())

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        """Start a daemon in the foreground."""
        with open(self.folder / f"{command[0]}.out", "ab") as log:
            self.daemons.append(subprocess.Popen(command, env=self.environment, stdout=log, stderr=log))
        return self.daemons[-1]

    def start_node(self, name: str) -> subprocess.Popen[bytes]:
        """Start the daemon of a node."""
        return self.start("slurmd", "-D", "-N", name)

    def lose_node(self, name: str) -> None:
        """Kill all processes of a node, as if it lost its power: its daemon, and its tasks with what watches them."""
        tasks = [pid for pid in all_processes() if f"SLURMD_NODENAME={name}" in environment_of(pid)]
        assert tasks, f"no task runs on {name}"
        for pid in {self.slurmds[name].pid, *tasks, *map(parent_of, tasks)}:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

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


def all_processes() -> list[int]:
    """The processes of this host."""
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def environment_of(pid: int) -> set[str]:
    """The variables of a process, none if it is gone."""
    with suppress(OSError):
        return set(Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0"))
    return set()


def parent_of(pid: int) -> int:
    """The parent of a process; the process itself if it is gone."""
    with suppress(OSError):
        status = dict(line.partition(":")[::2] for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        return int(status["PPid"])
    return pid


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
