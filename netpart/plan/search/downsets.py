"""Down-sets: the cuts of a net in two, as sets of layers that contain, with each layer, all layers that it reads.

The down-sets of a chain are its prefixes. Those of two branches between a split and a sum are all pairs of prefixes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from netpart.plan.price.net_profile import Floats, NetProfile

MOST = 1500
"""If a net has more cuts than this, only those between two consecutive layers of its order are considered."""

Members = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True, eq=False)
class Downsets:
    """Down-sets by increasing size: ``members[c, l]`` is True if c contains layer l.

    Per down-set: work, bytes of parameters, bytes of outputs, and bytes of those outputs that are read outside it
    (``crossing``). ``all`` is False if there were more than MOST.
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


def find_downsets(profile: NetProfile) -> Downsets:
    """Every down-set of ``profile``, from the empty one to all layers; for nets with too many, the prefixes of the
    order."""
    count = len(profile.layers)
    found = _enumerate_downsets(profile)
    complete = found is not None
    masks = [0, *(found if found is not None else ((1 << i) - 1 for i in range(1, count + 1)))]
    members = np.array([[mask >> i & 1 for i in range(count)] for mask in masks], dtype=bool)
    work = np.array([layer.work for layer in profile.layers])
    parameters = np.array([layer.parameters for layer in profile.layers])
    crossing = members & np.array([[_is_read_outside(profile, i, mask) for i in range(count)] for mask in masks])
    activation = np.array([layer.activation for layer in profile.layers])
    held = members @ work, members @ parameters, members @ activation
    return Downsets(members, *held, crossing @ activation, complete)


def _enumerate_downsets(profile: NetProfile) -> list[int] | None:
    """All down-sets except the empty one as bit masks, smaller ones first; None if there are more than MOST."""
    needs = [sum(1 << s for s in set(sources)) for sources in profile.sources]
    level, found = {0}, list[int]()
    while level:
        # Level k holds the down-sets with k layers. Each comes from one of level k - 1 by a layer with all its sources
        # inside; a set removes duplicates.
        level = {
            mask | 1 << i for mask in level for i, need in enumerate(needs) if not mask >> i & 1 and mask & need == need
        }
        found += sorted(level)
        if len(found) > MOST:
            return None
    return found


def _is_read_outside(profile: NetProfile, layer: int, mask: int) -> bool:
    """True if a layer that is not in ``mask`` reads ``layer``."""
    return any(not mask >> reader & 1 for reader in profile.readers[layer])
