"""A run as a process of its own, which tells on its stdout, one JSON line each, what happens in it.

driver.py {"conf": …, "workers": …, "launcher": …, "transport": …, "workspace": …, "set": […], "limit": bytes,
           "hosts": file}
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from netpart.errors import NetpartError
from netpart.launch import run as launch
from netpart.launch.control.seats import WorkerSeats
from netpart.launch.coordinator.coordinator import Coordinator
from netpart.launch.report.events import Event
from netpart.launch.teams import mpi, processes
from netpart.launch.teams.mpi import MpiTeam
from netpart.launch.teams.processes import ProcessTeam
from netpart.proto.reader import read_job


def tell(kind: str, **values: Any) -> None:
    sys.stdout.write(json.dumps({"kind": kind, **values}, default=str) + "\n")
    sys.stdout.flush()


class TellingTeam(ProcessTeam):
    """Names its processes as soon as they are there."""

    def start(self, control: str, seats: WorkerSeats) -> None:
        super().start(control, seats)
        tell("spawned", pids=[process.pid for process in self.processes], address=control)


class TellingMpiTeam(MpiTeam):
    """Names mpiexec and all it has started once every worker is met; the workers come first, in their order."""

    def start(self, control: str, seats: WorkerSeats) -> None:
        super().start(control, seats)
        self.control = control

    def note_process(self, rank: int, pid: int) -> None:
        super().note_process(rank, pid)
        if len(self.pids) == self.workers:
            self.all_are_met()

    def all_are_met(self) -> None:
        assert self.process is not None
        workers = [self.pids[rank] for rank in range(self.workers)]
        others = [self.process.pid, *(set(descendants(self.process.pid)) - set(workers))]
        names = [name for pid in workers for name in shared_memory(pid)]
        tell("spawned", pids=[*workers, *others], address=self.control, names=names)


def descendants(pid: int) -> Iterator[int]:
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split():
        yield int(child)
        yield from descendants(int(child))


def shared_memory(pid: int) -> Iterator[str]:
    """Names in /dev/shm that a process has mapped and that are still there."""
    for line in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines():
        name = line.split(maxsplit=5)[-1]
        if name.startswith("/dev/shm/") and not name.endswith("(deleted)"):
            yield name


class TellingCoordinator(Coordinator):
    """Names every message of a worker when it is heard."""

    def handle(self, member: Any, name: bytes, message: Any, team: Any) -> None:
        kind = message.WhichOneof("message")
        said = getattr(message, kind)
        tell(
            "heard", message=kind, rank=member.rank, step=getattr(said, "step", 0), address=getattr(said, "address", "")
        )
        super().handle(member, name, message, team)


TELLING = ((processes, TellingTeam), (mpi, TellingMpiTeam), (launch, TellingCoordinator))
"""Where a run takes each of them from, under the name of its base."""


def hear(event: Event) -> None:
    tell(type(event).__name__, **asdict(event))


def main() -> int:
    asked = json.loads(sys.argv[1])
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it
    for module, telling in TELLING:
        name = telling.__bases__[0].__name__
        assert hasattr(module, name), f"{module.__name__} has no {name}"
        setattr(module, name, telling)
    if asked.get("limit"):
        resource.setrlimit(resource.RLIMIT_AS, (asked["limit"], asked["limit"]))
    try:
        job = read_job(Path(asked["conf"]), asked.get("set", []))
        launcher, workspace = asked.get("launcher", "local"), Path(asked["workspace"])
        transport, hosts = asked.get("transport", "auto"), Path(asked["hosts"]) if "hosts" in asked else None
        summary = launch.run_job(
            job,
            asked["workers"],
            launcher=launcher,
            listener=hear,
            workspace=workspace,
            transport=transport,
            hosts=hosts,
        )
    except KeyboardInterrupt as error:
        tell("interrupted", message=str(error))
        return 128 + getattr(error, "number", signal.SIGINT)
    except NetpartError as error:
        tell("failed", error=type(error).__name__, message=str(error))
        return 1
    tell("Summary", **asdict(summary))
    return 0


if __name__ == "__main__":
    sys.exit(main())
