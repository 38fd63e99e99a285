"""Layer tables: the choices of all layers of a net, and what each costs by itself. Layers of one kind share tables."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property

from netpart.graph.net import Net
from netpart.plan.optimal.choice_arrays import ChoiceArrays
from netpart.plan.optimal.cut_choices import CutChoice, choice_placement, group_meshes, layer_choices
from netpart.plan.optimal.layer_kinds import LayerKind, planned_layer_kind, tied_layers
from netpart.plan.optimal.layer_prices import PricedLayer, price_layer
from netpart.plan.optimal.price_setting import PriceSetting
from netpart.plan.optimal.shared_sums import shared_parameters
from netpart.spec import RECORD

WorkerGroup = tuple[int, ...]
"""Workers that may compute a layer."""


class LayerTables:
    """The choices of the layers of ``net``. A variable is a node whose choice is its own: the first of some tied
    nodes. ``leaders`` has by node the variable that it follows. ``last`` is the first node that learns, whose gradients
    no backward pass hides. Node n is computed by workers of ``groups[n]``; without groups, by any."""

    def __init__(self, net: Net, setting: PriceSetting, groups: Sequence[WorkerGroup] = ()) -> None:
        self.net, self.setting = net, setting
        self.groups = groups or (tuple(range(len(setting.devices))),) * len(net.nodes)
        self.shared = shared_parameters(net)
        kinds = (planned_layer_kind(net, node, setting.rates.get(node.name, 1.0), self.shared) for node in net.nodes)
        self.kinds = [(*kind, group) for kind, group in zip(kinds, self.groups, strict=True)]
        self.leaders = tied_layers(net, self.kinds)
        learning = (n.index for n in net.nodes if net.trained[n.index] and not all(s.read_only for s in n.layer.params))
        self.last = next(learning, -1)
        # Records go where their readers are.
        self._placed = [node.index for node in net.nodes if node.layer.output.dtype != RECORD]
        self._meshes = {group: group_meshes(setting.devices, group) for group in dict.fromkeys(self.groups)}
        self._choices: dict[LayerKind, list[CutChoice]] = {}
        self._arrays: dict[tuple[LayerKind, LayerKind], ChoiceArrays] = {}
        self._priced: dict[tuple[LayerKind, LayerKind], PricedLayer] = {}

    @cached_property
    def variables(self) -> list[int]:
        """The nodes whose choices are their own."""
        return list(dict.fromkeys(self.leaders[n] for n in self._placed))

    @cached_property
    def sizes(self) -> dict[int, int]:
        """The number of choices of each variable."""
        return {v: len(self.choices(v)) for v in self.variables}

    def restricted(self, kept: Mapping[LayerKind, Sequence[int]]) -> LayerTables:
        """The same layers with only the choices ``kept``, by the kind of the variable."""
        found = copy(self)
        found._choices = {kind: [self._choices[kind][c] for c in chosen] for kind, chosen in kept.items()}
        found._arrays, found._priced = {}, {}
        found.__dict__.pop("sizes", None)
        return found

    def part(self, nodes: Container[int]) -> LayerTables:
        """The tables of some ``nodes`` alone. What is known of a kind of layers is known to both."""
        found = copy(self)
        found._placed = [n for n in self._placed if n in nodes]
        for known in ("variables", "sizes"):
            found.__dict__.pop(known, None)
        return found

    def placed_nodes(self) -> Iterator[int]:
        """All nodes that are placed by choice, also tied ones."""
        return iter(self._placed)

    def kind_pair(self, n: int) -> tuple[LayerKind, LayerKind]:
        """What the tables of node ``n`` depend on: its kind, and that of its variable."""
        return self.kinds[n], self.kinds[self.leaders[n]]

    def choices(self, n: int) -> list[CutChoice]:
        """The choices of node ``n``: those of its variable."""
        leader = self.leaders[n]
        kind = self.kinds[leader]
        if kind not in self._choices:
            self._choices[kind] = layer_choices(self.net.nodes[leader], self._meshes[self.groups[leader]])
        return self._choices[kind]

    def arrays(self, n: int) -> ChoiceArrays:
        """The choices of node ``n`` as arrays."""
        key = self.kind_pair(n)
        if key not in self._arrays:
            placements = [choice_placement(self.net.nodes[n], choice) for choice in self.choices(n)]
            self._arrays[key] = ChoiceArrays(self.net.nodes[n], placements, len(self.setting.devices))
        return self._arrays[key]

    def priced(self, n: int) -> PricedLayer:
        """The prices of the choices of node ``n``."""
        key = self.kind_pair(n)
        if key not in self._priced:
            self._priced[key] = price_layer(self.net, self.arrays(n), self.setting, self.shared)
        return self._priced[key]
