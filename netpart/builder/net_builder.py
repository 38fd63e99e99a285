"""NetBuilder: a job that is written in Python, layer by layer. ``netpart.Net`` is this class."""

from __future__ import annotations

import inspect
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from os import PathLike
from pathlib import Path
from typing import Any

from netpart.builder.caller import CallerPosition, caller_position
from netpart.builder.field_values import fill_message
from netpart.builder.layer_list import LayerHandle, LayerList, located_errors
from netpart.builder.person_order import person_positions
from netpart.data.atomic_file import atomic_file
from netpart.errors import ConfigError, FieldPath, Position
from netpart.proto.comments import Comments
from netpart.proto.fields import message_descriptor
from netpart.proto.job_pb2 import BlockUseProto, JobProto, LayerBlockProto, LayerProto, LayerType
from netpart.proto.positions import field_positions
from netpart.proto.reader import Job, read_job_text
from netpart.proto.writer import PlacedJob, write_placed_job

BlockFunction = Callable[..., LayerHandle]
"""Function of a LayerList and input layers that adds layers and returns the one that others may read."""


class NetBuilder(LayerList):
    """A job as it grows: ``fields`` are those of JobProto, and blocks are mappings.

    net = netpart.Net("mlp", train_steps=100, updater={"type": "kSGD", "learning_rate": {...}})
    x = net.synthetic_input(batchsize=8, shape=[64])
    net.softmax_loss(net.inner_product(x, num_output=10, params=[{"init": {"type": "kUniform"}}]), x)
    net.write("job.conf")
    """

    def __init__(self, name: str, **fields: Any) -> None:
        super().__init__()
        self._job = JobProto(name=name)
        self._blocks: list[LayerBlockProto] = []
        self._block_places: list[list[CallerPosition]] = []
        self._place = caller_position()
        with located_errors(self._place):
            fill_message(self._job, fields, name)

    def repeat(self, times: int, block: BlockFunction, *inputs: LayerHandle, name: str | None = None) -> LayerHandle:
        """Add ``times`` instances of a block, each of which reads the one before, and the first one ``inputs``.

        ``block`` is called once, with the layers of the block and a handle for each input: it adds the layers of one
        instance and returns the last. The block has the name of the function, and its inputs those of its arguments.
        """
        place = caller_position()
        with located_errors(place):
            made, places = _trace_block(block, len(inputs))
            use = BlockUseProto(of=self._keep_block(made, places))
            if times != 1:
                use.times = times
            taken = name or self._free_instance_name(block.__name__, times)
            sources = [self._source_name(source, taken) for source in inputs]
            layer = LayerProto(name=taken, type=LayerType.kBlock, srclayers=sources, block_conf=use)
            self.names |= _use_names(taken, times)
            return self._append(layer, place)

    def text(self) -> str:
        """The job as text, with its blocks."""
        proto = self._proto()
        return write_placed_job(PlacedJob(proto, person_positions(proto), Comments()), {})

    def job(self) -> Job:
        """The job, as ``netpart.load`` returns it. Errors about a layer name the line that has added it.

        Raises ConfigError as ``load`` does.
        """
        text = self.text()
        lines = self._lines(text)
        try:
            job = read_job_text(text, self._job.name)
        except ConfigError as error:
            for fault in error.faults:
                fault.position = _at_caller(lines, fault.position)
            raise
        paths: list[FieldPath] = [("neuralnet", "layer", k) for k in range(len(job.proto.neuralnet.layer))]
        callers = {path: _at_caller(lines, job.locate(path)) for path in paths}
        return replace(job, overridden={path: place for path, place in callers.items() if place})

    def write(self, path: str | PathLike[str]) -> None:
        """Write the job to the file ``path``. Raises what ``job`` raises, before anything is written."""
        text = self.job().text
        with atomic_file(Path(path)) as file:
            file.write(text.encode())

    def _proto(self) -> JobProto:
        """The job with the layers and blocks so far."""
        proto = JobProto()
        proto.CopyFrom(self._job)
        proto.neuralnet.block.extend(self._blocks)
        proto.neuralnet.layer.extend(self.layers)
        return proto

    def _free_instance_name(self, stem: str, times: int) -> str:
        """``stem``, or it with the first number of which no layer and no instance has the name."""
        tried = (stem if number == 1 else f"{stem}_{number}" for number in count(1))
        return next(name for name in tried if not _use_names(name, times) & self.names)

    def _keep_block(self, made: LayerBlockProto, places: list[CallerPosition]) -> str:
        """Return the name of a block equal to ``made``, and add ``made`` if there is none.

        A block is named after its function; a number is appended if another block has that name.
        """
        stem, number = made.name, 1
        for known in self._blocks:
            if known.name == made.name:
                if known == made:
                    return made.name
                number += 1
                made.name = f"{stem}{number}"
        self._blocks.append(made)
        self._block_places.append(places)
        return made.name

    def _lines(self, text: str) -> list[tuple[int, CallerPosition]]:
        """Lines of ``text``, sorted: those where a layer or another field of the job or net begins, each with the line
        of the program that has added it."""
        found = field_positions(text, "", message_descriptor(JobProto))
        places: dict[FieldPath, CallerPosition] = {path: self._place for path in found if len(path) <= 2}
        places |= {("neuralnet", "layer", k): place for k, place in enumerate(self.places)}
        for b, of_block in enumerate(self._block_places):
            places |= {("neuralnet", "block", b, "layer", k): place for k, place in enumerate(of_block)}
        return sorted(((found[path].line, place) for path, place in places.items()), key=lambda pair: pair[0])


def _use_names(name: str, times: int) -> set[str]:
    """The names of a layer kBlock and of its instances."""
    return {name, *(f"{name}{number}" for number in range(1, times + 1) if times > 1)}


def _trace_block(block: BlockFunction, sources: int) -> tuple[LayerBlockProto, list[CallerPosition]]:
    """The block that ``block`` adds layers to, and the lines that add them. Raises ConfigError for wrong arguments."""
    names = list(inspect.signature(block).parameters)[1:]
    who = block.__name__
    if len(names) != sources:
        raise ConfigError(who, f"{len(names)} inputs", str(sources), "pass a layer for each argument of the function")
    inside = LayerList()
    inside.names |= set(names)
    last = block(inside, *(LayerHandle(name, inside) for name in names))
    if not isinstance(last, LayerHandle) or last.owner is not inside:
        raise ConfigError(who, "a layer of the block as its result", repr(last), "return the last layer")
    return LayerBlockProto(name=who, input=names, output=[last.name], layer=inside.layers), inside.places


def _at_caller(lines: list[tuple[int, CallerPosition]], position: Position | None) -> Position | None:
    """The line of the program that has added what is at a position in the text; None for None."""
    if position is None:
        return None
    _, place = lines[max(bisect_right(lines, position.line, key=lambda pair: pair[0]) - 1, 0)]
    return replace(place, instance=position.instance)
