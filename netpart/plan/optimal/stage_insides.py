"""Stage insides: what a stage of a pipeline costs on some workers, if its layers are cut in the best way.

Workers on the same devices, in the same places of the network, have the same prices. For these there is one plan space
of the whole net, with the choices that its best plans may have. The best plan gives the seconds that are expected of
each layer: a stage that is cut so takes what its layers take together. To price a stage, the plans of its layers alone
are searched; the best is no slower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from netpart.plan.optimal.branching import IsLate, PlanBranching
from netpart.plan.optimal.layer_tables import LayerTables
from netpart.plan.optimal.narrowing import narrow_space
from netpart.plan.optimal.plan_prices import PricedJob
from netpart.plan.optimal.plan_space import PlanSpace, build_plan_space
from netpart.plan.price.devices import Devices
from netpart.plan.price.net_profile import Floats

CLOSE = 0.01
"""A gap at which the search of a stage ends."""


class StageInsides:
    """The seconds of stages of ``priced``, forward and backward of one micro-batch, on runs of its workers. Layer i of
    the net's profile is node ``nodes[i]`` of ``net``. When ``is_late``, prices are those of the best plans so far."""

    def __init__(self, priced: PricedJob, is_late: IsLate = lambda: False) -> None:
        self.priced, self.net, self.is_late = priced, priced.net(), is_late
        self.nodes = [node.index for node in self.net.nodes if not node.layer.is_input]
        self.spaces: dict[object, _RunInsides] = {}

    def layer_seconds(self, run: range) -> Floats:
        """[i]: the seconds that are expected of each layer on the workers of ``run``."""
        return self._inside(run).node_seconds[self.nodes]

    def stage_seconds(self, layers: Sequence[int], run: range) -> float:
        """The seconds of the best plan of ``layers`` on the workers of ``run``."""
        return self._inside(run).best_seconds(frozenset(self.nodes[i] for i in layers))

    def _inside(self, run: range) -> _RunInsides:
        """The insides on workers like those of ``run``."""
        # The last four of two hosts of three are like the first four.
        key = frozenset(_likeness(self.priced.devices.of(workers)) for workers in (run, run[::-1]))
        if key not in self.spaces:
            setting = replace(self.priced, devices=self.priced.devices.of(run)).setting()
            loose = build_plan_space(LayerTables(self.net, setting), joint=False, exact=False)
            self.spaces[key] = _RunInsides(narrow_space(loose, is_late=self.is_late).space, self.is_late)
        return self.spaces[key]


def _likeness(devices: Devices) -> object:
    """Equal for workers with equal prices."""
    return devices.devices, devices.network.part(range(len(devices)))


@dataclass
class _RunInsides:
    """Stages on the workers of ``space``, which has all plans of the net on them; searches end when ``is_late``."""

    space: PlanSpace
    is_late: IsLate

    @cached_property
    def node_seconds(self) -> Floats:
        """[n]: the seconds of each node in the best plan of the whole net, with the transfers of its outputs."""
        best = self._explored(self.space).by_seconds()[0]
        forward, backward, ending, sums, updates = self.space.node_figures(best)
        hidden = (self.space.hiding * backward + ending).sum()
        # What backward does not hide of the sums is shared by the layers that have them.
        left = max(0.0, 1 - hidden / sums.sum()) if sums.any() else 0.0
        return np.asarray(forward + backward + ending + left * sums + updates)

    def best_seconds(self, nodes: frozenset[int]) -> float:
        """The seconds of the best plan of ``nodes`` alone."""
        return self._explored(self.space.part(nodes)).best

    def _explored(self, space: PlanSpace) -> PlanBranching:
        """The plans of ``space``, searched."""
        found = PlanBranching(space, 0.0, CLOSE, self.is_late)
        found.explore()
        return found
