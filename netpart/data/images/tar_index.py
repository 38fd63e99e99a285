"""Index of a tar file: the name and the byte range of every regular member."""

from __future__ import annotations

from collections.abc import Iterator
from tarfile import (
    BLKTYPE,
    BLOCKSIZE,
    CHRTYPE,
    DIRTYPE,
    FIFOTYPE,
    GNUTYPE_LONGLINK,
    GNUTYPE_LONGNAME,
    LNKTYPE,
    SOLARIS_XHDTYPE,
    SYMTYPE,
    XHDTYPE,
    HeaderError,
    TarInfo,
)
from typing import NamedTuple

from netpart.data.byte_source import ByteSource, ReadAhead
from netpart.data.signatures import guess_file_kind
from netpart.errors import DataError

LONGEST_NAME = 1 << 16
"""Largest number of bytes of an extended header."""
BODILESS = (LNKTYPE, SYMTYPE, CHRTYPE, BLKTYPE, DIRTYPE, FIFOTYPE)
"""Members without content, whatever their header has as size."""
COPY = "copy the file anew"


class TarMember(NamedTuple):
    """A regular file in a tar file, at the bytes ``start`` to ``stop``."""

    name: str
    start: int
    stop: int


def read_tar_index(file: ByteSource) -> Iterator[TarMember]:
    """Yield the regular members of a tar file (ustar, GNU or pax, not compressed) in order.

    Raises DataError, with the byte, if it is truncated or not a tar file. Python's tarfile would end there without an
    error.
    """
    ahead = ReadAhead(file)
    at = 0
    extended = dict[str, str]()
    while at < file.size:
        block = _header_block(file, ahead, at)
        if not any(block):
            return  # the end of the archive
        header = _parse_tar_header(file, block, at)
        start = at + BLOCKSIZE
        length = 0 if header.type in BODILESS else int(extended.get("size", header.size))
        if not 0 <= length <= file.size - start:
            raise DataError(
                f"{file.path}: byte {at}: expected a member of {length} bytes, got {file.size - start} more; {COPY}"
            )
        if header.type in (GNUTYPE_LONGNAME, GNUTYPE_LONGLINK, XHDTYPE, SOLARIS_XHDTYPE):
            extended |= _extended_header(file, header, start, length)
        else:
            if header.isreg():
                yield TarMember(extended.get("path", header.name), start, start + length)
            extended.clear()
        at = start + -(-length // BLOCKSIZE) * BLOCKSIZE
    # Without the end's block of zeros, members may be missing.
    raise DataError(f"{file.path}: byte {file.size}: expected a header or the end's zeros, got nothing more; {COPY}")


def _header_block(file: ByteSource, ahead: ReadAhead, at: int) -> bytes:
    """The block of a header at byte ``at``."""
    if file.size < BLOCKSIZE:
        raise DataError(f"{file.path}: expected a tar file, got one of {file.size} bytes; make a tar file")
    if file.size - at < BLOCKSIZE:
        place = f"{file.path}: byte {at}"
        raise DataError(f"{place}: expected a header of {BLOCKSIZE} bytes, got {file.size - at}; {COPY}")
    return ahead.read(at, BLOCKSIZE)


def _parse_tar_header(file: ByteSource, block: bytes, at: int) -> TarInfo:
    try:
        return TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (HeaderError, ValueError, OverflowError) as error:
        kind, _ = guess_file_kind(block)
        if at == 0:
            got = kind or repr(block[:16])
            hint = "tar files are not compressed: unpack it with gunzip" if "gzip" in kind else "make a tar file"
            raise DataError(f"{file.path}: expected a tar file, got {got}; {hint}") from error
        raise DataError(f"{file.path}: byte {at}: expected the header of a member, got {error}; {COPY}") from error


def _extended_header(file: ByteSource, header: TarInfo, start: int, length: int) -> dict[str, str]:
    """What an extended header says of the next member: its ``path``, and its ``size`` if it is a whole number."""
    if length > LONGEST_NAME:
        wanted = f"an extended header of at most {LONGEST_NAME} bytes"
        raise DataError(f"{file.path}: byte {start}: expected {wanted}, got {length}; make the tar file anew")
    content = file.read(start, start + length)
    if header.type == GNUTYPE_LONGNAME:
        return {"path": content.rstrip(b"\0").decode("utf-8", "surrogateescape")}
    if header.type == GNUTYPE_LONGLINK:
        return {}
    return dict(_pax_records(content))


def _pax_records(content: bytes) -> Iterator[tuple[str, str]]:
    """The records ``LENGTH KEY=VALUE\\n`` of a pax header that matter here: path and size."""
    while content:
        digits, _, _ = content[:20].partition(b" ")
        length = int(digits) if digits.isdigit() else 0
        key, equals, value = content[len(digits) + 1 : max(0, length - 1)].partition(b"=")
        if not length or not equals:
            return
        if key == b"path" or (key == b"size" and value.isdigit() and len(value) <= 18):
            yield key.decode(), value.decode("utf-8", "surrogateescape")
        content = content[length:]
