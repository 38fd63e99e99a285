"""Pass: divides the update of a parameter among the workers that hold it, so that each updates only a share.

Each of N workers that sum a gradient would make the same update. Instead a worker updates 1/N of it, its *home*, and
keeps the updater's state of that share only. An all-reduce is a reduce-scatter followed by an all-gather; the update
now takes place between the two, so the number of bytes stays the same:

    all-reduce g ─ update w           reduce-scatter g ─ update w[home] ─ all-gather w

This is the weight-update sharding of Xu et al. (arXiv:2004.13336, 2020), stage 1 of ZeRO (Rajbhandari et al., SC 2020).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from netpart.errors import ConfigError
from netpart.graph.holdings import Holding, ParameterCell, ReadyCell, home_regions
from netpart.proto.cluster import has_groups_or_servers
from netpart.proto.element import float_size
from netpart.proto.job_pb2 import Schedule, Sharding
from netpart.spec import Region, size

if TYPE_CHECKING:
    from netpart.graph.net import Parameter
    from netpart.proto.job_pb2 import JobProto

LARGE = 1 << 20
"""Bytes of a gradient from which ``AUTO`` shards its update.

Two workers swap less than this in one round, whereas two halves take two rounds; and one worker updates that much in
half a millisecond.
"""
NEVER = 1 << 62
"""A threshold that no gradient reaches."""


def sharding_threshold(job: JobProto) -> int:
    """Elements of a gradient from which its update is sharded in ``job``; NEVER if no update is.

    Updates stay whole where every worker needs whole results: for averages that are tested, for groups that push or
    average the parameters they hold, and for stages that keep several versions. Raises ConfigError if ``job`` asks for
    both.
    """
    wanted = job.shard_updates
    reason = whole_update_reason(job)
    if wanted == Sharding.YES and reason:
        raise ConfigError("shard_updates", f"AUTO or NO, with {reason[0]}", "YES", reason[1], at=("shard_updates",))
    if wanted == Sharding.NO or reason:
        return NEVER
    return 1 if wanted == Sharding.YES else LARGE // float_size(job)


def whole_update_reason(job: JobProto) -> tuple[str, str] | None:
    """The setting of ``job`` that requires every worker to update all that it holds, and why; else None."""
    if job.updater.ema_eval:
        why = "a worker that updates a share of a parameter has the averages of that share, and cannot test with them"
        return "updater.ema_eval", why
    if job.neuralnet.schedule == Schedule.DELAYED:
        return "neuralnet.schedule: DELAYED", "a delayed stage makes each version of its parameters from the one before"
    if has_groups_or_servers(job):
        return "several groups or servers", "groups push gradients, or average parameters, whole"
    return None


def shard_weight_updates(ready: Iterable[ReadyCell], holdings: list[list[Holding]], least: int) -> set[ParameterCell]:
    """The cells of ``ready`` with at least ``least`` elements whose updates are sharded; sets the homes of their
    holdings.

    All workers that sum such a cell must hold it as a box of its own. Running statistics are not sums of gradients and
    have no update rule, so they are never sharded.
    """
    held = {(w, h.parameter, h.box) for w, of_worker in enumerate(holdings) for h in of_worker}
    home: dict[tuple[int, Parameter, Region], Region] = {}
    found: set[ParameterCell] = set()
    for _, workers, cell in ready:
        keys = [(w, cell.parameter, cell.box) for w in workers]
        boxes = home_regions(cell.box, len(workers))
        # A cell that is only a piece of a worker's box cannot have a home: a home is a part of one whole holding.
        if size(cell.box) >= least and boxes and held.issuperset(keys) and cell.parameter.spec.running is None:
            found.add(cell)
            home.update(zip(keys, boxes, strict=True))
    for w, of_worker in enumerate(holdings):
        of_worker[:] = [
            replace(h, part=home[key]) if (key := (w, h.parameter, h.box)) in home else h for h in of_worker
        ]
    return found
