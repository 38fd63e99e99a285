"""ThreadTeam: all workers in this process, exchanging tensors through memory (the seed's "threads or nodes")."""

from __future__ import annotations

import io
import threading
from typing import Any

import zmq

from netpart.launch.control.seats import WorkerSeats
from netpart.launch.control.token import RunToken
from netpart.launch.member.member import run_member
from netpart.launch.teams.team import Team, TeamPlan, local_address
from netpart.proto.control_pb2 import WelcomeProto
from netpart.transport.memory import MemoryHub
from netpart.transport.transport import Transport


class ThreadTeam(Team):
    """``workers`` threads. A failing thread reports to the coordinator itself. Threads cannot be killed; they are asked
    to stop."""

    parting_seconds = 10.0

    def __init__(self, workers: int, context: zmq.Context[Any]) -> None:
        self.hub = MemoryHub(workers)
        self.context = context
        self.threads: list[threading.Thread] = []
        self.logs = [io.StringIO() for _ in range(workers)]

    def control_address(self) -> str:
        return local_address("inproc")

    def start(self, control: str, seats: WorkerSeats) -> None:
        for rank in range(len(self.hub)):
            thread = threading.Thread(
                target=self.serve, args=(control, rank, seats.ticket(rank)), name=f"worker {rank}", daemon=True
            )
            self.threads.append(thread)
            thread.start()

    def serve(self, control: str, rank: int, ticket: RunToken) -> None:
        """Run one worker to its end."""

        def connect(welcome: WelcomeProto) -> Transport:
            return self.hub[rank]

        run_member(self.context, control, rank, ticket, connect, "", self.logs[rank])

    def descriptors(self) -> list[int]:
        return []

    def dead(self) -> dict[int, str]:
        return {rank: "its thread ended" for rank, thread in enumerate(self.threads) if not thread.is_alive()}

    def running(self) -> bool:
        return any(thread.is_alive() for thread in self.threads)

    def stopped(self, rank: int) -> bool:
        return False

    def log_tail(self, rank: int, lines: int = 12) -> str:
        return "\n".join(self.logs[rank].getvalue().splitlines()[-lines:])

    def kill(self) -> None:
        """Do nothing: threads cannot be killed. Those that still run are daemons and end with the process."""


def thread_team(plan: TeamPlan) -> ThreadTeam:
    """The launcher "threads"."""
    return ThreadTeam(plan.size, plan.context)
