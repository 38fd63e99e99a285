"""Text of a job with its blocks written out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from netpart.errors import FieldPath, Position
from netpart.proto.blocks.expansion import BLOCKS, Expansion
from netpart.proto.blocks.source import JobSource, layer_path
from netpart.proto.comments import Comments
from netpart.proto.job_pb2 import JobProto
from netpart.proto.writer import Notes, PlacedJob, write_placed_job, written_comments

FAR = 1 << 32
"""More than the lines of any text: the lines of layer number n are counted from n + 1 times this."""
LAYERS: FieldPath = ("neuralnet", "layer")


def write_flat_job(expansion: Expansion, proto: JobProto, notes: Notes | None = None) -> str:
    """The text of ``proto``, the job of ``expansion`` or what options made of it, without blocks.

    Fields have the order of the text in which they are written. Comments are kept: those of a block at its first
    instance.
    """
    layout = PlacedJob(proto, dict(_flat_positions(expansion)), _flat_comments(expansion))
    return write_placed_job(layout, notes or {})


def _flat_positions(expansion: Expansion) -> Iterator[tuple[FieldPath, Position]]:
    """The position of each field, the lines of a layer after those of the layers before it."""
    written: dict[JobSource, dict[FieldPath, list[tuple[FieldPath, Position]]]] = {}
    yield from ((path, place) for path, place in expansion.source.positions.items() if _is_kept(path))
    for number, origin in enumerate(expansion.origins):
        source = origin.template.source
        if source not in written:
            written[source] = _positions_by_layer(source)
        for rest, place in written[source].get(origin.template.at, ()):
            yield (*LAYERS, number, *rest), Position("", place.line + FAR * (number + 1), place.column)


def _positions_by_layer(source: JobSource) -> dict[FieldPath, list[tuple[FieldPath, Position]]]:
    """The positions of the fields of each layer, by its path and theirs within it."""
    found: dict[FieldPath, list[tuple[FieldPath, Position]]] = {}
    for path, place in source.positions.items():
        owner = layer_path(path)
        found.setdefault(owner, []).append((path[len(owner) :], place))
    return found


def _flat_comments(expansion: Expansion) -> Comments:
    """The comments of all files, at the fields of the layers that are written out."""
    comments = Comments()
    first = _first_instances(expansion)
    for source in dict.fromkeys([expansion.source, *(source for source, _ in first)]):
        own = written_comments(source.proto, source.text, source.positions)
        for path, above in own.above.items():
            if (here := _flat_path(expansion, first, source, path)) is not None:
                comments.above.setdefault(here, []).extend(above)
        for path, beside in own.beside.items():
            if (here := _flat_path(expansion, first, source, path)) is not None:
                comments.beside.setdefault(here, beside)
    return comments


def _first_instances(expansion: Expansion) -> Mapping[tuple[JobSource, FieldPath], int]:
    """The number of the first layer that is written at each path of a source; a block is written at its layers."""
    found: dict[tuple[JobSource, FieldPath], int] = {}
    for number, origin in enumerate(expansion.origins):
        at = origin.template.at
        for path in (at, at[:3]):
            found.setdefault((origin.template.source, path), number)
    return found


def _flat_path(
    expansion: Expansion, first: Mapping[tuple[JobSource, FieldPath], int], source: JobSource, path: FieldPath
) -> FieldPath | None:
    """Where the comment at ``path`` of ``source`` belongs; None for one that has no place."""
    owner = layer_path(path) or path[:3]
    if (source, owner) in first:
        return (*LAYERS, first[source, owner], *path[len(owner) :])
    return path if source is expansion.source and _is_kept(path) else None


def _is_kept(path: Iterable[str | int]) -> bool:
    """True for a field that is outside of all layers and blocks."""
    return [*path][:2] not in [["neuralnet", name] for name in ("layer", *BLOCKS)]
