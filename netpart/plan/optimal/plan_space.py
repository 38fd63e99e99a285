"""Plan space: the choices of all layers of a net, and what each combination costs as a sum of tables.

    step = F + max(B, S) + U        F, B: computing and transfers, forward and backward; S: sums of gradients; U:
    updates

is the price of ``predict_step`` if all workers wait for each other after every layer. F, B, S and U are sums over
layers and over outputs: a table for each layer over its choices, and a table for each output over the choices of its
layer and of its readers. The sums of the first layer that learns count for B too: backward ends with them. For any
weight w from 0 to 1 the step takes at least F + (1 - w) B + w S + U, which is a sum of tables too. So its minimum is a
bound for all plans, and the largest of several such bounds the best of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from netpart.graph.net import Net, Parameter, Source
from netpart.plan.optimal.choice_arrays import Array, ChoiceArrays
from netpart.plan.optimal.cut_choices import CutChoice, layer_choices, worker_meshes
from netpart.plan.optimal.elimination import CostTable, EliminationMemo, Scope, minimise_sum
from netpart.plan.optimal.layer_kinds import LayerKind, planned_layer_kind, tied_layers
from netpart.plan.optimal.layer_prices import PricedLayer, PriceSetting, bucket_seconds, price_layer
from netpart.plan.optimal.shared_sums import (
    SummedCell,
    joint_table,
    parameter_uses,
    shared_parameters,
)
from netpart.plan.optimal.transfer_tables import OutputReader, TransferTable, transfer_table
from netpart.spec import RECORD

Assignment = dict[int, int]
"""The number of the choice of each variable; a variable is the first of some tied nodes."""


@dataclass(frozen=True)
class OutputTransfers:
    """The transfers of ``output`` of ``node``. Tables have an axis for each variable in ``scope``: the source's, then
    those of readers. Equal outputs share ``key`` and tables."""

    node: int
    output: int
    scope: Scope
    key: tuple[object, ...]


@dataclass(frozen=True)
class JointSums:
    """The sums of gradients of a parameter that the layers of two variables share: seconds and bytes. ``last``: no
    backward pass hides them."""

    scope: Scope
    seconds: Array
    sent: Array
    last: bool


@dataclass(frozen=True)
class WeightedBound:
    """The least sum of tables with a weight, which no plan can beat, and the plan that has it."""

    seconds: float
    assignment: Assignment


@dataclass
class PlanSpace:
    """All plans of ``net``. ``proved``: no output has more than two readers that may be cut differently; with more,
    what they need is counted once for each."""

    net: Net
    setting: PriceSetting
    leaders: list[int] = field(init=False)
    proved: bool = field(init=False, default=True)
    transfers: list[OutputTransfers] = field(init=False)
    tables: dict[tuple[object, ...], TransferTable] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        rates = self.setting.rates
        self.shared = shared_parameters(self.net)
        nodes = self.net.nodes
        self.kinds = [planned_layer_kind(self.net, node, rates.get(node.name, 1.0), self.shared) for node in nodes]
        learning = (
            n.index for n in nodes if self.net.trained[n.index] and not all(s.read_only for s in n.layer.params)
        )
        self.last = next(learning, -1)
        self.leaders = tied_layers(self.net, self.kinds)
        self.meshes = worker_meshes(self.setting.devices)
        self._choices: dict[LayerKind, list[CutChoice]] = {}
        self._arrays: dict[tuple[LayerKind, LayerKind], ChoiceArrays] = {}
        self._priced: dict[tuple[LayerKind, LayerKind], PricedLayer] = {}
        self._sums: dict[tuple[object, ...], Array] = {}
        self._versions: Counter[tuple[object, ...]] = Counter()
        self.variables = [n for n, leader in enumerate(self.leaders) if n == leader and not self.is_record(n)]
        self.sizes = {v: len(self.choices(v)) for v in self.variables}
        self.transfers = [found for node in self.variables_of_all() for found in self._node_transfers(node)]
        self.joint_sums = [found for item in self.shared.items() for found in self._joint_sums(*item)]

    def is_record(self, n: int) -> bool:
        """True for a node of opaque records, which go where their readers are."""
        return self.net.nodes[n].layer.output.dtype == RECORD

    def variables_of_all(self) -> Iterator[int]:
        """All nodes that are placed by choice, also tied ones."""
        return (n for n in range(len(self.net.nodes)) if not self.is_record(n))

    def choices(self, n: int) -> list[CutChoice]:
        """The choices of node ``n``: those of the first that it is tied to."""
        leader = self.leaders[n]
        kind = self.kinds[leader]
        if kind not in self._choices:
            self._choices[kind] = layer_choices(self.net.nodes[leader], self.meshes)
        return self._choices[kind]

    def arrays(self, n: int) -> ChoiceArrays:
        """The choices of node ``n`` as arrays."""
        key = self.kinds[n], self.kinds[self.leaders[n]]
        if key not in self._arrays:
            self._arrays[key] = ChoiceArrays(self.net.nodes[n], self.choices(n), len(self.setting.devices))
        return self._arrays[key]

    def priced(self, n: int) -> PricedLayer:
        """The prices of the choices of node ``n``."""
        key = self.kinds[n], self.kinds[self.leaders[n]]
        if key not in self._priced:
            self._priced[key] = price_layer(self.net, self.arrays(n), self.setting, self.shared)
        return self._priced[key]

    def _joint_sums(self, parameter: Parameter, users: list[int]) -> Iterator[JointSums]:
        """The sums of a parameter that two layers share; of those that more share, none are counted."""
        leaders = [self.leaders[n] for n in users]
        if len(set(leaders)) != 2 or len(users) != 2 or not any(self.net.trained[n] for n in users):
            self.proved = self.proved and not any(self.net.trained[n] for n in users)
            return
        links, width = self.setting.links, self.setting.width

        def price(cells: list[SummedCell]) -> tuple[float, float]:
            seconds = sum(bucket_seconds(links, cell.workers, cell.elements * width) for cell in cells)
            return seconds, sum(2 * (len(cell.workers) - 1) * cell.elements * width for cell in cells)

        slots = [self.net.nodes[n].params.index(parameter) for n in users]
        first, second = (parameter_uses(self.arrays(n), k) for n, k in zip(users, slots, strict=True))
        table = joint_table(first, second, price)
        yield JointSums(tuple(leaders), table[..., 0], table[..., 1], self.last in users)

    def _node_transfers(self, n: int) -> Iterator[OutputTransfers]:
        """The transfers of each output of node ``n`` that others read."""
        for output, spec in enumerate(self.net.nodes[n].layer.outputs):
            slots = self._slots(Source(n, output)) if spec.dtype != RECORD else {}
            places = list(slots)
            self.proved &= len(places) <= 2
            for group in [places[:2], *([place] for place in places[2:])] if places else []:
                yield self._output_transfers(n, output, [slots[place] for place in group])

    def _slots(self, source: Source) -> dict[tuple[object, ...], tuple[int, int]]:
        """(node, input) of each reader of ``source`` that may need something else than the others."""
        found: dict[tuple[object, ...], tuple[int, int]] = {}
        for node in self.net.nodes:
            for k, read in enumerate(node.sources):
                if read == source:
                    found.setdefault((self.leaders[node.index], self.kinds[node.index], k), (node.index, k))
        return found

    def _output_transfers(self, n: int, output: int, slots: list[tuple[int, int]]) -> OutputTransfers:
        """The transfers to one reader, or jointly to two."""
        nodes = [n, *(reader for reader, _ in slots)]
        leaders = [self.leaders[node] for node in nodes]
        key = (
            output, tuple((self.kinds[node], self.kinds[leader]) for node, leader in zip(nodes, leaders, strict=True)),
            tuple(k for _, k in slots), tuple(leaders.index(leader) for leader in leaders),
        )  # fmt: skip
        if key not in self.tables:
            self.tables[key] = _merge_axes(self._transfer_table(n, output, slots), leaders)
        return OutputTransfers(n, output, tuple(dict.fromkeys(leaders)), key)

    def _transfer_table(self, n: int, output: int, slots: list[tuple[int, int]]) -> TransferTable:
        """The table of one output with an axis for each reader."""
        readers = [OutputReader(self.arrays(r), k, self.net.carries_gradient(self.net.nodes[r], k)) for r, k in slots]
        # Only labels are whole numbers of another width; they have no gradient.
        width = 4 if self.net.nodes[n].layer.outputs[output].dtype != "float" else self.setting.width
        return transfer_table(self.arrays(n), output, readers, self.setting.links, width)

    def bound(
        self, weight: float, memory: float = 0.0, memo: EliminationMemo | None = None, only: Iterable[CostTable] = ()
    ) -> WeightedBound:
        """The least sum of tables for ``weight``; ``memory`` seconds for each byte of a worker's memory are added, and
        the tables ``only``, which are infinite for choices that are excluded."""
        tables = [*self._layer_tables(weight, memory), *self._output_tables(weight), *self._joint_tables(weight), *only]
        return WeightedBound(*minimise_sum(tables, self.sizes, memo))

    def _layer_tables(self, weight: float, memory: float) -> Iterator[CostTable]:
        for n in self.variables_of_all():
            priced = self.priced(n)
            key = (self.kinds[n], self.kinds[self.leaders[n]], weight, memory, n == self.last)
            if key not in self._sums:
                spent = memory * priced.memory.max(axis=1)
                passes = priced.forward + (1 - weight) * (priced.backward + priced.sums * (n == self.last))
                self._sums[key] = passes + weight * priced.sums + priced.updates + spent
            yield CostTable((self.leaders[n],), self._sums[key])

    def _joint_tables(self, weight: float) -> Iterator[CostTable]:
        for found in self.joint_sums:
            yield CostTable(found.scope, found.seconds * (1.0 if found.last else weight))

    def _output_tables(self, weight: float) -> Iterator[CostTable]:
        for found in self.transfers:
            table = self.tables[found.key]
            key = (found.key, self._versions[found.key], weight)
            if key not in self._sums:
                self._sums[key] = table.forward + (1 - weight) * table.backward
            yield CostTable(found.scope, self._sums[key])

    def weighted_line(self, assignment: Assignment, memory: float = 0.0) -> tuple[float, float]:
        """The sum of tables of a plan with weight 0, and its growth with the weight."""
        forward, backward, sums, updates = self.plan_figures(assignment)
        peak = (self.priced(n).memory[assignment[self.leaders[n]]].max() for n in self.variables_of_all())
        return forward + backward + updates + memory * sum(peak), sums - backward

    def plan_figures(self, assignment: Assignment) -> tuple[float, float, float, float]:
        """F, B, S and U of a plan."""
        passes = np.zeros(2)
        sums = updates = 0.0
        for n in self.variables_of_all():
            priced, c = self.priced(n), assignment[self.leaders[n]]
            passes += priced.forward[c], priced.backward[c]
            sums += priced.sums[c]
            passes[1] += priced.sums[c] * (n == self.last)
            updates += priced.updates[c]
        for found in self.transfers:
            at = tuple(assignment[v] for v in found.scope)
            passes += self.tables[found.key].forward[at], self.tables[found.key].backward[at]
        for joint in self.joint_sums:
            seconds = joint.seconds[tuple(assignment[v] for v in joint.scope)]
            sums += seconds
            passes[1] += seconds * joint.last
        return float(passes[0]), float(passes[1]), float(sums), float(updates)

    def worker_memory(self, assignment: Assignment) -> Array:
        """Bytes of each worker if no layer reuses the space of another."""
        rows = (self.priced(n).memory[assignment[self.leaders[n]]] for n in self.variables_of_all())
        return np.asarray(sum(rows, np.zeros(len(self.setting.devices))))

    def additive_seconds(self, assignment: Assignment) -> float:
        """The step of a plan if all workers wait for each other after every layer."""
        forward, backward, sums, updates = self.plan_figures(assignment)
        return forward + max(backward, sums) + updates

    def moved_bytes(self, assignment: Assignment) -> float:
        """Bytes that a step of a plan sends between workers."""
        sent = sum(self.priced(n).sent[assignment[self.leaders[n]]] for n in self.variables_of_all())
        for found in self.transfers:
            at = tuple(assignment[v] for v in found.scope)
            sent += self.tables[found.key].sent[at] + self.tables[found.key].returned[at]
        sent += sum(joint.sent[tuple(assignment[v] for v in joint.scope)] for joint in self.joint_sums)
        return float(sent)

    def is_joint(self, found: OutputTransfers) -> bool:
        """True if ``found`` has all readers of its output."""
        return sum((t.node, t.output) == (found.node, found.output) for t in self.transfers) == 1

    def correct(self, found: OutputTransfers, assignment: Assignment, forward: float, backward: float) -> None:
        """Replace the prices of one output in a plan, wherever equal outputs have the same choices."""
        table = self.tables[found.key]
        at = tuple(assignment[v] for v in found.scope)
        if (table.forward[at], table.backward[at]) != (forward, backward):
            made = replace(table, forward=table.forward.copy(), backward=table.backward.copy())
            made.forward[at], made.backward[at] = forward, backward
            self.tables[found.key] = made
            self._versions[found.key] += 1

    def plan_choices(self, assignment: Assignment) -> Mapping[str, CutChoice]:
        """The choice of each layer, by its name."""
        nodes = self.net.nodes
        return {nodes[n].name: self.choices(n)[assignment[self.leaders[n]]] for n in self.variables_of_all()}


def _merge_axes(table: TransferTable, leaders: list[int]) -> TransferTable:
    """``table`` with one axis for each variable, where several layers have the same one."""
    letters = "".join(chr(ord("a") + leaders.index(leader)) for leader in leaders)
    wanted = "".join(dict.fromkeys(letters))
    if letters == wanted:
        return table
    found = (np.einsum(f"{letters}->{wanted}", a) for a in (table.forward, table.backward, table.sent, table.returned))
    return TransferTable(*(np.ascontiguousarray(a) for a in found))
