"""Folding: a job that was written out, and changed since, as a job with the blocks that it was read with."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from netpart.errors import FieldPath
from netpart.proto.blocks.changes import NOT_CHANGED
from netpart.proto.blocks.expansion import Expansion, expand_blocks
from netpart.proto.blocks.layer_difference import Difference, field_value, layer_difference, write_field
from netpart.proto.blocks.origin import Origin
from netpart.proto.blocks.placeholders import set_at
from netpart.proto.blocks.source import JobSource
from netpart.proto.job_pb2 import JobProto, LayerProto
from netpart.proto.name_patterns import matching_names


@dataclass
class FoldedJob:
    """A job with blocks in one text: those of included files are its own.

    ``unquoted`` has the placeholders in place of values, by the paths of their fields. ``written`` has the path of each
    layer or block of a source here, and ``numbers`` those of the layers that are written out, by the path of theirs.
    """

    proto: JobProto
    unquoted: dict[FieldPath, str] = field(default_factory=dict)
    written: dict[tuple[JobSource, FieldPath], FieldPath] = field(default_factory=dict)
    numbers: dict[FieldPath, list[int]] = field(default_factory=lambda: defaultdict(list))

    def path_of(self, source: JobSource, path: FieldPath) -> FieldPath:
        """Where the field ``path`` of ``source`` is in this job."""
        block = self.written.get((source, path[:3]))
        return (*block, *path[3:]) if block else path

    def layer(self, path: FieldPath) -> LayerProto:
        """The layer at ``path``, of the net or of a block."""
        net = self.proto.neuralnet
        return net.layer[int(path[2])] if len(path) == 3 else net.block[int(path[2])].layer[int(path[4])]


def fold_job(expansion: Expansion, proto: JobProto) -> FoldedJob | None:
    """``proto``, the job of ``expansion`` after changes, with its blocks; None if blocks cannot say it.

    Fields that all instances of a layer have are written in the block; those that differ in changes.
    """
    folded = _merged_sources(expansion, proto)
    plain = _unchanged_layers(expansion)
    if len(plain) != len(proto.neuralnet.layer):
        return None
    for number, origin in enumerate(expansion.origins):
        folded.numbers[folded.path_of(origin.template.source, origin.template.at)].append(number)
    left: dict[int, Difference] = {}
    for path, numbers in folded.numbers.items():
        found = {n: layer_difference(plain[n], proto.neuralnet.layer[n]) for n in numbers}
        if any(name in NOT_CHANGED for each in found.values() for name in each):
            return None
        for n, rest in _fold_layer(folded, path, found, proto).items():
            left[n] = rest
    _write_changes(folded, expansion, proto, {n: rest for n, rest in left.items() if rest})
    return folded


def _merged_sources(expansion: Expansion, proto: JobProto) -> FoldedJob:
    """The fields of ``proto`` outside of layers, and the layers and blocks of all sources, without changes."""
    source, library = expansion.source, expansion.library
    folded = FoldedJob(JobProto())
    folded.proto.CopyFrom(proto)
    net = folded.proto.neuralnet
    del net.layer[:]
    own = {let.name for let in source.proto.neuralnet.let}
    for name, value in library.values.items():
        if name not in own:
            net.let.add(name=name, value=value)
    net.let.extend(source.proto.neuralnet.let)
    for number, block in enumerate(library.blocks.values()):
        folded.written[block.library.source, block.at] = ("neuralnet", "block", number)
        net.block.add().CopyFrom(block.message)
    net.layer.extend(source.proto.neuralnet.layer)
    for layer in [*net.layer, *(layer for block in net.block for layer in block.layer)]:
        if layer.HasField("block_conf"):
            del layer.block_conf.change[:]
    _keep_placeholders(folded, expansion, proto)
    return folded


def _keep_placeholders(folded: FoldedJob, expansion: Expansion, proto: JobProto) -> None:
    """Keep the placeholders of all layers, and outside of them those whose values have not changed."""
    sources = dict.fromkeys([expansion.source, *(block.library.source for block in expansion.library.blocks.values())])
    for source in sources:
        for owner, texts in source.unquoted_by_owner.items():
            if owner and (source is expansion.source or (source, owner[:3]) in folded.written):
                folded.unquoted |= {folded.path_of(source, path): text for path, text in texts.items()}
    before = expansion.rest.fill(expansion.library.values)
    for path, text in expansion.rest.holes:
        if _value_at(proto, path) == _value_at(before, path):
            if path in expansion.source.unquoted:
                folded.unquoted[path] = text
            else:
                set_at(folded.proto, path, text)


def _value_at(message: Any, path: FieldPath) -> Any:
    """The value at ``path``; None if a list on it is too short."""
    for step in path:
        if isinstance(step, int) and step >= len(message):
            return None
        message = message[step] if isinstance(step, int) else getattr(message, step)
    return message


def _unchanged_layers(expansion: Expansion) -> Sequence[LayerProto]:
    """The layers of the job as it is written out without any changes of its layers kBlock."""
    return expand_blocks(expansion.source, changed=False).proto.neuralnet.layer


def _fold_layer(
    folded: FoldedJob, path: FieldPath, found: Mapping[int, Difference], proto: JobProto
) -> dict[int, Difference]:
    """Write the fields that instances of one layer have into that layer; return what each has besides."""
    layer, left = folded.layer(path), dict[int, Difference]()
    alone = len(path) == 3
    for name in sorted({name for each in found.values() for name in each}):
        values = {n: field_value(proto.neuralnet.layer[n], name) for n in found}
        base = _common_value(layer, name, list(values.values()), alone)
        write_field(layer, name, base)
        for known in [known for known in folded.unquoted if known[: len(path) + 1] == (*path, name)]:
            del folded.unquoted[known]
        for n, value in values.items():
            if value != base:
                left.setdefault(n, {})[name] = value
    return left


def _common_value(layer: LayerProto, name: str, values: list[Any], alone: bool) -> Any:
    """The value to write in the layer: that of most instances; none if one instance has none, as no change clears it.

    Parameters of blocks have names that belong to an instance: they are written in changes.
    """
    if name == "param" and not alone:
        return None
    if any(value is None for value in values):
        return None
    most = Counter(map(str, values)).most_common(1)[0][0]
    return next(value for value in values if str(value) == most)


def _write_changes(folded: FoldedJob, expansion: Expansion, proto: JobProto, left: Mapping[int, Difference]) -> None:
    """Write what instances have besides as changes of the outermost layer kBlock."""
    by_use: dict[FieldPath, list[int]] = {}
    for number, origin in enumerate(expansion.origins):
        if origin.outermost:
            by_use.setdefault(origin.outermost, []).append(number)
    for use, numbers in by_use.items():
        for pattern, rest in _patterns(expansion.origins, proto, numbers, left):
            change = folded.layer(use).block_conf.change.add(name=pattern)
            for name, value in rest.items():
                write_field(change, name, value)


def _patterns(
    origins: Sequence[Origin], proto: JobProto, numbers: Sequence[int], left: Mapping[int, Difference]
) -> Iterator[tuple[str, Difference]]:
    """The changes of the layers ``numbers`` of one layer kBlock: one of an instance whose layers are all alike."""
    names = {n: proto.neuralnet.layer[n].name for n in numbers}
    by_instance: dict[str, list[int]] = {}
    for n in numbers:
        by_instance.setdefault(origins[n].within[1], []).append(n)
    for instance, members in by_instance.items():
        rests = [left.get(n, {}) for n in members]
        pattern = f"{instance}-*"
        alike = rests[0] and len(members) > 1 and all(rest == rests[0] for rest in rests)
        if alike and matching_names(pattern, names.values()) == [names[n] for n in members]:
            yield pattern, rests[0]
            continue
        yield from ((names[n], left[n]) for n in members if n in left)
