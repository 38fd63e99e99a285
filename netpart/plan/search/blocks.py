"""Blocks: the layers of a net in runs that are placed as one, cut by computational load.

They are the partitions of Akintoye et al. (IEEE Access 10, 2022, sections 3.1.1 and 4.3.1): each convolution block, a
convolution with the batch norm and the ReLU behind it, is one of its own, as is any other layer with more work than the
average; what lies between, with less to compute, is grouped.
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
"""Types of layers, as netpart and other frameworks call them: what begins a convolution block, and what ends it."""


@dataclass(frozen=True)
class LayerBlock:
    """Consecutive layers of a profile, by their index, and their work for a mini-batch."""

    layers: range
    work: float


def group_layers(profile: NetProfile, count: int | None = None, least: int = 1) -> list[LayerBlock]:
    """The blocks of ``profile``: ``count`` of them with the largest as small as can be, or as the net has them, but
    ``least`` at least if there are as many layers.

    To make fewer, neighbours are joined; to make more, layers stand alone. Raises ConfigError for more than layers.
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
    """Where one block ends and the next begins; a run that computes nothing goes with what follows."""
    average = profile.work / len(profile.layers)
    kinds: list[str] = []
    for i in range(len(profile.layers)):
        kinds.append(_block_role(profile, i, kinds[-1] if kinds else "", average))
    done = [0.0, *accumulate(layer.work for layer in profile.layers)]
    found = [0]
    for i, (before, kind) in enumerate(pairwise(kinds), start=1):
        fresh = kind == "heavy" or (kind == "light" and before != "light")
        if fresh and done[found[-1]] < done[i] < done[-1]:
            found.append(i)
    return found[1:]


def _block_role(profile: NetProfile, i: int, before: str, average: float) -> str:
    """What layer ``i`` is to the one before it: "heavy", "follower" of a convolution, or "light"."""
    layer = profile.layers[i]
    if CONVOLUTION.search(layer.kind):
        return "heavy"
    conv = before == "heavy" and CONVOLUTION.search(profile.layers[i - 1].kind) is not None
    if FOLLOWER.search(layer.kind) and (conv or before == "follower") and profile.sources[i] == [i - 1]:
        return "follower"
    return "heavy" if layer.work > average else "light"


def _cut_evenly(done: Sequence[float], parts: int) -> list[int]:
    """Indices of ``done``, sums of work so far, that cut it into ``parts`` runs with the largest as small as can be."""
    sums = np.asarray(done)
    work = np.where(np.tri(len(sums), k=-1, dtype=bool).T, sums[None, :] - sums[:, None], np.inf)
    return cut_chain(work, parts)
