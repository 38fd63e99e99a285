"""Down-sets: the cuts of a net in two, as sets of layers that contain, with each layer, all layers that it reads.

The down-sets of a chain are its prefixes. Those of two branches between a split and a sum are all pairs of prefixes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from netpart.plan.price.net_profile import Floats, NetProfile

MOST_CUTS = 1500
"""If a net has more cuts than this, only those between two consecutive layers of its order are considered."""

Members = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True, eq=False)
class Downsets:
    """Down-sets by increasing size: ``members[c, l]`` is True if c contains layer l.

    Per down-set: work, bytes of parameters, bytes of outputs, and bytes of those outputs that are read outside it
    (``crossing``). ``all`` is False if there were too many.
    """

    members: Members
    work: Floats
    parameters: Floats
    activation: Floats
    crossing: Floats
    all: bool

    def __len__(self) -> int:
        return len(self.work)

    def nested(self) -> Members:
        """[a, b]: True if a is a proper subset of b."""
        # A matrix product counts the layers of a that are missing in b, for all pairs at once; none are missing in a
        # superset.
        outside = self.members.astype(np.float32) @ (~self.members).astype(np.float32).T == 0
        return np.asarray(outside & ~outside.T)

    def few(self, count: int) -> Downsets:
        """Of the cuts in each of ``count`` equal shares of the work the one with the fewest bytes across it; the first
        and the last cut too. For down-sets of which each contains those before it."""
        inner = np.arange(1, len(self) - 1)
        shares = np.ceil(self.work[inner] / self.work[-1] * count) if self.work[-1] else inner * 0
        best = (min(inner[shares == share], key=self.crossing.__getitem__) for share in np.unique(shares))
        kept = [0, *sorted(map(int, best)), len(self) - 1]
        work, parameters, activation, crossing = (
            each[kept] for each in (self.work, self.parameters, self.activation, self.crossing)
        )
        return Downsets(self.members[kept], work, parameters, activation, crossing, all=False)


def find_downsets(profile: NetProfile, most: int = MOST_CUTS) -> Downsets:
    """Every down-set of ``profile``, from the empty one to all layers; for nets with more than ``most``, the prefixes
    of the order.

    A layer that costs nothing and reads nothing is in a down-set if a reader of it is: it can be anywhere.
    """
    count = len(profile.layers)
    free = _free_layers(profile)
    found = _enumerate_downsets(profile, free, most)
    complete = found is not None
    masks = [0, *(found if found is not None else ((1 << i) - 1 for i in range(1, count + 1)))]
    masks = [_add_free_layers(profile, free, mask) for mask in masks] if complete else masks
    members = np.array([[mask >> i & 1 for i in range(count)] for mask in masks], dtype=bool)
    work = np.array([layer.work for layer in profile.layers])
    parameters = np.array([layer.parameters for layer in profile.layers])
    reads = np.zeros((count, count), np.float32)  # [reader, layer that it reads]
    reads[[target for _, target in profile.edges], [source for source, _ in profile.edges]] = 1
    # A matrix product counts the readers of each layer outside each down-set.
    crossing = members & ((~members).astype(np.float32) @ reads > 0)
    activation = np.array([layer.activation for layer in profile.layers])
    held = members @ work, members @ parameters, members @ activation
    return Downsets(members, *held, crossing @ activation, complete)


def _free_layers(profile: NetProfile) -> list[int]:
    """The layers, from last to first, that cost nothing and read none but such layers, and that others read."""
    found: list[int] = []
    for i, layer in enumerate(profile.layers):
        costs = layer.work or layer.activation or layer.parameters
        if not costs and profile.readers[i] and set(profile.sources[i]) <= set(found):
            found.insert(0, i)
    return found


def _add_free_layers(profile: NetProfile, free: list[int], mask: int) -> int:
    """``mask`` with the ``free`` layers that its layers read."""
    for i in free:
        mask |= any(mask >> reader & 1 for reader in profile.readers[i]) << i
    return mask


def _enumerate_downsets(profile: NetProfile, free: list[int], most: int) -> list[int] | None:
    """All down-sets of the layers that are not ``free``, except the empty one, as bit masks, smaller ones first; None
    if there are more than ``most``."""
    given = sum(1 << i for i in free)
    needs = [(i, sum(1 << s for s in set(sources)) & ~given) for i, sources in enumerate(profile.sources)]
    needs = [(i, need) for i, need in needs if not given >> i & 1]
    level, found = {0}, list[int]()
    while level:
        # Level k holds the down-sets with k layers. Each comes from one of level k - 1 by a layer with all its sources
        # inside; a set removes duplicates.
        level = {mask | 1 << i for mask in level for i, need in needs if not mask >> i & 1 and mask & need == need}
        found += sorted(level)
        if len(found) > most:
            return None
    return found
