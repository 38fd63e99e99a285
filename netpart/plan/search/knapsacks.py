"""Which device runs which partition: the multiple knapsacks of GABRA (Akintoye et al., IEEE Access 10, 2022, 3.1.2).

p_i are the computation loads of n partitions, d_j the capacities of m devices. A plan is legal if every partition is on
one device (equations 7 and 8), no device holds more than its capacity (6) and every device runs at least one partition.

Equation 5 maximises the sum of c_ij = p_i / d_j over all pairs, which is the sum of load_j / d_j: how full the devices
are. A small device is worth more than a large one, and equal devices make all legal plans worth the same: ties go to
the plan that is done first.
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
"""Shares of a capacity, or of a value, that are no difference."""

WHOLE = 1 << 50
"""What all loads together are as whole numbers. Sums of whole numbers do not depend on their order, so who adds them up
one by one and who proves what none can hold mean the same by a legal plan."""


@dataclass(frozen=True, eq=False)
class Knapsacks:
    """Loads of partitions, capacities of devices in the same unit, and what each device does of it in a second."""

    loads: Floats
    capacities: Floats
    speeds: Floats
    objective: str = PROFIT

    @cached_property
    def room(self) -> Floats:
        """What fits into each device, rounding forgiven."""
        return self.capacities * (1 + CLOSE)

    @property
    def unit(self) -> float:
        """The load that the whole numbers count."""
        return float(self.loads.sum() or 1.0) / WHOLE

    @cached_property
    def whole_loads(self) -> list[int]:
        """The loads as whole numbers."""
        return [round(load) for load in (self.loads / self.unit).tolist()]

    @cached_property
    def whole_room(self) -> list[int]:
        """What fits into each device, in the same units; all loads do where there is room for more."""
        return [ceil(room) for room in np.minimum(self.room / self.unit, 2 * WHOLE).tolist()]

    def on_devices(self, plan: Plan) -> Floats:
        """The load of each device."""
        return np.bincount(plan, self.loads, len(self.capacities)).astype(np.float64)

    def is_legal(self, plan: Plan) -> bool:
        """True if (6) to (8) hold and no device is idle."""
        held = [0] * len(self.capacities)
        used = set(plan.tolist())
        if used != set(range(len(held))):
            return False
        for device, load in zip(plan.tolist(), self.whole_loads, strict=True):
            held[device] += load
        return all(load <= room for load, room in zip(held, self.whole_room, strict=True))

    def profit(self, plan: Plan) -> float:
        """z of equation 5."""
        return float((self.on_devices(plan) / self.capacities).sum())

    def makespan(self, plan: Plan) -> float:
        """Seconds until the last device is done."""
        return float((self.on_devices(plan) / self.speeds).max())

    def value(self, plan: Plan) -> float:
        """What the objective is about, as it is printed."""
        return self.profit(plan) if self.objective == PROFIT else self.makespan(plan)

    def fitness(self, plan: Plan) -> tuple[float, float]:
        """The larger the better; ties in (5) go to the plan that is done first, and the other way round."""
        profit = round(self.profit(plan), 12)
        slowness = -self.makespan(plan)
        return (profit, slowness) if self.objective == PROFIT else (slowness, profit)

    @cached_property
    def bound(self) -> float:
        """What no legal plan can beat: the smallest devices filled first, as if loads could be poured; or no rest."""
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
        """True if the objective is at its bound, and so is the makespan, to which ties in (5) go."""
        late = self.makespan(plan) > self.shortest * (1 + CLOSE)
        return self.gap(self.value(plan)) <= CLOSE and not late

    def gap(self, value: float, bound: float | None = None) -> float:
        """How far ``value`` is from the bound, as a share of the bound."""
        bound = self.bound if bound is None else bound
        return abs(value - bound) / bound

    def check(self) -> None:
        """Raises ConfigError for what shows at once that there is no legal plan."""
        partitions = len(self.loads)
        devices = len(self.capacities)
        if partitions < devices:
            got = str(partitions)
            hint = f"make --partitions {devices} or more, or take fewer devices"
            raise ConfigError("partitions", f"one for each of {devices} devices at least", got, hint)
        if sum(self.whole_loads) > sum(self.whole_room):
            got = f"{self.loads.sum():.6g}"
            hint = "give the devices more --slack"
            raise ConfigError("partitions", f"loads that sum to {self.capacities.sum():.6g} at most", got, hint)
        self.check_one_by_one()

    def check_one_by_one(self) -> None:
        """Raises ConfigError if the k largest loads do not fit, each on a device of its own, or the m smallest do."""
        largest = float(self.loads.max())
        room = float(self.room.max())
        if max(self.whole_loads) > max(self.whole_room):
            hint = "make more --partitions, or give the devices more --slack"
            raise ConfigError(
                f"partition {int(self.loads.argmax())}", f"a load of at most {room:.6g}", f"{largest:.6g}", hint
            )
        whole = zip(sorted(self.whole_loads), sorted(self.whole_room), strict=False)
        for load, capacity, (needed, held) in zip(np.sort(self.loads), np.sort(self.room), whole, strict=False):
            if needed > held:
                hint = "make more --partitions, or leave the smallest device out"
                raise ConfigError("devices", f"capacities of at least {load:.6g}", f"{capacity:.6g}", hint)


def make_knapsacks(loads: Sequence[float], speeds: Sequence[float], slack: float, objective: str = PROFIT) -> Knapsacks:
    """Devices of these speeds, each with its fair share of the loads as capacity, and ``slack`` of that more."""
    p = np.asarray(loads, np.float64)
    s = np.asarray(speeds, np.float64)
    return Knapsacks(p, p.sum() * s / s.sum() * (1 + slack), s, objective)
