"""Joint sums: the sums of gradients of parameters that two layers share, as tables over the choices of both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netpart.graph.net import Parameter
from netpart.plan.optimal.choice_arrays import Array
from netpart.plan.optimal.elimination import Scope
from netpart.plan.optimal.layer_tables import LayerTables
from netpart.plan.optimal.parameter_prices import price_buckets
from netpart.plan.optimal.shared_sums import SummedCell, joint_table, parameter_uses


@dataclass(frozen=True)
class JointSums:
    """The sums of gradients of a parameter that the layers of two variables share: seconds and bytes. ``last``: no
    backward pass hides them."""

    scope: Scope
    seconds: Array
    sent: Array
    last: bool


def are_sums_known(layers: LayerTables) -> bool:
    """True if no parameter that is trained is shared by three layers, or by layers that are tied."""
    return all(_has_two_variables(layers, users) or not _is_trained(layers, users) for users in layers.shared.values())


def find_joint_sums(layers: LayerTables) -> Iterator[JointSums]:
    """The sums of each parameter that two layers share; of those that more share, none are counted."""
    for parameter, users in layers.shared.items():
        if _has_two_variables(layers, users) and _is_trained(layers, users):
            yield _price_joint_sums(layers, parameter, users)


def _has_two_variables(layers: LayerTables, users: list[int]) -> bool:
    """True if ``users`` are two layers that choose on their own."""
    return len(users) == 2 and len({layers.leaders[n] for n in users}) == 2


def _is_trained(layers: LayerTables, users: list[int]) -> bool:
    """True if one of the layers learns."""
    return any(layers.net.trained[n] for n in users)


def _price_joint_sums(layers: LayerTables, parameter: Parameter, users: list[int]) -> JointSums:
    """The sums of ``parameter`` for all choices of its two users."""
    links, width, passes = layers.setting.links, layers.setting.width, layers.setting.passes

    def price(cells: list[SummedCell]) -> tuple[float, float]:
        seconds = price_buckets(links, [(cell.workers, cell.elements * width) for cell in cells]).seconds
        return seconds / passes, sum(2 * (len(cell.workers) - 1) * cell.elements * width for cell in cells)

    slots = [layers.net.nodes[n].params.index(parameter) for n in users]
    first, second = (parameter_uses(layers.arrays(n), k) for n, k in zip(users, slots, strict=True))
    table = joint_table(first, second, price)
    scope = tuple(layers.leaders[n] for n in users)
    return JointSums(scope, table[..., 0], table[..., 1], layers.last in users)
