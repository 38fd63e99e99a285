"""Blocks: runs of consecutive layers that are placed as one, cut by computational load.

They are the partitions of Akintoye et al. (IEEE Access 10, 2022, sections 3.1.1 and 4.3.1). A convolution with the
batch norm and the ReLU after it is a block of its own, and so is any other layer with more work than the average.
Lighter layers between these are grouped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from netpart.errors import ConfigError
from netpart.plan.price.net_profile import NetProfile
from netpart.plan.schemes.chain import cut_chain
from netpart.units import plural_text

CONVOLUTION, FOLLOWER = re.compile("conv", re.IGNORECASE), re.compile("batch_?norm|bn|bm|relu", re.IGNORECASE)
"""Types of layers, by their names in netpart and other frameworks, that start a convolution block or continue it."""


@dataclass(frozen=True)
class LayerBlock:
    """Consecutive layers of a profile, by their index, and their work for a mini-batch."""

    layers: range
    work: float


def group_layers(profile: NetProfile, count: int | None = None, least: int = 1) -> list[LayerBlock]:
    """The blocks of ``profile``: ``count`` of them with the largest as small as possible.

    Without ``count``, the blocks are those of the net, but at least ``least`` if there are as many layers. To get
    fewer, neighbours are joined; to get more, any layers can be separated. Raises ConfigError for more blocks than
    layers.
    """
    natural = [0, *_block_bounds(profile), len(profile.layers)]
    wanted = count or min(max(len(natural) - 1, least), len(profile.layers))
    bounds = natural if wanted < len(natural) else range(len(profile.layers) + 1)
    if wanted > len(profile.layers):
        got = str(wanted)
        hint = "make fewer partitions, or take fewer devices"
        raise ConfigError("partitions", f"at most the {plural_text(len(profile.layers), 'layer')}", got, hint)
    done = [0.0, *accumulate(layer.work for layer in profile.layers)]
    chosen = _cut_evenly([done[b] for b in bounds], wanted)
    return [LayerBlock(range(bounds[a], bounds[b]), done[bounds[b]] - done[bounds[a]]) for a, b in pairwise(chosen)]


def _block_bounds(profile: NetProfile) -> list[int]:
    """Indices at which a new block starts; a run without any work belongs to the block after it."""
    average = profile.work / len(profile.layers)
    kinds: list[str] = []
    for i in range(len(profile.layers)):
        kinds.append(_block_role(profile, i, kinds[-1] if kinds else "", average))
    done = [0.0, *accumulate(layer.work for layer in profile.layers)]
    found = [0]
    for i, (before, kind) in enumerate(pairwise(kinds), start=1):
        fresh = kind == "heavy" or (kind == "light" and before != "light")
        # Work must grow on both sides of a bound, so that no block is without work.
        if fresh and done[found[-1]] < done[i] < done[-1]:
            found.append(i)
    return found[1:]


def _block_role(profile: NetProfile, i: int, before: str, average: float) -> str:
    """Role of layer ``i``, given the role of the one ``before``: "heavy", "follower" of a convolution, or "light"."""
    layer = profile.layers[i]
    if CONVOLUTION.search(layer.kind):
        return "heavy"
    conv = before == "heavy" and CONVOLUTION.search(profile.layers[i - 1].kind) is not None
    if FOLLOWER.search(layer.kind) and (conv or before == "follower") and profile.sources[i] == [i - 1]:
        return "follower"
    return "heavy" if layer.work > average else "light"


def _cut_evenly(done: Sequence[float], parts: int) -> list[int]:
    """Indices of ``done``, the cumulative work, that cut it into ``parts`` runs with the largest as small as can be."""
    sums = np.asarray(done)
    work = np.where(np.tri(len(sums), k=-1, dtype=bool).T, sums[None, :] - sums[:, None], np.inf)
    return cut_chain(work, parts)
