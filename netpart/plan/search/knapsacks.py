"""Knapsacks: the allocation of partitions to devices as GABRA defines it (Akintoye et al., IEEE Access 10, 2022,
3.1.2).

p_i are the computation loads of n partitions, d_j the capacities of m devices. A plan is legal if every partition is on
one device (equations 7 and 8), no device holds more than its capacity (6) and every device runs at least one partition.

Equation 5 maximises the sum of c_ij = p_i / d_j over all pairs, which is the sum of load_j / d_j, the degree to which
devices are filled. So load is worth more on a small device than on a large one. With equal devices all legal plans are
worth the same; ties are resolved in favour of the plan with the shorter makespan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np

from netpart.choices import MAKESPAN, PROFIT
from netpart.errors import ConfigError
from netpart.plan.price.net_profile import Floats

Plan = np.ndarray[Any, np.dtype[np.int64]]
"""The device of each partition."""

CLOSE = 1e-9
"""Relative differences of a capacity, or of a value, up to this count as equal."""

WHOLE = 1 << 50
"""The sum of all loads as an integer.

Sums of integers do not depend on their order. So a search that adds loads one by one and a proof about their total
agree on which plans are legal.
"""


@dataclass(frozen=True, eq=False)
class Knapsacks:
    """Loads of partitions, capacities of devices in the same unit, and the work of each device in a second."""

    loads: Floats
    capacities: Floats
    speeds: Floats
    objective: str = PROFIT

    @cached_property
    def room(self) -> Floats:
        """The capacity of each device, with a tolerance for rounding."""
        return self.capacities * (1 + CLOSE)

    @property
    def unit(self) -> float:
        """The load that one integer unit represents."""
        return float(self.loads.sum() or 1.0) / WHOLE

    @cached_property
    def whole_loads(self) -> list[int]:
        """The loads as integers."""
        return [round(load) for load in (self.loads / self.unit).tolist()]

    @cached_property
    def whole_room(self) -> list[int]:
        """The room of each device in the same integer units, limited to twice the sum of all loads."""
        return [ceil(room) for room in np.minimum(self.room / self.unit, 2 * WHOLE).tolist()]

    def on_devices(self, plan: Plan) -> Floats:
        """The load of each device."""
        return np.bincount(plan, self.loads, len(self.capacities)).astype(np.float64)

    def is_legal(self, plan: Plan) -> bool:
        """True if constraints (6) to (8) hold and no device is idle."""
        held = [0] * len(self.capacities)
        used = set(plan.tolist())
        if used != set(range(len(held))):
            return False
        for device, load in zip(plan.tolist(), self.whole_loads, strict=True):
            held[device] += load
        return all(load <= room for load, room in zip(held, self.whole_room, strict=True))

    def profit(self, plan: Plan) -> float:
        """The profit z of equation 5."""
        return float((self.on_devices(plan) / self.capacities).sum())

    def makespan(self, plan: Plan) -> float:
        """Seconds until the last device is done."""
        return float((self.on_devices(plan) / self.speeds).max())

    def value(self, plan: Plan) -> float:
        """The value of the objective, as it is printed."""
        return self.profit(plan) if self.objective == PROFIT else self.makespan(plan)

    def fitness(self, plan: Plan) -> tuple[float, float]:
        """(objective, other objective) of a plan, both to be maximised; the second resolves ties in the first."""
        # Rounded, so that equal profits that were added in different orders compare as equal, and the makespan decides.
        profit = round(self.profit(plan), 12)
        slowness = -self.makespan(plan)
        return (profit, slowness) if self.objective == PROFIT else (slowness, profit)

    @cached_property
    def bound(self) -> float:
        """The value that no legal plan can beat: the smallest devices filled first, as if load could be divided freely.
        For the makespan it is ``shortest``."""
        if self.objective == MAKESPAN:
            return self.shortest
        capacities = np.sort(self.capacities)
        left = np.clip(self.loads.sum() - np.concatenate([[0.0], np.cumsum(capacities)[:-1]]), 0, capacities)
        return float((left / capacities).sum())

    @property
    def shortest(self) -> float:
        """Seconds that no plan can beat: all devices busy to the end, or the largest partition on the fastest."""
        return float(max(self.loads.sum() / self.speeds.sum(), self.loads.max() / self.speeds.max()))

    def is_perfect(self, plan: Plan) -> bool:
        """True if the objective is at its bound and the makespan, which resolves ties in (5), is too."""
        late = self.makespan(plan) > self.shortest * (1 + CLOSE)
        return self.gap(self.value(plan)) <= CLOSE and not late

    def gap(self, value: float, bound: float | None = None) -> float:
        """The relative difference of ``value`` from the bound."""
        bound = self.bound if bound is None else bound
        return abs(value - bound) / bound

    def check(self) -> None:
        """Raise ConfigError if simple sums show that there is no legal plan."""
        partitions = len(self.loads)
        devices = len(self.capacities)
        if partitions < devices:
            got = str(partitions)
            hint = f"make --partitions {devices} or more, or take fewer devices"
            raise ConfigError("partitions", f"one for each of {devices} devices at least", got, hint)
        if sum(self.whole_loads) > sum(self.whole_room):
            got = f"{self.loads.sum():.6g}"
            hint = "increase --slack"
            raise ConfigError("partitions", f"loads that sum to {self.capacities.sum():.6g} at most", got, hint)
        self.check_one_by_one()

    def check_one_by_one(self) -> None:
        """Raise ConfigError if the largest load exceeds every device, or the k smallest devices cannot each hold a
        load.

        The k-th smallest device must hold at least the k-th smallest load, since no device may be idle.
        """
        largest = float(self.loads.max())
        room = float(self.room.max())
        if max(self.whole_loads) > max(self.whole_room):
            hint = "make more --partitions, or increase --slack"
            raise ConfigError(
                f"partition {int(self.loads.argmax())}", f"a load of at most {room:.6g}", f"{largest:.6g}", hint
            )
        whole = zip(sorted(self.whole_loads), sorted(self.whole_room), strict=False)
        for load, capacity, (needed, held) in zip(np.sort(self.loads), np.sort(self.room), whole, strict=False):
            if needed > held:
                hint = "make more --partitions, or omit the smallest device"
                raise ConfigError("devices", f"capacities of at least {load:.6g}", f"{capacity:.6g}", hint)


def make_knapsacks(loads: Sequence[float], speeds: Sequence[float], slack: float, objective: str = PROFIT) -> Knapsacks:
    """Knapsacks for devices of these speeds; a capacity is the fair share of the loads, times 1 + ``slack``."""
    p = np.asarray(loads, np.float64)
    s = np.asarray(speeds, np.float64)
    return Knapsacks(p, p.sum() * s / s.sum() * (1 + slack), s, objective)
