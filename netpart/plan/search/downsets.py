"""Where a net can be cut in two: sets of layers that hold with each layer all those that it reads.

Of a chain these are its beginnings. Of two branches between a split and a sum they are every pair of beginnings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from netpart.plan.price.net_profile import Floats, NetProfile

MOST = 1500
"""Of a net with more cuts than that only those between two layers of its order are looked at."""

Members = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True, eq=False)
class Downsets:
    """Down-sets by size: ``members[c, l]`` says that c holds layer l. Of each: work, bytes of parameters, of outputs,
    and of those outputs that are read outside it. ``all`` is False if there were more than MOST."""

    members: Members
    work: Floats
    parameters: Floats
    activation: Floats
    crossing: Floats
    all: bool

    def __len__(self) -> int:
        return len(self.work)

    def nested(self) -> Members:
        """[a, b]: the a that are a proper part of b."""
        outside = self.members.astype(np.float32) @ (~self.members).astype(np.float32).T == 0
        return np.asarray(outside & ~outside.T)


def find_downsets(profile: NetProfile) -> Downsets:
    """Every down-set of ``profile``, from the empty one to all layers; of nets with too many, the beginnings of the
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
    """All down-sets but the empty one as bit masks, the smaller first; None if there are more than MOST."""
    needs = [sum(1 << s for s in set(sources)) for sources in profile.sources]
    level, found = {0}, list[int]()
    while level:
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
