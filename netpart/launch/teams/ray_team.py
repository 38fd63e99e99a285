"""RayTeam: workers on the nodes of a Ray cluster. Ray reserves room for all of them, starts them and reports deaths.

    netpart run ── Ray ─┬─ node 1: seat (an actor) ── tether ── netpart worker 0
        ▲               └─ node 2: seat (an actor) ── tether ── netpart worker 1
        └──── control plane: every worker joins here, as with --launcher join

Tensors and messages of the run go over netpart's own links, and nothing is in Ray's object store.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future
from concurrent.futures import wait as wait_for_futures
from contextlib import suppress
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

from netpart.choices import AES_GCM, AUTO, CPU, CUDA
from netpart.errors import ConfigError, NetpartError, RunBroken
from netpart.graph.partition import Partition
from netpart.launch.control.address import ANY_PORT, tcp_address
from netpart.launch.control.cores import HERE
from netpart.launch.control.placement import GPUS, worker_bundle
from netpart.launch.control.seal_choice import UNSEALED, SealChoice
from netpart.launch.control.seats import WorkerSeats
from netpart.launch.control.token import VARIABLE
from netpart.launch.control.worker_devices import assign_devices, requested_places
from netpart.launch.teams.exit_status import ENDED_BY_RAY
from netpart.launch.teams.open_seats import OpenSeats
from netpart.launch.teams.ray_cluster import RayCluster, actor_end_text
from netpart.launch.teams.ray_seat import RaySeat
from netpart.launch.teams.team import TeamPlan
from netpart.plan.price.worker_memory import LinkMemory, forecast_memory
from netpart.resources import installed_version
from netpart.units import ranges_text

TAIL_SECONDS = 1.0
"""How long to wait for the log of a worker that has reported its failure and is about to end."""


class RayTeam(OpenSeats):
    """The workers of ``plan``, on nodes of the Ray cluster that this host is in."""

    parting_seconds = 0.0
    closed_seconds = 0.5
    """Ray reports how a worker ended, and the end of its log, a moment later."""

    def __init__(self, plan: TeamPlan) -> None:
        assert plan.partition is not None, "run._team_plan gives it"
        self.plan = plan
        self.bundles = worker_bundles(plan.partition, plan.threads, plan.seal)
        self.open_seats(range(plan.size))
        self.start_seconds = plan.placement.wait
        self.absence = "expected to join within {} (--wait), did not"
        self.absent_hint = "see `ray list actors`, or raise --wait"
        self.cluster: RayCluster | None = None
        self.nodes = [""] * plan.size
        self.logs = [""] * plan.size
        self.lost: set[int] = set()
        self.retired: set[int] = set()
        self.actors: list[Any] = []
        self.refills = plan.most > 0
        self.ends: list[Future[Any]] = []
        self.bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.bell_lock = Lock()

    def control_address(self) -> str:
        """A free port at the address by which the cluster knows this host. Connects to the cluster."""
        self.cluster = RayCluster()
        return tcp_address(self.cluster.host, ANY_PORT)

    def start(self, control: str, seats: WorkerSeats) -> None:
        try:
            self.start_seats(control, seats)
        except NetpartError:
            raise
        except Exception as error:  # of a cluster that ends meanwhile: Ray's errors have no common class
            hint = "is its head running? see `ray status`"
            got = actor_end_text(error)
            raise NetpartError(f"--launcher ray: expected the cluster to start workers, got: {got}; {hint}") from error

    def start_seats(self, control: str, seats: WorkerSeats) -> None:
        """Reserve the room, start an actor in each bundle, and let each start its worker."""
        cluster = self.cluster
        assert cluster is not None, "control_address is called first"
        cluster.reserve(self.bundles, self.plan.placement, self.plan.say)
        self.nodes = cluster.bundle_nodes()
        actors = [cluster.start_actor(RaySeat, rank, bundle) for rank, bundle in enumerate(self.bundles)]
        self.check_seats([cluster.call_actor(actor, "describe_place") for actor in actors])
        self.plan.say(f"the coordinator listens at {control}; {self.nodes_text()}")
        for rank, actor in enumerate(actors):
            self.serve_seat(rank, actor, control, seats)

    def serve_seat(self, rank: int, actor: Any, control: str, seats: WorkerSeats) -> None:
        """Let ``actor`` start the worker of ``rank``."""
        assert self.cluster is not None, "control_address is called first"
        gpus = int(self.bundles[rank].get(GPUS, 0))
        options, variables = self.worker_options(control, rank), self.worker_variables(seats, rank)
        self.actors[rank : rank + 1] = [actor]
        self.ends[rank : rank + 1] = [self.cluster.call_actor(actor, "serve", options, variables, gpus)]
        self.ends[rank].add_done_callback(lambda _: self.ring())

    def retire(self, rank: int) -> None:
        self.leave(rank)
        if rank < len(self.actors) and self.cluster is not None:
            self.retired.add(rank)
            self.cluster.end_actor(self.actors[rank])

    def restart(self, rank: int, control: str, seats: WorkerSeats) -> bool:
        """Start the seat again in its bundle. If its node is gone, Ray starts it once another one has room."""
        if rank >= len(self.bundles) or self.cluster is None:
            return False
        actor = self.cluster.start_actor(RaySeat, rank, self.bundles[rank])
        self.serve_seat(rank, actor, control, seats)
        self.lost.discard(rank)
        self.retired.discard(rank)
        return True

    def ring(self) -> None:
        """Wake the coordinator, from a thread of Ray."""
        with self.bell_lock:
            if self.bell >= 0:
                os.eventfd_write(self.bell, 1)

    def check_seats(self, places: Sequence[Future[Any]]) -> None:
        """Wait for every seat to describe its place. Raises NetpartError for a seat that has another netpart or none,
        or does not start in time."""
        end = monotonic() + self.plan.placement.wait
        own = installed_version()
        for rank, place in enumerate(places):
            # In steps, so that Ctrl-C is not kept waiting.
            while not place.done() and monotonic() < end:
                wait_for_futures([place], 0.25, FIRST_COMPLETED)
            where = f"worker {rank} ({self.nodes[rank]})"
            if not place.done():
                raise RunBroken(f"{where}: expected to be started, got no answer; {self.absent_hint}")
            if error := place.exception():
                hint = "`ray logs` has more; netpart must be installed there, in the Python that started Ray"
                raise RunBroken(f"{where}: expected to be started, got: {actor_end_text(error)}; {hint}")
            version, _, self.logs[rank] = place.result()
            if version != own:
                raise NetpartError(f"{where}: expected netpart {own}, got {version}; install the same on every node")

    def worker_options(self, control: str, rank: int) -> list[str]:
        """The options of `netpart worker` for one rank."""
        threads = ["--threads", str(self.plan.threads)] if self.plan.threads else []
        folder = self.moved_folder()
        moved = ["--folder", str(folder)] if folder else []
        wait = f"{self.plan.placement.wait:g}"
        return ["--join", control, "--rank", str(rank), "--wait", wait, *threads, *moved]

    def worker_variables(self, seats: WorkerSeats, rank: int) -> dict[str, str]:
        """The environment of `netpart worker`: the token, and how many workers its node has, which share the cores."""
        return {VARIABLE: seats.token.text, HERE[0]: str(self.nodes.count(self.nodes[rank]))}

    def moved_folder(self) -> Path | None:
        """The job's folder relative to the working_dir of Ray, if there is one: each node has it at another path."""
        folder = self.plan.folder
        moves = self.cluster is not None and self.cluster.moves_files()
        here = Path.cwd()
        return folder.relative_to(here) if moves and folder and folder.is_relative_to(here) else None

    def nodes_text(self) -> str:
        """Which workers each node has."""
        groups = {node: [rank for rank, name in enumerate(self.nodes) if name == node] for node in self.nodes}
        return "; ".join(f"worker{'s' * (len(has) > 1)} {ranges_text(has)} on {node}" for node, has in groups.items())

    def where(self, rank: int) -> str:
        host = self.seats[rank]
        return f"{self.nodes[rank]}, {host}" if host else ""

    def descriptors(self) -> list[int]:
        return [self.bell]

    def dead(self) -> dict[int, str]:
        with suppress(BlockingIOError):
            os.eventfd_read(self.bell)
        ended = (rank for rank, end in enumerate(self.ends) if end.done() and rank not in self.retired)
        return {rank: self.end_text(rank, self.ends[rank]) for rank in ended}

    def end_text(self, rank: int, end: Future[Any]) -> str:
        """How a seat ended: its worker's exit, or the reason that Ray gives."""
        error = end.exception()
        how = f"{ENDED_BY_RAY}: {actor_end_text(error)}" if error else str(end.result()[0])
        return how if self.seats[rank] else f"{how}, on {self.nodes[rank]}"

    def stopped(self, rank: int) -> bool:
        is_lost = super().stopped(rank)
        if is_lost:
            self.lost.add(rank)  # its seat will not answer either
        return is_lost

    def running(self) -> bool:
        return not all(end.done() for rank, end in enumerate(self.ends) if rank not in self.retired)

    def log_tail(self, rank: int, lines: int = 12) -> str:
        """The last lines of the log if its seat could return them, and where the log is."""
        if rank >= len(self.ends):
            return ""
        wait_for_futures([self.ends[rank]], 0 if rank in self.lost else TAIL_SECONDS)
        known = self.ends[rank].done() and not self.ends[rank].exception()
        tail = self.ends[rank].result()[1] if known else "(its seat could not return them)"
        return "\n".join([*tail.splitlines()[-lines:], f"all of it: {self.logs[rank]} on {self.nodes[rank]}"])

    def kill(self) -> None:
        if self.cluster is not None:
            self.cluster.close()
            self.cluster = None
        with self.bell_lock:
            if self.bell >= 0:
                os.close(self.bell)
            self.bell = -1


def worker_bundles(partition: Partition, threads: int, seal: SealChoice = UNSEALED) -> list[dict[str, float]]:
    """What each rank reserves, for tensors through ZeroMQ that are sealed by ``seal``.

    Raises ConfigError for numbers of GPUs: Ray chooses which GPU a worker has.
    """
    places = requested_places(partition.job)
    for place in places:
        if place not in (AUTO, CPU, CUDA):
            hint = "Ray gives each worker a GPU of its own: use --device cuda"
            raise ConfigError("--device", "cuda, cpu or auto with --launcher ray", place, hint)
    memory = forecast_memory(partition, LinkMemory(slots=False, opens=seal.cipher == AES_GCM))
    devices = assign_devices(places, partition.cluster)
    return [worker_bundle(threads, device == CUDA, memory[rank]) for rank, device in enumerate(devices)]


def ray_team(plan: TeamPlan) -> RayTeam:
    """The launcher "ray"."""
    return RayTeam(plan)
