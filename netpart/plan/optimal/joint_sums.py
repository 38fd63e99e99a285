"""Joint sums: the sums of gradients of parameters that several layers share, as tables over their choices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netpart.graph.net import Parameter
from netpart.plan.optimal.choice_arrays import Array
from netpart.plan.optimal.elimination import Scope
from netpart.plan.optimal.layer_tables import LayerTables
from netpart.plan.optimal.parameter_prices import price_buckets
from netpart.plan.optimal.shared_sums import LayerUses, SummedCell, joint_table, parameter_uses

MOST_VARIABLES = 3
"""Layers with choices of their own that may share a parameter: a table has an axis for each."""


@dataclass(frozen=True)
class JointSums:
    """The sums of gradients of a parameter that the layers of the variables in ``scope`` share: seconds and bytes.
    ``last``: no backward pass hides them."""

    scope: Scope
    seconds: Array
    sent: Array
    last: bool


def are_sums_known(layers: LayerTables) -> bool:
    """True if no trained parameter is shared by the layers of more than MOST_VARIABLES."""
    return all(_has_few_variables(layers, users) for users in _trained_users(layers).values())


def find_joint_sums(layers: LayerTables) -> Iterator[JointSums]:
    """The sums of each shared parameter; of those of more than MOST_VARIABLES, none are counted."""
    for parameter, users in _trained_users(layers).items():
        if _has_few_variables(layers, users):
            yield _price_joint_sums(layers, parameter, users)


def _trained_users(layers: LayerTables) -> dict[Parameter, list[int]]:
    """The layers of each shared parameter that is trained."""
    return {p: users for p, users in layers.shared.items() if any(layers.net.trained[n] for n in users)}


def _has_few_variables(layers: LayerTables, users: list[int]) -> bool:
    """True if ``users`` have few enough choices of their own for a table."""
    return len({layers.leaders[n] for n in users}) <= MOST_VARIABLES


def _price_joint_sums(layers: LayerTables, parameter: Parameter, users: list[int]) -> JointSums:
    """The sums of ``parameter`` for all choices of its users."""
    links, width, passes = layers.setting.links, layers.setting.width, layers.setting.passes

    def price(cells: list[SummedCell]) -> tuple[float, float]:
        seconds = price_buckets(links, [(cell.workers, cell.elements * width) for cell in cells]).seconds
        return seconds / passes, sum(2 * (len(cell.workers) - 1) * cell.elements * width for cell in cells)

    by_variable: dict[int, list[LayerUses]] = {}
    for n in users:
        uses = parameter_uses(layers.arrays(n), n, layers.net.nodes[n].params.index(parameter))
        known = by_variable.get(layers.leaders[n], [()] * len(uses))
        by_variable[layers.leaders[n]] = [(*before, *more) for before, more in zip(known, uses, strict=True)]
    table = joint_table(list(by_variable.values()), price)
    return JointSums(tuple(by_variable), table[..., 0], table[..., 1], layers.last in users)
