"""Plan space: the choices of all layers of a net, and what each combination costs as a sum of tables.

    step = F + max(B, S) + U        F, B: computing and transfers, forward and backward; S: sums of gradients; U:
    updates

is the price of ``predict_step`` if all workers wait for each other after every layer. F, B, S and U are sums over
layers and over outputs: a table for each layer over its choices, and a table for each output over the choices of its
layer and of its readers. B has the time for which sums keep workers from computing, and all sums of the first layer
that learns: backward ends with them. For any weight w from 0 to 1 the step takes at least F + (1 - w) B + w S + U,
which is a sum of tables too. So its minimum is a bound for all plans, and the largest of several such bounds the best
of them.

If a step has several passes, all seconds are those of one: S and U are shared by them, and of B only the last pass
hides sums.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from netpart.plan.optimal.choice_arrays import Array
from netpart.plan.optimal.cut_choices import CutChoice
from netpart.plan.optimal.elimination import CostTable, EliminationMemo, minimise_sum
from netpart.plan.optimal.joint_sums import JointSums, are_sums_known, find_joint_sums
from netpart.plan.optimal.layer_tables import LayerTables
from netpart.plan.optimal.memory_cost import cost_memory
from netpart.plan.optimal.output_tables import ALL_WANTED, OutputTables, OutputTransfers, TableKey

Assignment = dict[int, int]
"""The number of the choice of each variable."""


class PlanFigures(NamedTuple):
    """Seconds of a plan: passes ``forward`` and ``backward``, what sums of gradients add to the ``ending`` of backward,
    all ``sums``, and ``updates``. If a step has several passes, the last three are their share in one of them."""

    forward: float
    backward: float
    ending: float
    sums: float
    updates: float

    @property
    def visible(self) -> float:
        """All but the sums that backward does not hide."""
        return self.forward + self.backward + self.ending + self.updates

    def hidden(self, hiding: float) -> float:
        """The most of the sums that are hidden if the share ``hiding`` of backward can hide them."""
        return hiding * self.backward + self.ending


@dataclass(frozen=True)
class WeightedBound:
    """The least sum of tables with a weight, which no plan can beat, and the plan that has it."""

    seconds: float
    assignment: Assignment


def build_plan_space(
    layers: LayerTables, joint: bool = True, exact: bool = True, wanted: Mapping[TableKey, Array] = ALL_WANTED
) -> PlanSpace:
    """The space of the choices of ``layers``, with all tables made; the rest as in ``OutputTables``."""
    return PlanSpace(layers, OutputTables(layers, joint, exact, wanted), list(find_joint_sums(layers)))


@dataclass
class PlanSpace:
    """All plans of a net: the tables of its layers, of its outputs, and of parameters that several layers share."""

    layers: LayerTables
    outputs: OutputTables
    joint_sums: list[JointSums]
    _sums: dict[tuple[object, ...], Array] = field(default_factory=dict)

    @property
    def proved(self) -> bool:
        """True if a bound of this space holds for all plans of the net."""
        return are_sums_known(self.layers)

    def part(self, nodes: Container[int]) -> PlanSpace:
        """The plans of some ``nodes`` alone, with what moves between them; tables are those of this space."""
        layers = self.layers.part(nodes)
        within = [found for found in self.joint_sums if set(found.scope) <= set(layers.variables)]
        return PlanSpace(layers, self.outputs.part(layers), within, self._sums)

    def bound(
        self, weight: float, memory: float = 0.0, memo: EliminationMemo | None = None, only: Iterable[CostTable] = ()
    ) -> WeightedBound:
        """The least sum of tables for ``weight``; ``memory`` seconds for each byte of a worker's memory are added, and
        the tables ``only``, which are infinite for choices that are excluded."""
        tables = [*self.cost_tables(weight, memory), *only]
        return WeightedBound(*minimise_sum(tables, self.layers.sizes, memo))

    def cost_tables(self, weight: float, memory: float = 0.0) -> Iterator[CostTable]:
        """The tables whose sum ``bound`` minimises."""
        yield from self.own_cost_tables(weight, memory)
        yield from self.output_cost_tables(weight)

    def own_cost_tables(self, weight: float, memory: float) -> Iterator[CostTable]:
        """The tables of layers by themselves, and of parameters that several share."""
        for found in self.joint_sums:
            yield CostTable(found.scope, found.seconds * (1.0 if found.last else weight))
        for n in self.layers.placed_nodes():
            priced = self.layers.priced(n)
            key = (self.layers.kind_pair(n), weight, memory, n == self.layers.last)
            if key not in self._sums:
                cost = cost_memory(priced, memory)
                passes = priced.forward + (1 - weight * self.hiding) * (priced.backward + cost.again)
                ending = (1 - weight) * priced.ending(n == self.layers.last) + weight * priced.sums
                self._sums[key] = passes + ending + priced.updates + cost.held
            yield CostTable((self.layers.leaders[n],), self._sums[key])

    def output_cost_tables(self, weight: float) -> Iterator[CostTable]:
        """The tables of transfers, in their order."""
        for found in self.outputs.transfers:
            table = self.outputs.table(found)
            key = (found.key, self.outputs.versions[found.key], weight)
            if key not in self._sums:
                self._sums[key] = table.forward + (1 - weight * self.hiding) * table.backward
            yield CostTable(found.scope, self._sums[key])

    def weighted_line(self, assignment: Assignment, memory: float = 0.0) -> tuple[float, float]:
        """The sum of tables of a plan with weight 0, and its growth with the weight."""
        figures = self.plan_figures(assignment)
        held, again = self._spent_on_memory(assignment, memory) if memory else (0.0, 0.0)
        figures = figures._replace(backward=figures.backward + again)
        return figures.visible + held, figures.sums - figures.hidden(self.hiding)

    def _spent_on_memory(self, assignment: Assignment, memory: float) -> tuple[float, float]:
        """Seconds for the memory of a plan at the price ``memory``, and those of its recomputed layers."""
        found = np.zeros(2)
        for n in self.layers.placed_nodes():
            cost, c = cost_memory(self.layers.priced(n), memory), assignment[self.layers.leaders[n]]
            found += cost.held[c], cost.again[c]
        return float(found[0]), float(found[1])

    @property
    def hiding(self) -> float:
        """The share of the backward passes of a step that can hide sums of gradients: that of the last of them."""
        return 1 / self.layers.setting.passes

    def plan_figures(self, assignment: Assignment) -> PlanFigures:
        """The seconds of a plan."""
        found = PlanFigures(*map(float, self.node_figures(assignment).sum(axis=1)))
        for joint in self.joint_sums:
            seconds = float(joint.seconds[_choices_at(joint, assignment)])
            found = found._replace(ending=found.ending + seconds * joint.last, sums=found.sums + seconds)
        return found

    def node_figures(self, assignment: Assignment) -> Array:
        """[figure, node]: the ``PlanFigures`` of each node, with the transfers of its outputs; without the sums of
        parameters that several layers share."""
        found = np.zeros((5, len(self.layers.net.nodes)))
        for n in self.layers.placed_nodes():
            priced, c = self.layers.priced(n), assignment[self.layers.leaders[n]]
            ending = priced.ending(n == self.layers.last)[c]
            found[:, n] = priced.forward[c], priced.backward[c], ending, priced.sums[c], priced.updates[c]
        for transfers in self.outputs.transfers:
            table, at = self.outputs.table(transfers), _choices_at(transfers, assignment)
            found[:2, transfers.node] += table.forward[at], table.backward[at]
        return found

    def additive_seconds(self, assignment: Assignment) -> float:
        """The step of a plan if all workers wait for each other after every layer."""
        figures = self.plan_figures(assignment)
        return figures.visible + max(0.0, figures.sums - figures.hidden(self.hiding))

    def worker_memory(self, assignment: Assignment) -> Array:
        """Bytes of each worker if no layer reuses the space of another."""
        rows = (self._choice_memory(n, assignment) for n in self.layers.placed_nodes())
        return np.asarray(sum(rows, np.zeros(len(self.layers.setting.devices))))

    def _choice_memory(self, n: int, assignment: Assignment) -> Array:
        """Bytes of each worker for node ``n``."""
        return np.asarray(self.layers.priced(n).memory[assignment[self.layers.leaders[n]]])

    def moved_bytes(self, assignment: Assignment) -> float:
        """Bytes that a step of a plan sends between workers."""
        layers = self.layers
        sent = sum(layers.priced(n).sent[assignment[layers.leaders[n]]] for n in layers.placed_nodes())
        for found in self.outputs.transfers:
            table, at = self.outputs.table(found), _choices_at(found, assignment)
            sent += table.sent[at] + table.returned[at]
        sent += sum(joint.sent[_choices_at(joint, assignment)] for joint in self.joint_sums)
        return float(sent)

    def correct(self, found: OutputTransfers, assignment: Assignment, forward: float, backward: float) -> None:
        """Replace the prices of one output in a plan, wherever equal outputs have the same choices."""
        self.outputs.correct(found, _choices_at(found, assignment), forward, backward)

    def plan_choices(self, assignment: Assignment) -> Mapping[str, CutChoice]:
        """The choice of each layer, by its name."""
        layers = self.layers
        return {
            layers.net.nodes[n].name: layers.choices(n)[assignment[layers.leaders[n]]] for n in layers.placed_nodes()
        }


def _choices_at(found: OutputTransfers | JointSums, assignment: Assignment) -> tuple[int, ...]:
    """The place of a plan in the tables of ``found``."""
    return tuple(assignment[v] for v in found.scope)
