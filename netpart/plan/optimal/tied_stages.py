"""Tied stages: what it costs that a parameter is shared by layers of several stages, as an embedding of a first and a
last layer. All these stages then sum its gradient, once a step.

How the other stages are cut is not known when a stage is priced. So each stage is charged for a sum of the whole
parameter with as many workers next to it as it has, each worker with one of them. Stages pay at the same time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle

import numpy as np

from netpart.plan.optimal.parameter_prices import price_buckets
from netpart.plan.optimal.plan_prices import PricedJob
from netpart.plan.optimal.shared_sums import shared_parameters
from netpart.plan.price.net_profile import Floats
from netpart.plan.stages.downsets import Downsets


class TiedStages:
    """The sums of the parameters that layers share, for stages of the layers ``nodes`` of the net of ``priced``."""

    def __init__(self, priced: PricedJob, nodes: Sequence[int]) -> None:
        self.priced, net = priced, priced.net()
        shared = {p: users for p, users in shared_parameters(net).items() if any(net.trained[n] for n in users)}
        self.sizes = [float(np.prod(parameter.spec.shape)) for parameter in shared]
        self.setting = priced.setting()
        self.users = np.array([[n in users for n in nodes] for users in shared.values()], bool)

    def seconds_between(self, cuts: Downsets, run: range) -> Floats:
        """[a, b]: seconds in a pass of a stage between two ``cuts`` on the workers of ``run``."""
        inside = [cuts.members @ users.astype(int) for users in self.users]
        return self._seconds([count[None, :] - count[:, None] for count in inside], run, np.zeros((len(cuts),) * 2))

    def stage_seconds(self, layers: Sequence[int], run: range) -> float:
        """Seconds in a pass of a stage of ``layers`` on the workers of ``run``."""
        return float(self._seconds([np.asarray(users[list(layers)].sum()) for users in self.users], run, np.zeros(())))

    def _seconds(self, inside: Sequence[Floats], run: range, start: Floats) -> Floats:
        """``start``, and the sums of each parameter of which ``inside`` layers, some but not all, are in a stage."""
        for count, users, size in zip(inside, self.users, self.sizes, strict=True):
            start = start + ((count > 0) & (count < users.sum())) * self._sum_seconds(size, run)
        return start

    def _sum_seconds(self, size: float, run: range) -> float:
        """Seconds in a pass of the sum of ``size`` elements with the workers next to ``run``; 0 if there are none."""
        nbytes = size * self.setting.width / len(run)
        sums = ([((w, other), nbytes) for w, other in zip(run, cycle(near), strict=False)] for near in self._near(run))
        seconds = (price_buckets(self.setting.links, each).seconds for each in sums)
        return min(seconds, default=0.0) / self.priced.passes

    def _near(self, run: range) -> Iterator[range]:
        """As many workers as ``run`` has before and after it, where there are any."""
        everyone = len(self.priced.devices)
        sides = range(max(0, run.start - len(run)), run.start), range(run.stop, min(everyone, run.stop + len(run)))
        return (side for side in sides if side)
