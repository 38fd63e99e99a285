"""Duties: which regions each worker copies, keeps for others and sends at a snapshot.

Every region has two copies, on different workers, and on different hosts where there are some. Where replicas hold a
region, two of them copy it from their own memory, and nothing is sent. Only a region that one worker alone holds is
sent to that worker's buddy. Replicas hold the same bits: a sum has the same value wherever it arrives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from netpart.graph.partition import Partition
from netpart.launch.snapshots.buddies import NOBODY, assign_buddies
from netpart.launch.snapshots.regions import PARAMETERS, UPDATER, RegionName, decode_region, encode_region
from netpart.proto.control_pb2 import SnapshotDutyProto
from netpart.proto.element import float_size
from netpart.spec import Region, contains
from netpart.updaters import build_updater


@dataclass(frozen=True)
class CopiedRegion:
    """A region of holding number ``holding`` that a worker copies: its parameters, or (``updater``) the updater's
    state. ``sent``: the second copy goes to the buddy."""

    holding: int
    box: Region
    updater: bool
    sent: bool = False


@dataclass
class SnapshotDuty:
    """What one worker does at a snapshot: ``copied`` from its memory, ``taken`` from others, sent to ``buddy``.

    ``taken`` has the names that each sender sends, in its order.
    """

    copied: list[CopiedRegion] = field(default_factory=list)
    taken: dict[int, list[RegionName]] = field(default_factory=dict)
    buddy: int = NOBODY
    buddy_address: str = ""


def assign_duties(partition: Partition, writes: Sequence[Sequence[int]], hosts: Sequence[str]) -> list[SnapshotDuty]:
    """The duty of each worker. ``writes`` are the holdings whose home each worker writes in checkpoints, ``hosts`` the
    host of each rank. One worker alone copies its own regions, which then have one copy."""
    duties = [SnapshotDuty(buddy=buddy) for buddy in assign_buddies(hosts)]
    planner = _DutyPlanner(partition, duties, hosts)
    stateful = bool(build_updater(partition.job.updater).states)
    for writer, holdings in enumerate(writes):
        for h in holdings:
            for updater in (False, True) if stateful else (False,):
                planner.assign(writer, partition.holdings[writer][h].parameter.name, h, updater)
    return duties


class _DutyPlanner:
    """Fills ``duties``; ``load`` are the bytes that each worker keeps of a snapshot so far."""

    def __init__(self, partition: Partition, duties: list[SnapshotDuty], hosts: Sequence[str]) -> None:
        self.partition = partition
        self.duties = duties
        self.hosts = hosts
        self.load = [0] * len(duties)
        self.places: dict[str, list[tuple[int, int]]] = {}
        for rank, holdings in enumerate(partition.holdings):
            for h, holding in enumerate(holdings):
                self.places.setdefault(holding.parameter.name, []).append((rank, h))

    def assign(self, writer: int, name: str, h: int, updater: bool) -> None:
        """Choose the two workers that keep the home region of holding ``h`` of ``writer``."""
        box = self.partition.holdings[writer][h].home
        holders = {rank: own for rank, own in reversed(self.places[name]) if self._holds(rank, own, box, updater)}
        first = min(holders, key=lambda rank: (self.load[rank], rank))
        others = [rank for rank in holders if rank != first]
        away = [rank for rank in range(len(self.hosts)) if self.hosts[rank] != self.hosts[first]]
        # A second copy on the same host is of use only where all workers are on it.
        seconds = [rank for rank in others if self.hosts[rank] != self.hosts[first]] if away else others
        sent = not seconds and self.duties[first].buddy != NOBODY
        self._copy(first, CopiedRegion(holders[first], box, updater, sent))
        if seconds:
            second = min(seconds, key=lambda rank: (self.load[rank], rank))
            self._copy(second, CopiedRegion(holders[second], box, updater))
        elif sent:
            names = region_names(self.partition, first, CopiedRegion(holders[first], box, updater))
            self.duties[self.duties[first].buddy].taken.setdefault(first, []).extend(names)
            self.load[self.duties[first].buddy] += sum(each.nbytes for each in names)

    def _holds(self, rank: int, h: int, box: Region, updater: bool) -> bool:
        holding = self.partition.holdings[rank][h]
        return contains(holding.home if updater else holding.box, box)

    def _copy(self, rank: int, copied: CopiedRegion) -> None:
        self.duties[rank].copied.append(copied)
        self.load[rank] += sum(each.nbytes for each in region_names(self.partition, rank, copied))


def region_names(partition: Partition, rank: int, copied: CopiedRegion) -> list[RegionName]:
    """The regions of a checkpoint that ``copied`` of worker ``rank`` stands for: one, or one for each state."""
    states = build_updater(partition.job.updater).states
    return named_regions(
        partition.holdings[rank][copied.holding].parameter.name, copied, states, float_size(partition.job)
    )


def named_regions(parameter: str, copied: CopiedRegion, states: Sequence[str], itemsize: int) -> list[RegionName]:
    """The regions that ``copied`` of ``parameter`` stands for, with the updater's ``states``."""
    dtype = f"float{8 * itemsize}"
    if not copied.updater:
        return [RegionName(PARAMETERS, parameter, copied.box, dtype)]
    return [RegionName(UPDATER, f"{parameter}.{state}", copied.box, dtype) for state in states]


def kept_regions(partition: Partition, duties: Sequence[SnapshotDuty], rank: int) -> list[RegionName]:
    """All regions that worker ``rank`` keeps of each snapshot: those that it copies and those that it takes."""
    own = [name for copied in duties[rank].copied for name in region_names(partition, rank, copied)]
    return own + [name for names in duties[rank].taken.values() for name in names]


def encode_duty(duty: SnapshotDuty) -> SnapshotDutyProto:
    """A duty as a message."""
    proto = SnapshotDutyProto(buddy=duty.buddy, buddy_address=duty.buddy_address)
    for copied in duty.copied:
        low, high = [lo for lo, _ in copied.box], [hi for _, hi in copied.box]
        proto.copied.add(holding=copied.holding, low=low, high=high, updater=copied.updater, sent=copied.sent)
    for sender, names in duty.taken.items():
        for name in names:
            encode_region(name, proto.taken.add(holder=[sender]))
    return proto


def decode_duty(proto: SnapshotDutyProto) -> SnapshotDuty:
    """The inverse of ``encode_duty``."""
    duty = SnapshotDuty(buddy=proto.buddy, buddy_address=proto.buddy_address)
    for c in proto.copied:
        duty.copied.append(CopiedRegion(c.holding, tuple(zip(c.low, c.high, strict=True)), c.updater, c.sent))
    for region in proto.taken:
        duty.taken.setdefault(region.holder[0], []).append(decode_region(region))
    return duty
