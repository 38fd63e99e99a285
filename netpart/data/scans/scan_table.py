"""The table of labelled scans: a CSV file of paths, and labels or masks."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from io import StringIO

from netpart.data.open_bytes import missing_data, read_whole_bytes
from netpart.data.remote.url_path import DEFAULTS, DataPath, UrlSettings, join_data_path
from netpart.errors import DataError, os_error_text

HEAD = ["path", "label"]
MASKED = ["path", "mask"]
HEADS = HEAD, MASKED, HEAD[:1]
TABLE = 64 << 20
"""Largest number of bytes of a table."""
MOST = (1 << 31) - 1
"""Highest class: labels are int32."""
DIGITS = len(str(MOST))


@dataclass(frozen=True)
class LabelledScan:
    """A scan of a table, and its class or its mask, or neither. ``place`` is its line, for errors."""

    path: DataPath
    label: int | None = None
    mask: DataPath | None = None
    place: str = field(default="", compare=False)


def read_scan_table(path: DataPath, settings: UrlSettings = DEFAULTS) -> list[LabelledScan]:
    """Read the lines ``path,label`` of a CSV file, with or without a header.

    Under the header ``path,mask`` lines have the path of a mask instead, under ``path`` neither. A path is relative to
    the folder of the table, or a URL that is read by ``settings``. Raises DataError if the table is missing, empty or
    has other lines.
    """
    lines = _table_lines(path)
    head = [name.strip() for name in lines[0][1]] if lines else []
    columns = head if head[:1] == HEAD[:1] else HEAD
    if columns not in HEADS:
        got = ",".join(columns)[:80]
        raise DataError(f"{path}: expected the columns `path,label` or `path,mask`, got {got}; correct the header")
    rows = lines[columns is head :]
    if not rows:
        raise DataError(f"{path}: expected lines `{','.join(columns)}`, got none; list a scan in each line")
    return [_parse_scan_row(path, n, row, columns, settings) for n, row in rows]


def _table_lines(path: DataPath) -> list[tuple[int, list[str]]]:
    """The lines of a table that are not empty, with their numbers."""
    try:
        text = read_whole_bytes(path, TABLE).decode()
        return [(n, row) for n, row in enumerate(csv.reader(StringIO(text, "")), 1) if row]
    except FileNotFoundError as error:
        hint = "correct nifti_conf.path, or see `netpart data phantom --help`"
        raise missing_data(path, "a table of scans", error, hint) from None
    except OSError as error:
        got = os_error_text(error)
        raise DataError(f"{path}: expected a table of scans, got {got}; correct nifti_conf.path") from error
    except (UnicodeDecodeError, csv.Error) as error:
        wanted = "a table of scans, lines `path,label` in UTF-8"
        raise DataError(f"{path}: expected {wanted}, got {error}; correct nifti_conf.path") from error


def _parse_scan_row(
    path: DataPath, number: int, row: list[str], columns: list[str], settings: UrlSettings
) -> LabelledScan:
    """The scan of a line."""
    masked = columns == MASKED
    who = f"{path}:{number}"
    if len(row) != len(columns) or not all(cell.strip() for cell in row):
        raise DataError(f"{who}: expected {_expected_line(columns)}, got {','.join(row)[:80]!r}; correct it")
    label = _parse_scan_label(who, row) if columns == HEAD else None
    try:
        paths = [join_data_path(path.parent, cell.strip(), settings) for cell in (row if masked else row[:1])]
    except DataError as error:
        raise DataError(f"{who}: {error}") from None
    return LabelledScan(paths[0], label, paths[1] if masked else None, who)


def _expected_line(columns: list[str]) -> str:
    """What a line of ``columns`` has."""
    return f"`{','.join(columns)}`" + (f" with a class from 0 to {MOST}" if columns == HEAD else "")


def _parse_scan_label(who: str, row: list[str]) -> int:
    """The class of a line."""
    digits = row[1].strip()
    if not digits.isdecimal() or len(digits) > DIGITS or int(digits) > MOST:
        raise DataError(f"{who}: expected {_expected_line(HEAD)}, got {','.join(row)[:80]!r}; correct it")
    return int(digits)


def refuse_scan_labels(table: list[LabelledScan], classes: int, ignored: int | None = None) -> None:
    """Raise DataError for the first scan with a class that is neither below ``classes`` nor ``ignored``."""
    for scan in table:
        if scan.label is not None and scan.label >= classes and scan.label != ignored:
            hint = "correct it, or give the layer below the loss as many outputs as there are classes"
            raise DataError(f"{scan.place}: expected a class from 0 to {classes - 1}, got {scan.label}; {hint}")
