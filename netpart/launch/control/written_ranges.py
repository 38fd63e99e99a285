"""What a worker has written into the files of a checkpoint, as the coordinator hears of it: see ``WrittenRange``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from netpart.checkpoint.checksums import WrittenRange
from netpart.proto.control_pb2 import CheckpointProto


def pack_written(message: CheckpointProto, written: Mapping[str, Iterable[WrittenRange]], updater: bool) -> None:
    """Add what was ``written`` of each tensor of a file to ``message``; ``updater``: the file with that state."""
    for name, ranges in written.items():
        for start, nbytes, checksum, finite in ranges:
            message.written.add(
                name=name, updater=updater, start=start, count=nbytes, crc32=checksum, finite=finite
            )  # fmt: skip


def unpack_written(message: CheckpointProto) -> Iterator[tuple[bool, str, WrittenRange]]:
    """The inverse: for each range whether it is of the updater's file, the tensor, and the range."""
    for each in message.written:
        yield each.updater, each.name, WrittenRange(each.start, each.count, each.crc32, each.finite)
