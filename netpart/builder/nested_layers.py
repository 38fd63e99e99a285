"""NestedLayers: a list of layers that may use blocks, once or repeatedly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar, cast

from netpart.builder.caller import CallerPosition, caller_position
from netpart.builder.layer_list import LayerHandle, LayerList, located_errors
from netpart.builder.named_value import value_text
from netpart.builder.traced_block import KnownBlocks, output_names, trace_block
from netpart.errors import ConfigError
from netpart.proto.job_pb2 import LayerBlockProto

Result = TypeVar("Result", bound=LayerHandle | tuple[LayerHandle, ...])
"""What a function that makes a block returns: the layer, or the layers, that others may read."""


@dataclass(frozen=True)
class BlockUse:
    """A layer kBlock: its name, its instances (None: one, which has this name), and the values in them."""

    name: str
    times: int | None
    first: int
    values: Mapping[str, Any]

    @property
    def last_instance(self) -> str:
        """The name of the last instance."""
        return self.name if self.times is None else f"{self.name}{self.first + self.times - 1}"

    def conf(self, block: str) -> dict[str, Any]:
        """Its block_conf, as a mapping of fields."""
        lets = [{"name": name, "value": value_text(value)} for name, value in self.values.items()]
        return {"of": block, "times": self.times, "first": self.first if self.first != 1 else None, "let": lets}


class NestedLayers(LayerList):
    """Layers of a net or a block, and blocks among them; ``known`` are the blocks of the net."""

    def __init__(self, known: KnownBlocks) -> None:
        super().__init__()
        self.known = known

    def use(
        self, block: Callable[..., Result], *inputs: LayerHandle, name: str | None = None, of: str | None = None,
        **values: Any,
    ) -> Result:  # fmt: skip
        """Add one instance of a block, called ``name``, which reads ``inputs``.

        ``block`` is called with a list of layers to add to, a handle for each input, and a placeholder for each of
        ``values``; it returns the layer, or a tuple of the layers, that others may read. What it adds becomes a block
        of the text, called ``of`` or else as the function, and written once if other uses are equal.
        """
        return self._add_uses(block, inputs, of, name, None, 1, values)

    def repeat(
        self, times: int, block: Callable[..., Result], *inputs: LayerHandle, name: str | None = None,
        of: str | None = None, first: int = 1, **values: Any,
    ) -> Result:  # fmt: skip
        """Add ``times`` instances of a block, each of which reads the one before, and the first one ``inputs``.

        The instances are called ``name`` and a number, from ``first`` on. A list among ``values`` has a value for each
        instance. What the last instance returns is returned, or without an instance the inputs. The rest is as in
        ``use``.
        """
        return self._add_uses(block, inputs, of, name, times, first, values)

    def _add_uses(
        self, block: Callable[..., Result], inputs: Sequence[LayerHandle], of: str | None, name: str | None,
        times: int | None, first: int, values: Mapping[str, Any],
    ) -> Result:  # fmt: skip
        """Add the layers kBlock for instances of a block; return the handles of the last."""
        place = caller_position()
        with located_errors(place):
            traced = trace_block(NestedLayers(self.known), block, of, len(inputs), values)
            taken = name or self._free_use_name(traced.message.name, times, first)
            made = self.known.keep(traced)
            self.names |= _use_names(taken, times, first)
            outputs = list(inputs[: len(made.output)])
            for use in _uses(taken, times, first, values):
                outputs = self._add_use(use, made, [*outputs, *inputs[len(outputs) :]], place)
            # A block with one output returns a handle, one with several a tuple of them.
            return cast(Result, outputs[0] if len(made.output) == 1 else tuple(outputs))

    def _add_use(
        self, use: BlockUse, block: LayerBlockProto, sources: Sequence[LayerHandle], place: CallerPosition
    ) -> list[LayerHandle]:
        """Add one layer kBlock; return the handles of its outputs."""
        added = self._add_filled(use.name, "kBlock", sources, {"block_conf": use.conf(block.name)}, place)
        if len(block.output) == 1:
            return [added]
        return [LayerHandle(name, self) for name in output_names(block.output, use.last_instance)]

    def _free_use_name(self, stem: str, times: int | None, first: int) -> str:
        """``stem``, or it with the first number of which no layer and no instance has the name."""
        tried = (stem if number == 1 else f"{stem}_{number}" for number in count(1))
        return next(name for name in tried if not _use_names(name, times, first) & self.names)


def _use_names(name: str, times: int | None, first: int) -> set[str]:
    """The names of a layer kBlock and of its instances."""
    return {name, *(f"{name}{number}" for number in range(first, first + (times or 0)))}


def _uses(name: str, times: int | None, first: int, values: Mapping[str, Any]) -> Iterator[BlockUse]:
    """The layers kBlock for ``times`` instances: one, or one for each instance if a value is a list."""
    lists = {key: value for key, value in values.items() if isinstance(value, Sequence) and not isinstance(value, str)}
    for key, value in lists.items():
        if len(value) != times:
            expected = f"a value of {key} for each of {times} instances" if times is not None else f"one value of {key}"
            raise ConfigError(name, expected, str(len(value)), "pass a list as long as the number of instances")
    if not lists:
        yield from [BlockUse(name, times, first, values)] * (times != 0)
        return
    for k in range(times or 0):
        given = {key: value[k] if key in lists else value for key, value in values.items()}
        yield BlockUse(f"{name}{first + k}", None, 1, given)
