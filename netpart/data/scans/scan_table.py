"""The table of labelled scans: a CSV file of paths and labels."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from io import StringIO

from netpart.data.open_bytes import missing_data, read_whole_bytes
from netpart.data.remote.url_path import DEFAULTS, DataPath, UrlSettings, join_data_path
from netpart.errors import DataError, os_error_text

HEAD = ["path", "label"]
TABLE = 64 << 20
"""Largest number of bytes of a table."""
MOST = (1 << 31) - 1
"""Highest class: labels are int32."""
DIGITS = len(str(MOST))


@dataclass(frozen=True)
class LabelledScan:
    """A scan of a table and its class."""

    path: DataPath
    label: int


def read_scan_table(
    path: DataPath, classes: int | None = None, settings: UrlSettings = DEFAULTS, ignored: int | None = None
) -> list[LabelledScan]:
    """Read the lines ``path,label`` of a CSV file, with or without a header.

    A path is relative to its folder, or a URL that is read by ``settings``.

    Raises DataError if the file is missing, empty or has other lines, or if a label is neither below ``classes`` nor
    ``ignored``.
    """
    try:
        text = read_whole_bytes(path, TABLE).decode()
        lines = [(n, row) for n, row in enumerate(csv.reader(StringIO(text, "")), 1) if row and row != HEAD]
    except FileNotFoundError as error:
        hint = "correct nifti_conf.path, or see `netpart data phantom --help`"
        raise missing_data(path, "a table of scans", error, hint) from None
    except OSError as error:
        got = os_error_text(error)
        raise DataError(f"{path}: expected a table of scans, got {got}; correct nifti_conf.path") from error
    except (UnicodeDecodeError, csv.Error) as error:
        wanted = "a table of scans, lines `path,label` in UTF-8"
        raise DataError(f"{path}: expected {wanted}, got {error}; correct nifti_conf.path") from error
    if not lines:
        raise DataError(f"{path}: expected lines `path,label`, got none; list a scan in each line")
    return [_parse_scan_row(path, n, row, classes, settings, ignored) for n, row in lines]


def _parse_scan_row(
    path: DataPath, number: int, row: list[str], classes: int | None, settings: UrlSettings, ignored: int | None
) -> LabelledScan:
    digits = row[1].strip() if len(row) == 2 else ""
    if not digits.isdecimal() or len(digits) > DIGITS:
        got = repr(",".join(row)[:80])
        raise DataError(f"{path}:{number}: expected `path,label` with a class from 0 to {MOST}, got {got}; correct it")
    label = int(digits)
    most = MOST if classes is None else classes - 1
    if label > most and label != ignored:
        hint = "correct it, or give the layer below the loss as many outputs as there are classes"
        raise DataError(f"{path}:{number}: expected a class from 0 to {most}, got {label}; {hint}")
    try:
        return LabelledScan(join_data_path(path.parent, row[0].strip(), settings), label)
    except DataError as error:
        raise DataError(f"{path}:{number}: {error}") from None
