"""Opening of an array by the file's first bytes: .npy, .npz or HDF5."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from netpart.data.arrays.hdf5_file import MAGIC as HDF5
from netpart.data.arrays.hdf5_file import hdf5_names, open_hdf5_array
from netpart.data.arrays.npz_archive import npz_names, open_npz_array
from netpart.data.arrays.numpy_header import open_npy_array
from netpart.data.arrays.row_array import RowArray
from netpart.data.open_bytes import open_data_file
from netpart.data.remote.url_path import DataPath, UrlPath
from netpart.errors import DataError

ZIP = b"PK\x03\x04"
CONTAINERS: dict[bytes, tuple[Callable[[DataPath], list[str]], Callable[[DataPath, str], RowArray]]] = {
    ZIP: (npz_names, open_npz_array),
    HDF5: (hdf5_names, open_hdf5_array),
}
"""First bytes of files with several arrays -> their names, and the opener of one."""
HINT = "correct the path, or save the array with numpy.save"
URL_HINT = "correct the URL, or copy the array there anew"


def open_array(path: DataPath, name: str = "", others: Sequence[str] = (), field: str = "data") -> RowArray:
    """Open the array ``name`` of the file at ``path``; without a name the only one, apart from ``others``.

    ``field`` is the field of array_conf that gives the name. Raises DataError if there is no such array.
    """
    file = open_data_file(path, "a file with an array", "an array", URL_HINT if isinstance(path, UrlPath) else HINT)
    head = file.read(0, min(file.size, len(HDF5)))
    for magic, (names, opened) in CONTAINERS.items():
        if head.startswith(magic):
            return opened(path, _choose_name(path, names(path), name, others, field))
    if name:
        raise DataError(f"{path}: expected an .npz or HDF5 file with {name!r}, got another file; omit {field}")
    return open_npy_array(file, str(path))


def _choose_name(path: DataPath, names: list[str], name: str, others: Sequence[str], field: str) -> str:
    """Return ``name`` if the file has it; without a name, the only array that is not among ``others``."""
    found = [name] if name in names else [each for each in names if each not in others and not name]
    if len(found) != 1:
        wanted = repr(name) if name else "one array"
        listed = ", ".join(names[:20]) or "none"
        raise DataError(f"{path}: expected {wanted}, got the arrays {listed}; name one of them as {field}")
    return found[0]
