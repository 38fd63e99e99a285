"""Fields of a line of a CSV file, quoted or not (RFC 4180)."""

from __future__ import annotations

from netpart.errors import DataError

QUOTE = b'"'
_AS_RULED = 'put the field in quotes, and write each quote in it twice ("")'


def split_fields(line: bytes, separator: bytes) -> list[bytes]:
    """Split ``line`` at ``separator``, which counts as text between quotes.

    Raises DataError for a quote that neither begins nor ends a field, nor is doubled.
    """
    if QUOTE not in line:
        return line.split(separator)
    fields = list[bytes]()
    at = 0
    while True:
        field, at = _read_field(line, at, separator, len(fields))
        fields.append(field)
        if at >= len(line):
            return fields
        at += len(separator)


def _read_field(line: bytes, at: int, separator: bytes, column: int) -> tuple[bytes, int]:
    """The field that begins at ``at``, and the offset of the separator after it, or of the end."""
    if line.startswith(QUOTE, at):
        return _read_quoted(line, at + 1, separator, column)
    end = line.find(separator, at)
    end = len(line) if end < 0 else end
    if QUOTE in line[at:end]:
        raise _quote_error(column, line[at:end])
    return line[at:end], end


def _read_quoted(line: bytes, at: int, separator: bytes, column: int) -> tuple[bytes, int]:
    """The field whose first quote is before ``at``, without its quotes."""
    end = start = at
    while True:
        end = line.find(QUOTE, end)
        if end < 0:
            raise _quote_error(column, line[start - 1 :])
        if not line.startswith(QUOTE, end + 1):
            break
        end += 2  # a doubled quote, which stands for one
    if end + 1 < len(line) and not line.startswith(separator, end + 1):
        raise _quote_error(column, line[start - 1 :])
    return line[start:end].replace(QUOTE * 2, QUOTE), end + 1


def _quote_error(column: int, field: bytes) -> DataError:
    got = repr(field[:40].decode(errors="replace"))
    return DataError(f"column {column + 1}: expected quotes around a whole field, got {got}; {_AS_RULED}")
