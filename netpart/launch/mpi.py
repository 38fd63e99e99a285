"""MpiTeam: workers that mpiexec starts, on this host or on those of a host file, and that exchange tensors through MPI.

    netpart run ── mpiexec ─┬─ proxy of host 1 ─┬─ worker 0
        ▲                   │                   └─ worker 1
        │                   └─ proxy of host 2 ─── worker 2
        └──── control plane: every worker connects here

mpiexec ends all workers when one ends badly or when it ends itself, stopped ones too, and dies with this process.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from netpart.launch import mpiexec
from netpart.launch.processes import how, log_tail, surroundings
from netpart.launch.team import Team

TETHER = (sys.executable, "-P", "-m", "netpart.launch.tether")
RANK = (sys.executable, "-P", "-m", "netpart.launch.rank")
END_SECONDS = 2.0
"""What mpiexec gets to end its workers before it is killed, and they with it."""


class MpiTeam(Team):
    """``workers`` ranks, on ``hosts`` (a host file) or on this host; their logs are ``log_folder``/worker-N.log.

    Raises NetpartError if mpiexec or mpi4py is missing.
    """

    parting_seconds = 0.0

    def __init__(self, workers: int, log_folder: Path, hosts: Path | None = None, rank: Sequence[str] = RANK) -> None:
        self.workers, self.log_folder, self.hosts, self.rank = workers, log_folder, hosts, rank
        self.mpiexec = mpiexec.find()
        self.process: subprocess.Popen[bytes] | None = None
        self.watches: list[int] = []

    def start(self, control: str, token: bytes) -> None:
        self.log_folder.mkdir(parents=True, exist_ok=True)
        for rank in range(self.workers):
            self.log(rank).unlink(missing_ok=True)
        options = mpiexec.arguments(self.workers, self.log_folder, self.hosts)
        variables = {
            "NETPART_CONTROL": control, "NETPART_TOKEN": token.hex(), "NETPART_WORKERS": str(self.workers),
        }  # fmt: skip
        with open(self.said, "wb") as said:
            self.process = subprocess.Popen(
                [*TETHER, str(os.getpid()), self.mpiexec, *options, *self.rank], stdin=subprocess.DEVNULL,
                stdout=said, stderr=subprocess.STDOUT, start_new_session=True,
                env=os.environ | surroundings(self.workers) | variables,
            )  # fmt: skip
        self.watches = [os.pidfd_open(self.process.pid)]

    @property
    def said(self) -> Path:
        """Where mpiexec's own words go."""
        return self.log_folder / "mpiexec.log"

    def log(self, rank: int) -> Path:
        """Where a worker's words go."""
        return self.log_folder / f"worker-{rank}.log"

    def pids(self) -> dict[int, int]:
        """The process of each rank that has said so: the first line of a log is "worker 2: process 4711"."""
        found: dict[int, int] = {}
        for rank in range(self.workers):
            with suppress(OSError), open(self.log(rank), encoding="utf-8", errors="replace") as log:
                said = re.match(rf"worker {rank}: process (\d+)$", log.readline().rstrip())
                if said is not None:
                    found[rank] = int(said[1])
        return found

    def descriptors(self) -> list[int]:
        return self.watches

    def dead(self) -> dict[int, str]:
        code = self.process.poll() if self.process is not None else None
        if code is None:
            return {}
        rank, end = mpiexec.culprit(self.said.read_text(errors="replace"), self.pids()) or (
            0, f"mpiexec, that is: {how(code)}, see {self.said}",
        )  # fmt: skip
        return {rank: end}

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def stopped(self, rank: int) -> bool:
        """True on other hosts, which cannot be looked at; here the kernel knows."""
        if self.hosts is not None or rank not in self.pids():
            return self.hosts is not None
        try:
            stat = Path(f"/proc/{self.pids()[rank]}/stat").read_text(encoding="utf-8")
        except OSError:
            return True
        return stat.rpartition(")")[2].split()[0] in "Tt"

    def log_tail(self, rank: int, lines: int = 12) -> str:
        return log_tail(self.log(rank), lines)

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(END_SECONDS)
            self.process.kill()
            self.process.wait()
        for watch in self.watches:
            os.close(watch)
        self.watches = []
