"""NetBuilder: a job that is written in Python, layer by layer. ``netpart.Net`` is this class."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from netpart.builder.caller import CallerPosition, caller_position
from netpart.builder.field_values import fill_message
from netpart.builder.layer_cuts import Cuts, block_changes, first_cut
from netpart.builder.layer_list import located_errors
from netpart.builder.named_value import NamedValue, value_text
from netpart.builder.nested_layers import NestedLayers
from netpart.builder.packed_text import write_packed_job
from netpart.builder.text_notes import TextNotes
from netpart.builder.traced_block import KnownBlocks
from netpart.data.atomic_file import atomic_file
from netpart.errors import ConfigError, FieldPath, Position
from netpart.proto.blocks.expansion import expand_blocks
from netpart.proto.blocks.placeholders import hide_placeholders
from netpart.proto.blocks.source import read_job_source
from netpart.proto.comments import Comments
from netpart.proto.fields import message_descriptor
from netpart.proto.job_pb2 import JobProto
from netpart.proto.positions import field_positions
from netpart.proto.reader import Job, read_job_text
from netpart.proto.writer import PlacedJob

LAYERS: FieldPath = ("neuralnet", "layer")


class NetBuilder(NestedLayers):
    """A job as it grows: ``fields`` are those of JobProto, and blocks are mappings; ``about`` is the comment above all.

    net = netpart.Net("mlp", train_steps=100, updater={"type": "kSGD", "learning_rate": {...}})
    x = net.synthetic_input(batchsize=8, shape=[64])
    net.softmax_loss(net.inner_product(x, 10, params=[{"init": {"type": "kUniform"}}]), x)
    net.write("job.conf")
    """

    def __init__(self, name: str, *, about: str = "", **fields: Any) -> None:
        super().__init__(KnownBlocks())
        self.name = name
        self._job, self._job_notes = JobProto(), TextNotes()
        self._files: list[str] = []
        self._own_values: dict[str, str] = {}
        self._values: dict[str, str] = {}
        self._place = caller_position()
        if about:
            self._job_notes.comments["name",] = [*(f"# {line}".rstrip() for line in about.split("\n")), ""]
        # The net stands between the fields of training and the cluster.
        last: dict[str, Any] = {key: fields.pop(key) for key in ("neuralnet", "cluster") if key in fields}
        with located_errors(self._place):
            fill_message(self._job, {"name": name, **fields, "neuralnet": {}, **last}, name, self._job_notes)

    def let(self, name: str, value: object) -> NamedValue:
        """Give a value a name in the text, for all layers and blocks; return what stands for it in fields."""
        self._own_values[name] = self._values[name] = value_text(value)
        return NamedValue(name)

    def include(self, file: str, net: NetBuilder) -> None:
        """Use the blocks and values of ``net``, which is written to ``file``: a path relative to the file of this net.

        A block that ``use`` and ``repeat`` make is not written again if ``net`` has it.
        """
        self._files.append(file)
        self.known.included += [each for each in net.known.all if each not in self.known.included]
        self._values = {**self._values, **net._values, **self._own_values}

    def cut(self, fields: Cuts) -> None:
        """Cut the layers, when all are added: ``fields`` of the cut by patterns of names, such as "b*-query".

        Each layer gets those of the first pattern that it matches; those of instances get them as changes.
        """
        place = caller_position()
        instances = self._instance_names()
        with located_errors(place):
            for k, layer in enumerate(self.layers):
                fill_message(
                    layer, first_cut(layer.name, fields) if k not in instances else {}, layer.name, TextNotes()
                )
                for pattern, change in block_changes(layer.name, instances.get(k, ()), fields):
                    made = layer.block_conf.change.add()
                    fill_message(made, {"name": pattern, **change}, layer.name, TextNotes())

    def text(self) -> str:
        """The job as text, with its blocks."""
        return write_packed_job(self._placed(whole=False))

    def job(self) -> Job:
        """The job, as ``netpart.load`` returns it. Errors about a layer name the line that has added it.

        Included files are not read: their nets are known. Raises ConfigError as ``load`` does.
        """
        text = write_packed_job(self._placed(whole=True))
        lines = self._lines(text)
        try:
            job = read_job_text(text, self.name)
        except ConfigError as error:
            for fault in error.faults:
                fault.position = _at_caller(lines, fault.position)
            raise
        paths: list[FieldPath] = [(*LAYERS, k) for k in range(len(job.proto.neuralnet.layer))]
        callers = {path: _at_caller(lines, job.locate(path)) for path in paths}
        return replace(job, overridden={path: place for path, place in callers.items() if place})

    def write(self, path: str | PathLike[str]) -> None:
        """Write the job to the file ``path``. Raises what ``job`` raises, before anything is written."""
        self.job()
        with atomic_file(Path(path)) as file:
            file.write(self.text().encode())

    def _placed(self, whole: bool) -> PlacedJob:
        """The job with its layers and blocks so far; ``whole``: with what it would include."""
        proto, notes = JobProto(), TextNotes()
        proto.CopyFrom(self._job)
        notes.add_below((), self._job_notes)
        proto.neuralnet.include.extend([] if whole else self._files)
        notes.order.append(("neuralnet", "include"))
        for k, (name, value) in enumerate((self._values if whole else self._own_values).items()):
            proto.neuralnet.let.add(name=name, value=value)
            notes.order.append(("neuralnet", "let", k))
        for k, block in enumerate(self.known.all if whole else self.known.own):
            proto.neuralnet.block.append(block.message)
            notes.order.append(("neuralnet", "block", k))
            notes.add_below(("neuralnet", "block", k), block.notes)
        proto.neuralnet.layer.extend(self.layers)
        notes.order += [(*LAYERS, k) for k in range(len(self.layers))]
        notes.add_below(("neuralnet",), self.notes)
        return PlacedJob(proto, notes.positions(), Comments(above=notes.comments), notes.unquoted)

    def _instance_names(self) -> dict[int, Sequence[Sequence[str]]]:
        """By the number of a layer kBlock, the names of the layers in each of its instances."""
        text = write_packed_job(self._placed(whole=True))
        expansion = expand_blocks(read_job_source(text, self.name, None))
        found: dict[int, dict[str, list[str]]] = {}
        for layer, origin in zip(expansion.proto.neuralnet.layer, expansion.origins, strict=True):
            if origin.outermost:
                instances = found.setdefault(int(origin.outermost[-1]), {})
                instances.setdefault(origin.within[1], []).append(layer.name)
        return {number: list(instances.values()) for number, instances in found.items()}

    def _lines(self, text: str) -> list[tuple[int, CallerPosition]]:
        """Lines of ``text``, sorted: those where a layer or another field of the job or net begins, each with the line
        of the program that has added it."""
        found = field_positions(hide_placeholders(text)[0], "", message_descriptor(JobProto))
        places: dict[FieldPath, CallerPosition] = {path: self._place for path in found if len(path) <= 2}
        places |= {(*LAYERS, k): place for k, place in enumerate(self.places)}
        for b, block in enumerate(self.known.all):
            places |= {("neuralnet", "block", b, "layer", k): place for k, place in enumerate(block.places)}
        return sorted(((found[path].line, place) for path, place in places.items()), key=lambda pair: pair[0])


def _at_caller(lines: list[tuple[int, CallerPosition]], position: Position | None) -> Position | None:
    """The line of the program that has added what is at a position in the text; None for None."""
    if position is None:
        return None
    _, place = lines[max(bisect_right(lines, position.line, key=lambda pair: pair[0]) - 1, 0)]
    return replace(place, instance=position.instance)
