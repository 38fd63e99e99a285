"""Placement: what the workers of a run need of a cluster's nodes, and the text for workers that fit nowhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from netpart.choices import PACK, STRICT_SPREAD
from netpart.units import bytes_text, plural_text

WAIT_SECONDS = 600.0
"""How long to wait for room in the cluster."""
CPUS, GPUS, MEMORY = "CPU", "GPU", "memory"
"""Names of resources, as Ray writes them. Memory is in bytes."""
Resources = Mapping[str, float]


class ClusterPlacement(NamedTuple):
    """How a cluster places the workers: ``place`` is a member of choices.PLACES, ``wait`` is the limit in seconds."""

    place: str = PACK
    wait: float = WAIT_SECONDS


PLACEMENT = ClusterPlacement()


def worker_bundle(threads: int, gpu: bool, memory: int) -> dict[str, float]:
    """What one worker reserves. A share of the cores (``threads`` 0) is unknown before its node is: it is 1 core."""
    return {CPUS: float(max(1, threads)), MEMORY: float(max(1, memory))} | ({GPUS: 1.0} if gpu else {})


def misfit_text(bundles: Sequence[Resources], nodes: Mapping[str, Resources], place: str, free: Resources) -> str:
    """Why the workers with ``bundles`` are not placed: the first that fits nowhere, and what the cluster has.

    ``nodes`` has the resources of each living node by its name; ``free`` is what is free in all of them together.
    """
    has = f"the cluster has {_nodes_text(nodes, free)}"
    for rank, bundle in enumerate(bundles):
        if not any(_fits(bundle, node) for node in nodes.values()):
            return f"worker {rank} needs {_resources_text(bundle)}, which no node has; {has}"
    if place == STRICT_SPREAD and len(bundles) > len(nodes):
        count = plural_text(len(bundles), "worker")
        return f"{count} need a node each (--place {STRICT_SPREAD}); {has}"
    out = _first_left_out(bundles, nodes, place)
    if out is None:
        return f"other jobs use what the workers need, {_total_text(bundles)} in all; {has}"
    before = f"worker{'s 0 to' * (out > 1)} {out - 1}"
    return f"worker {out} needs {_resources_text(bundles[out])}, which no node has left after {before}; {has}"


def _first_left_out(bundles: Sequence[Resources], nodes: Mapping[str, Resources], place: str) -> int | None:
    """The first worker for which empty nodes have no room after those before it, each on the first node with room."""
    rooms = [dict(node) for node in nodes.values()]
    for rank, bundle in enumerate(bundles):
        room = next((room for room in rooms if _fits(bundle, room)), None)
        if room is None:
            return rank
        room.update({name: room[name] - amount for name, amount in bundle.items()})
        if place == STRICT_SPREAD:
            rooms.remove(room)
    return None


def _fits(bundle: Resources, room: Resources) -> bool:
    """True if ``room`` has all that ``bundle`` needs."""
    return all(room.get(name, 0) >= amount for name, amount in bundle.items())


def _total_text(bundles: Sequence[Resources]) -> str:
    """What all workers need together."""
    names = (CPUS, GPUS, MEMORY)
    return _resources_text({name: total for name in names if (total := sum(b.get(name, 0) for b in bundles))})


def _nodes_text(nodes: Mapping[str, Resources], free: Resources) -> str:
    """What the nodes have, and what is free."""
    listed = "; ".join(f"{name}: {_resources_text(node)}" for name, node in nodes.items())
    return f"{plural_text(len(nodes), 'node')} ({listed}), of which {_resources_text(free)} are free in all"


def _resources_text(resources: Resources) -> str:
    """Resources as text: "2 CPU, 1 GPU, memory 1.5 GB"."""
    counts = [f"{resources.get(name, 0):g} {name}" for name in (CPUS, GPUS) if name in resources or name == CPUS]
    return ", ".join([*counts, f"memory {bytes_text(int(resources.get(MEMORY, 0)))}"])
