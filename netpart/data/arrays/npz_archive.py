"""Arrays of an .npz archive, which is a zip file with one .npy file per array (numpy.savez)."""

from __future__ import annotations

import struct
import zlib
from zipfile import ZIP_STORED, BadZipFile, LargeZipFile, ZipFile, ZipInfo

from netpart.data.arrays.numpy_header import open_npy_array
from netpart.data.arrays.row_array import HeldBytes, RowArray
from netpart.data.open_bytes import open_bytes, open_stream
from netpart.data.remote.url_path import DataPath
from netpart.errors import DataError
from netpart.units import bytes_text

ENDING = ".npy"
MOST = 1 << 30
"""Largest number of bytes of a compressed array: it is unpacked into the memory of each worker."""
_LOCAL = struct.Struct("<4s22xHH")
"""The header before the content of a member: signature, ..., lengths of its name and of its extra field."""
_SIGNATURE = b"PK\x03\x04"
_BROKEN = (BadZipFile, LargeZipFile, RuntimeError, ValueError, EOFError, zlib.error, OSError)
"""What zipfile raises for damaged archives, and for kinds of compression that it lacks (NotImplementedError)."""


def npz_names(path: DataPath) -> list[str]:
    """The names of the arrays of an archive, in its order. Raises DataError if it cannot be read as one."""
    return [info.filename.removesuffix(ENDING) for info in _members(path)]


def open_npz_array(path: DataPath, name: str) -> RowArray:
    """Open the array ``name``, which the archive has. A compressed one is unpacked at once."""
    (info,) = [info for info in _members(path) if info.filename == name + ENDING][-1:]
    place = f"{path}: {name}"
    if info.flag_bits & 1:
        raise DataError(f"{place}: expected an array, got an encrypted member; save it with numpy.savez")
    if info.compress_type == ZIP_STORED:
        return _open_stored(path, info, place)
    if info.file_size > MOST:
        got = f"{bytes_text(info.file_size)} compressed"
        raise DataError(f"{place}: expected at most {bytes_text(MOST)} if compressed, got {got}; use numpy.savez")
    return open_npy_array(HeldBytes(_unpacked(path, info, place)), place)


def _members(path: DataPath) -> list[ZipInfo]:
    """The members of an archive that are arrays."""
    try:
        with open_stream(path) as file, ZipFile(file) as archive:
            return [info for info in archive.infolist() if info.filename.endswith(ENDING)]
    except _BROKEN as error:
        raise _broken_archive(str(path), error) from error


def _open_stored(path: DataPath, info: ZipInfo, place: str) -> RowArray:
    """Open a member that is not compressed: its bytes lie in the archive as they are."""
    file = open_bytes(path)
    header = file.read(info.header_offset, min(info.header_offset + _LOCAL.size, file.size))
    if len(header) < _LOCAL.size or not header.startswith(_SIGNATURE):
        raise DataError(f"{place}: expected a member of a zip file, got other bytes; save it anew")
    _, name, extra = _LOCAL.unpack(header)
    start = info.header_offset + _LOCAL.size + name + extra
    return open_npy_array(file, place, start, min(start + info.file_size, file.size))


def _unpacked(path: DataPath, info: ZipInfo, place: str) -> bytes:
    """The content of a compressed member, whose checksum is compared."""
    try:
        with open_stream(path) as file, ZipFile(file) as archive, archive.open(info) as member:
            # At most what the archive claims, and no more: a few bytes can unpack to any number.
            return member.read(info.file_size)
    except _BROKEN as error:
        raise _broken_archive(place, error) from error


def _broken_archive(place: str, error: Exception) -> DataError:
    return DataError(f"{place}: expected an archive of arrays (.npz), got {str(error)[:100]}; save it with numpy.savez")
