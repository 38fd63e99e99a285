"""Pass: who updates what of a parameter that several workers hold: each of them a share, instead of all of them all.

Every one of N workers that sum a gradient would make the same update of it. Instead a worker carries out, and keeps the
updater's state of, 1/N of it, its *home*. An all-reduce is a reduce-scatter and an all-gather; the update now
stands between the two, so the bytes stay:

    all-reduce g ─ update w           reduce-scatter g ─ update w[home] ─ all-gather w

This is the weight-update sharding of Xu et al. (arXiv:2004.13336, 2020), stage 1 of ZeRO (Rajbhandari et al., SC 2020).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from netpart.errors import ConfigError
from netpart.graph.holdings import Holding, ParameterCell, ReadyCell, home_regions
from netpart.proto.cluster import cluster_of
from netpart.proto.element import float_size
from netpart.proto.job_pb2 import Schedule, Sharding
from netpart.spec import Region, size

if TYPE_CHECKING:
    from netpart.graph.net import Parameter
    from netpart.proto.job_pb2 import JobProto

LARGE = 1 << 20
"""Bytes of a gradient from which ``AUTO`` shards its update. Two workers swap less than that in one round, where two
halves take two, and it would take one of them but half a millisecond to update."""
NEVER = 1 << 62


def sharding_threshold(job: JobProto) -> int:
    """Elements of a gradient from which its update is sharded in ``job``; NEVER if none is.

    Averages that are tested are wanted whole by everybody, so with them everybody updates all; so do groups that push
    or average what they hold, and stages that keep several versions of it. Raises ConfigError if ``job`` wants both.
    """
    wanted = job.shard_updates
    reason = whole_update_reason(job)
    if wanted == Sharding.YES and reason:
        raise ConfigError("shard_updates", f"AUTO or NO, with {reason[0]}", "YES", reason[1], at=("shard_updates",))
    if wanted == Sharding.NO or reason:
        return NEVER
    return 1 if wanted == Sharding.YES else LARGE // float_size(job)


def whole_update_reason(job: JobProto) -> tuple[str, str] | None:
    """What of ``job`` wants every worker to update all that it holds, and why; None if nothing does."""
    if job.updater.ema_eval:
        why = "a worker that updates a share of a parameter has the averages of that share, and cannot test with them"
        return "updater.ema_eval", why
    if job.neuralnet.schedule == Schedule.DELAYED:
        return "neuralnet.schedule: DELAYED", "a delayed stage makes each version of its parameters from the one before"
    if cluster_of(job, 1).size > 1:
        return "several groups or servers", "groups push gradients, or average parameters, whole"
    return None


def shard_weight_updates(ready: Iterable[ReadyCell], holdings: list[list[Holding]], least: int) -> set[ParameterCell]:
    """The cells of ``ready``, of ``least`` elements and more, whose updates are sharded; gives their holdings homes.

    All who sum such a cell hold it as a box of its own. Running statistics are no sums of gradients, and have no rule.
    """
    held = {(w, h.parameter, h.box) for w, of_worker in enumerate(holdings) for h in of_worker}
    home: dict[tuple[int, Parameter, Region], Region] = {}
    found: set[ParameterCell] = set()
    for _, workers, cell in ready:
        keys = [(w, cell.parameter, cell.box) for w in workers]
        boxes = home_regions(cell.box, len(workers))
        if size(cell.box) >= least and boxes and held.issuperset(keys) and cell.parameter.spec.running is None:
            found.add(cell)
            home.update(zip(keys, boxes, strict=True))
    for w, of_worker in enumerate(holdings):
        of_worker[:] = [replace(h, part=home.get((w, h.parameter, h.box))) for h in of_worker]
    return found
