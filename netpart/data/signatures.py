"""File kinds by their first bytes, so that the error of a wrong reader can name the right one."""

from __future__ import annotations

import codecs

RECORDS = "images become records of a kvfile with `netpart data images`; kImageInput reads them as they are"
ARRAYS = "arrays of numbers are read by type: kArrayInput"
KINDS: tuple[tuple[bytes, str, str], ...] = (
    (b"\x89PNG", "a PNG image", RECORDS),
    (b"\xff\xd8\xff", "a JPEG image", RECORDS),
    (b"GIF8", "a GIF image", RECORDS),
    (b"\x1f\x8b", "a gzip file", "unpack it; scans (.nii.gz) are listed in a table for type: kNiftiInput"),
    (b"PK\x03\x04", "a zip file (also .npz, .pt)", ARRAYS),
    (b"\x89HDF", "an HDF5 file", ARRAYS),
    (b"\x93NUMPY", "a NumPy file", ARRAYS),
    (b"\x00\x00\x08", "an IDX file", "`netpart data mnist` converts MNIST's"),
    (b"\x5c\x01\x00\x00", "a NIfTI file", "list it in a table for type: kNiftiInput"),
)
"""(first bytes, kind of the file, next step)."""
HEAD = 512
"""Number of bytes that ``is_text`` examines."""


def guess_file_kind(head: bytes) -> tuple[str, str]:
    """Return the kind of a file that begins with ``head``, and a hint; ("", "") for an unknown kind."""
    for magic, kind, hint in KINDS:
        if head.startswith(magic):
            return kind, hint
    return ("a text file", "for CSV use type: kCSVInput") if is_text(head) else ("", "")


def is_text(head: bytes) -> bool:
    """True if ``head`` is printable UTF-8 text that is not blank."""
    try:
        # An incremental decoder accepts that the last character is cut off.
        text = codecs.getincrementaldecoder("utf-8")().decode(head[:HEAD])
    except UnicodeDecodeError:
        return False
    return bool(text.strip()) and all(c.isprintable() or c in "\t\r\n" for c in text)
