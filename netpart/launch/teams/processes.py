"""ProcessTeam: one newly started process per worker on this host; the processes die with their parent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from netpart.errors import NetpartError, os_error_text
from netpart.launch.control.cores import child_thread_variables
from netpart.launch.control.seats import WorkerSeats
from netpart.launch.control.signals import defer_signals
from netpart.launch.control.token import VARIABLE, RunToken
from netpart.launch.teams.exit_status import describe_exit, read_log_tail
from netpart.launch.teams.team import Team, TeamPlan

ROOT = Path(__file__).resolve().parents[3]
"""The folder from which this netpart is imported. Workers must import the same one, whatever their working
directory."""
TETHER = (sys.executable, "-P", "-m", "netpart.launch.teams.tether")
"""Begins a command that the kernel ends with its parent; the parent's process id and the command follow."""
COMMAND = (sys.executable, "-P", "-m", "netpart.launch.teams.worker_entry")


class ProcessTeam(Team):
    """``workers`` processes with logs ``log_folder``/worker-N.log, of ``threads`` threads each (0: a share of the
    cores)."""

    parting_seconds = 0.0

    def __init__(self, workers: int, log_folder: Path, listen: str = "ipc", threads: int = 0) -> None:
        self.workers = workers
        self.log_folder = log_folder
        self.listen = listen
        self.threads = threads
        self.processes: list[subprocess.Popen[bytes]] = []
        self.watches: list[int] = []
        self.retired: set[int] = set()

    def start(self, control: str, seats: WorkerSeats) -> None:
        self.log_folder.mkdir(parents=True, exist_ok=True)
        for rank in range(self.workers):
            try:
                self.spawn(rank, os.environ | self.variables(rank, control, seats.ticket(rank)))
            except OSError as error:
                got = os_error_text(error)
                raise NetpartError(f"worker {rank}: expected to be started, got {got}; start fewer workers") from error

    def spawn(self, rank: int, environment: dict[str, str]) -> None:
        """Start one worker. Raises OSError."""
        with open(self.log(rank), "wb") as log, defer_signals():  # until ``processes`` has it, so that it can be ended
            process = subprocess.Popen(
                COMMAND, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
            # A pidfd becomes readable when the process ends, so the coordinator's poll wakes at once.
            self.processes[rank : rank + 1] = [process]
            self.watches[rank : rank + 1] = [os.pidfd_open(process.pid)]

    def variables(self, rank: int, control: str, ticket: RunToken) -> dict[str, str]:
        """The environment of a worker: everything that it needs before it can ask the coordinator."""
        own = {
            "NETPART_RANK": str(rank),
            "NETPART_CONTROL": control,
            VARIABLE: ticket.text,
            "NETPART_LISTEN": self.listen,
            "NETPART_PARENT": str(os.getpid()),
        }
        return process_environment() | child_thread_variables(self.workers, self.threads) | own

    def log(self, rank: int) -> Path:
        """The log file of a worker."""
        return self.log_folder / f"worker-{rank}.log"

    def descriptors(self) -> list[int]:
        return [watch for rank, watch in enumerate(self.watches) if rank not in self.retired]

    def dead(self) -> dict[int, str]:
        codes = {rank: process.poll() for rank, process in enumerate(self.processes) if rank not in self.retired}
        return {rank: describe_exit(code) for rank, code in codes.items() if code is not None}

    def retire(self, rank: int) -> None:
        with defer_signals():
            self.retired.add(rank)
            self.processes[rank].kill()  # also one that is stopped; it must not come back
            self.processes[rank].wait()
            os.close(self.watches[rank])
            self.watches[rank] = -1

    def restart(self, rank: int, control: str, seats: WorkerSeats) -> bool:
        try:
            self.spawn(rank, os.environ | self.variables(rank, control, seats.ticket(rank)))
        except OSError:
            return False  # the run goes on without it
        self.retired.discard(rank)
        return True

    def running(self) -> bool:
        return any(process.poll() is None for process in self.processes)

    def stopped(self, rank: int) -> bool:
        try:
            # WNOWAIT leaves the state in place, so the process is reported as stopped at every call, and ``poll`` can
            # still reap it.
            found = os.waitid(os.P_PID, self.processes[rank].pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return False
        return found is not None

    def log_tail(self, rank: int, lines: int = 12) -> str:
        return read_log_tail(self.log(rank), lines)

    def kill(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
        for process in self.processes:
            process.wait()
        for watch in self.descriptors():
            os.close(watch)
        self.watches = []


def local_team(plan: TeamPlan) -> ProcessTeam:
    """The launcher "local"."""
    return ProcessTeam(plan.size, plan.workspace / "log", threads=plan.threads)


def process_environment() -> dict[str, str]:
    """Environment of every process of a run: it imports this netpart, and its output is not buffered."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        # glibc makes up to eight arenas per core by default. Each takes address space that the memory plan does not
        # count.
        "MALLOC_ARENA_MAX": os.environ.get("MALLOC_ARENA_MAX", "2"),
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONUNBUFFERED": "1",
    }
