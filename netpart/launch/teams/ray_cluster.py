"""RayCluster: a connection to a Ray cluster, the room that a run reserves there, and its actors.

The only module of netpart that imports Ray. The functions with a limit of time cannot wait longer than that.
"""

from __future__ import annotations

import os
import re
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import wait as wait_for_futures
from contextlib import suppress
from secrets import token_hex
from threading import Thread, current_thread, main_thread
from time import monotonic
from typing import Any

from netpart.choices import AUTO
from netpart.errors import ConfigError, NetpartError, ThreadLeft, WorkersAbsent, clip_text, os_error_text
from netpart.launch.control.placement import CPUS, GPUS, MEMORY, ClusterPlacement, misfit_text

ADDRESS, USAGE = "RAY_ADDRESS", "RAY_USAGE_STATS_ENABLED"
CONNECT_SECONDS = 5.0
"""How long the head of a cluster has to accept a connection, before Ray itself is asked to connect."""
INIT_SECONDS = 30.0
"""How long Ray may take to connect."""
CLOSE_SECONDS = 4.0
"""How long Ray has to end the actors and the connection. If the cluster is gone, it waits much longer by itself."""
END_SECONDS = 0.5
"""How long actors may take to end after Ray has been asked to kill them. Those of a lost node never answer, and Ray
ends all others with the connection."""
NOTICE_SECONDS = 2.0
"""After this time without room in the cluster the reason is reported."""
NEVER = "The actor never ran"
"""How a line of Ray begins that follows the reason and only says that an actor did not start."""
ADVICE = re.compile(r" Some common causes include| The task may or may not")
"""What follows the reason in Ray's messages."""
REASON = 400
"""Maximum number of characters of a reason."""
CLIENT = "ray://"
"""Addresses of Ray Client, whose programs are outside of the cluster."""


class RayCluster:
    """The cluster at RAY_ADDRESS, or the one on this host. Raises NetpartError if neither exists.

    A connection that this program has already is used, and left as it is at the end.
    """

    def __init__(self) -> None:
        self.ray = _import_ray()
        self.connected_here = not self.ray.is_initialized()
        self.group: Any = None
        self.actors: list[Any] = []
        self.calls: list[Future[Any]] = []
        if self.connected_here:
            _connect(self.ray)

    @property
    def host(self) -> str:
        """The address of this host that the cluster's nodes know."""
        return str(self.ray.util.get_node_ip_address())

    def reserve(
        self, bundles: Sequence[Mapping[str, float]], placement: ClusterPlacement, say: Callable[[str], None]
    ) -> None:
        """Reserve all of ``bundles``, or nothing. Raises WorkersAbsent if that takes longer than ``placement.wait``.

        ``say`` receives the reason if there is no room at once: a cluster that grows may have room later.
        """
        group = self.ray.util.placement_group
        strategy = placement.place.upper().replace("-", "_")
        self.group = group([dict(bundle) for bundle in bundles], strategy=strategy)
        began = monotonic()
        told = False
        # In steps of a second, so that Ctrl-C is not kept waiting.
        while not self.group.wait(1):
            waited = monotonic() - began
            if waited >= placement.wait:
                hint = "start more nodes, end other jobs, use fewer --workers, or raise --wait"
                raise WorkersAbsent(
                    f"--launcher ray: expected room for all workers within {placement.wait:g} s, got none:"
                    f" {self._misfit(bundles, placement)}; {hint}"
                )
            if waited > NOTICE_SECONDS and not told:
                told = True
                say(f"waiting up to {placement.wait:g} s for room: {self._misfit(bundles, placement)}")

    def _misfit(self, bundles: Sequence[Mapping[str, float]], placement: ClusterPlacement) -> str:
        """Why ``bundles`` are not placed."""
        nodes = {_node_name(node): node["Resources"] for node in self.ray.nodes() if node["Alive"]}
        return misfit_text(bundles, nodes, placement.place, self.ray.available_resources())

    def bundle_nodes(self) -> list[str]:
        """The node of every bundle, as text with its address and the start of its id."""
        table = self.ray.util.placement_group_table(self.group)["bundles_to_node_id"]
        names = {node["NodeID"]: _node_name(node) for node in self.ray.nodes()}
        return [names.get(table.get(index, ""), "a node that is lost") for index in range(self.group.bundle_count)]

    def start_actor(self, kind: type, index: int, bundle: Mapping[str, float]) -> Any:
        """Start an actor of the class ``kind`` in the bundle ``index``. If it dies, Ray does not start it again."""
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        where = PlacementGroupSchedulingStrategy(self.group, placement_group_bundle_index=index)
        actor = self.ray.remote(kind).options(
            num_cpus=bundle[CPUS], num_gpus=bundle.get(GPUS, 0), memory=bundle[MEMORY], max_restarts=0,
            max_task_retries=0, scheduling_strategy=where,
        )  # fmt: skip
        self.actors.append(actor.remote())
        return self.actors[-1]

    def call_actor(self, actor: Any, method: str, *arguments: Any) -> Future[Any]:
        """Call a method of an actor. The future is done when the method returns, or the actor or its node ends."""
        self.calls.append(getattr(actor, method).remote(*arguments).future())
        return self.calls[-1]

    def end_actor(self, actor: Any) -> None:
        """End an actor, in any state of its node."""
        with suppress(Exception):
            self.ray.kill(actor)

    def moves_files(self) -> bool:
        """True if Ray has moved the job into a working_dir, which is elsewhere on every node."""
        return "working_dir" in self.ray.get_runtime_context().runtime_env

    def close(self) -> None:
        """End the actors, free what is reserved, and end the connection if it was made here."""
        closing = Thread(target=self._close, daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)

    def _close(self) -> None:
        """Close in any state of the cluster: a dead one raises errors of many kinds."""
        for actor in self.actors:
            self.end_actor(actor)
        # Ray returns before it has killed them; a call ends when its actor has.
        wait_for_futures(self.calls, END_SECONDS)
        if self.group is not None:
            with suppress(Exception):
                self.ray.util.remove_placement_group(self.group)
        if self.connected_here:
            with suppress(Exception):
                self.ray.shutdown()


def actor_end_text(error: BaseException) -> str:
    """Why an actor did not return, in Ray's words: the last line of its message, without the advice that follows."""
    lines = [line for line in map(str.strip, str(error).splitlines()) if line and not line.startswith(NEVER)]
    text = ADVICE.split(lines[-1] if lines else type(error).__name__)[0]
    return clip_text(text.rstrip(". "), REASON)


def _import_ray() -> Any:
    """The package. Raises ConfigError if it is missing."""
    os.environ.setdefault(USAGE, "0")  # else a cluster that is started here reports its use to Ray's makers
    try:
        import ray
        import ray.util
    except ImportError as error:
        raise ConfigError("--launcher ray", "Ray", str(error), "`pip install 'netpart[ray]'`") from error
    return ray


def _connect(ray: Any) -> None:
    """Connect this program to the cluster. Raises NetpartError."""
    address = os.environ.get(ADDRESS) or AUTO
    _check_head(address)
    failure = list[Exception]()
    options = {"namespace": f"netpart-{token_hex(8)}", "log_to_driver": False, "logging_level": "ERROR"}

    def connect() -> None:
        try:
            ray.init(address=address, **options)
        except Exception as error:  # Ray raises errors of many kinds here, some without a base class of its own
            failure.append(error)

    # In a thread: something else than Ray that listens there keeps it waiting for many minutes. There Ray also leaves
    # SIGTERM to netpart, which handles it while a run lasts.
    connecting = Thread(target=connect, daemon=True)
    connecting.start()
    connecting.join(INIT_SECONDS)
    if failure or connecting.is_alive():
        known = address if address != AUTO else "the cluster that was started last on this host"
        got = " ".join(str(failure[0]).split()) if failure else f"no answer of {known} within {INIT_SECONDS:g} s"
        hint = f"start one with `ray start --head`, or set {ADDRESS}=HOST:PORT; see docs/clusters.md"
        kind = NetpartError if failure else ThreadLeft
        raise kind(f"--launcher ray: expected a Ray cluster, got: {clip_text(got, REASON)}; {hint}")
    _restore_handler()
    _silence_raylets(ray)


def _restore_handler() -> None:
    """Set Python's handler of SIGTERM again. Ray has replaced it by one that prints the stack before it calls it."""
    if current_thread() is main_thread():
        signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))


def _silence_raylets(ray: Any) -> None:
    """Keep the errors that nodes publish out of the output: a dead one publishes 20 lines of statistics.

    Ray has no option for that. Where this name has changed, the lines are printed again, and nothing else is wrong.
    """
    with suppress(AttributeError):
        ray._private.worker._worker_logs_enabled = False


def _check_head(address: str) -> None:
    """Raise NetpartError if nothing listens at ``address``: Ray itself would try for a minute or longer.

    Raises ConfigError for text that is not an address, and for an address that would make Ray start a cluster.
    """
    if address.startswith(CLIENT):
        hint = "start this command on a node of the cluster, for instance with `ray job submit`"
        raise ConfigError(ADDRESS, "HOST:PORT of a cluster that this host is in", address, hint)
    host, _, port = address.rpartition(":")
    if address == AUTO:
        return
    if not host or not port.isdecimal():  # also "local", with which Ray would start a cluster of its own
        hint = "unset it, or start a cluster with `ray start --head`"
        raise ConfigError(ADDRESS, f"HOST:PORT or {AUTO}", address, hint)
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        hint = "is the cluster's head started, and can this host reach it?"
        got = os_error_text(error) if isinstance(error, OSError) else str(error)
        raise NetpartError(f"{ADDRESS}: expected a cluster at {address}, got {got}; {hint}") from None


def _node_name(node: Mapping[str, Any]) -> str:
    """A node as text: its address, and the start of its id, as addresses may be shared in tests."""
    return f"node {node['NodeManagerAddress']} ({node['NodeID'][:8]})"
