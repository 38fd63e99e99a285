"""Text of a job that was read with blocks and changed since: the author's, with what has changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netpart.errors import ConfigError, FieldPath, Position
from netpart.proto.blocks.expansion import Expansion, expand_blocks
from netpart.proto.blocks.flat_text import FAR, write_flat_job
from netpart.proto.blocks.folding import FoldedJob, fold_job
from netpart.proto.blocks.source import read_job_source
from netpart.proto.comments import Comments, read_comments
from netpart.proto.job_pb2 import JobProto
from netpart.proto.writer import Notes, PlacedJob, entry_paths, write_placed_job


def write_expanded_job(expansion: Expansion, proto: JobProto, notes: Notes | None = None) -> str:
    """The text of ``proto``, the job of ``expansion`` after changes, with its blocks and the author's comments.

    Where blocks cannot say it, they are written out. ``notes`` are at the layers that are written out; where those of
    instances differ, the text has those of the first.
    """
    if folded := fold_job(expansion, proto):
        text = write_placed_job(_placed_fold(folded, expansion), _folded_notes(folded, proto, notes or {}))
        if _is_text_of(text, proto):
            return text
    return write_flat_job(expansion, proto, notes)


def _is_text_of(text: str, proto: JobProto) -> bool:
    """True if ``text`` reads as ``proto``."""
    try:
        return expand_blocks(read_job_source(text, "", None)).proto == proto
    except ConfigError:
        return False


def _placed_fold(folded: FoldedJob, expansion: Expansion) -> PlacedJob:
    """The layout of the author; blocks of included files precede what is written in the job itself."""
    found: dict[FieldPath, Position] = {}
    comments = Comments()
    entries = entry_paths(folded.proto)
    sources = dict.fromkeys([*(source for source, _ in folded.written), expansion.source])
    for number, source in enumerate(sources):
        own = source is expansion.source
        places = {
            path: Position("", place.line + FAR * number, place.column)
            for path, place in source.positions.items()
            if own or (source, path[:3]) in folded.written
        }
        found |= {folded.path_of(source, path): place for path, place in places.items()}
        starts = {p: source.positions[p] for p in places if folded.path_of(source, p) in entries}
        noted = read_comments(source.text, starts)
        comments.above |= {folded.path_of(source, p): lines for p, lines in noted.above.items() if p or own}
        comments.beside |= {folded.path_of(source, p): text for p, text in noted.beside.items()}
    return PlacedJob(folded.proto, found, comments, folded.unquoted)


def _folded_notes(folded: FoldedJob, proto: JobProto, notes: Notes) -> Mapping[FieldPath, Sequence[str]]:
    """The notes at the layers of ``folded``: those of all instances, or of the first and its name."""
    kept: dict[FieldPath, Sequence[str]] = {path: lines for path, lines in notes.items() if len(path) < 3}
    for path, numbers in folded.numbers.items():
        found = [notes["neuralnet", "layer", n] for n in numbers if ("neuralnet", "layer", n) in notes]
        if found:
            name = proto.neuralnet.layer[numbers[0]].name
            kept[path] = found[0] if all(each == found[0] for each in found) else [f"{name}:", *found[0]]
    return kept
