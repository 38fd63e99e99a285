"""Cover: the shards of a placement that supply a needed region, and the box that each supplies (docs/regions.md,
D8)."""

from __future__ import annotations

from netpart.box_index import BoxIndex, are_boxes_disjoint
from netpart.spec import Placement, Region, contains, intersect, size, subtract

Supply = list[tuple[int, Region]]
"""(index of the shard, box it supplies), sorted by position within each term."""


class RegionCover:
    """Cache of the suppliers for one placement: the same need recurs in many layers and steps."""

    def __init__(self, placement: Placement, regions: list[Region], workers: int) -> None:
        self.placement = placement
        self.regions = regions
        self.workers = workers
        self.terms = [CoverTerm(placement, members, regions) for members in placement.terms.values()]
        self.chooses = any(term.chooses for term in self.terms)
        self.seen: dict[tuple[Region, int], Supply] = {}

    def supply(self, need: Region, worker: int) -> Supply:
        """Cover ``need`` for a reader on ``worker`` once per term, each element from one replica.

        Shards are preferred in this order: on the reader's own worker, holding all of the need, then replicas in
        rotation. Raises AssertionError if the placement does not cover the need: placements are checked before.
        """
        # Where no two shards hold the same, all readers of a region have the same suppliers.
        key = (need, worker if self.chooses else -1)
        found = self.seen.get(key)
        if found is None:
            found = self.seen[key] = self.find(need, worker)
        return found

    def find(self, need: Region, worker: int) -> Supply:
        supply: Supply = []
        for term in self.terms:
            supply += self.of_term(term, need, worker)
        return supply

    def of_term(self, term: CoverTerm, need: Region, worker: int) -> Supply:
        taken: Supply = []
        rest = [need]
        for i in self.order(term, need, worker):
            boxes = [box for r in rest if (box := intersect(r, self.regions[i])) is not None]
            for box in boxes:
                taken.append((i, box))
            if boxes:
                rest = [piece for r in rest for piece in subtract(r, self.regions[i])]
            if not rest:
                # By position, not by preference: a Concate needs its boxes in order of position.
                return sorted(taken, key=lambda t: t[1])
        raise AssertionError(f"{self.placement} does not cover {need}; {rest} is missing")

    def order(self, term: CoverTerm, need: Region, worker: int) -> list[int]:
        shards = self.placement.shards
        # Such a shard is preferred to all others, so these need not be ranked: each of n readers looks at one replica.
        own = (i for i in term.on_worker.get(worker, ()) if contains(self.regions[i], need))
        if (first := next(own, None)) is not None:
            return [first]
        touching = [term.members[m] for m in term.index.find_touching(need)]

        def rank(i: int) -> tuple[bool, bool, int, int]:
            other = shards[i].worker
            # Counting workers from the reader's own spreads the load: readers on different workers take different
            # replicas.
            return (other != worker, not contains(self.regions[i], need), (other - worker) % self.workers, i)

        return sorted(touching, key=rank)


class CoverTerm:
    """The shards of one term: their indices ``members`` in the placement, those ``on_worker``, and an index of their
    regions. ``chooses``: some of these overlap, so that a reader has a choice of suppliers."""

    def __init__(self, placement: Placement, members: list[int], regions: list[Region]) -> None:
        self.members = members
        held = [regions[i] for i in members]
        self.index = BoxIndex(held)
        self.chooses = not are_boxes_disjoint(held)
        self.on_worker: dict[int, list[int]] = {}
        for i in members:
            self.on_worker.setdefault(placement.shards[i].worker, []).append(i)


def covers_tensor(placement: Placement, spec_region: Region) -> bool:
    """True if the shards of every term cover the whole tensor."""
    for members in placement.terms.values():
        rest = [spec_region]
        for i in members:
            rest = [piece for r in rest for piece in subtract(r, placement.shards[i].region)]
        if sum(size(r) for r in rest):
            return False
    return True
