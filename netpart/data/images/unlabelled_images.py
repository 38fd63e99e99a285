"""Images without labels: one image, those of a folder, or those that a list names."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import StringIO

import numpy as np

from netpart.data.images.encoded_image import FORMATS, SUFFIXES
from netpart.data.images.image_folder import natural_order
from netpart.data.images.image_table import PATH, TABLE, ImageTable
from netpart.data.images.image_tree import open_image_tree
from netpart.data.open_bytes import read_whole_bytes
from netpart.data.remote.url_path import DEFAULTS, DataPath, UrlSettings, join_data_path, path_text
from netpart.errors import DataError, MissingData, os_error_text

WANTED = f"an image ({', '.join(SUFFIXES)}), a folder of images, or a list of them"
HINT = "correct the path"
FORM = "lines that begin with the path of an image"


def find_images(path: DataPath, classes: Sequence[str] = (), settings: UrlSettings = DEFAULTS) -> ImageTable:
    """The images that ``path`` names: an image, a folder, or a CSV file with a path in each line.

    The order is that of the list. In a folder the images directly in it are first, then those of each of its folders:
    ``classes`` in their order, and the others in natural order. Raises DataError if there are none.
    """
    if path.is_dir():
        return _folder_images(path, classes)
    if str(path).lower().endswith(SUFFIXES):
        return _unlabelled_table([path_text(path)], [str(path)])
    return _list_or_image(path, settings)


def _unlabelled_table(images: list[str], places: list[str]) -> ImageTable:
    """The table of images whose labels, 0, nobody reads."""
    return ImageTable(images, places, np.zeros((len(images), 1), np.int32))


def _folder_images(path: DataPath, classes: Sequence[str]) -> ImageTable:
    """The images of a folder and of its folders."""
    tree = open_image_tree(path)
    ranks = {name: rank for rank, name in enumerate(("", *classes))}

    def key(name: str) -> tuple[object, ...]:
        folder = name.rpartition("/")[0].partition("/")[0]
        return ranks.get(folder, len(ranks)), natural_order(folder), natural_order(name)

    found = [path / name for name in sorted(tree.image_names(), key=key)]
    if not found:
        raise DataError(f"{path}: expected images ({', '.join(SUFFIXES)}), got none; {HINT}")
    return ImageTable(
        [*map(path_text, found)], [*map(str, found)], np.zeros((len(found), 1), np.int32), facts=tree.facts
    )


def _list_or_image(path: DataPath, settings: UrlSettings) -> ImageTable:
    """The images of a list, or the image that a file with another suffix is."""
    content = _file_content(path)
    if any(content.startswith(magic) for magic, *_ in FORMATS):
        return _unlabelled_table([path_text(path)], [str(path)])
    lines = _unlabelled_lines(path, content)
    column = 0
    if lines and PATH in (header := [name.strip() for name in lines[0][1]]):
        column = header.index(PATH)
        del lines[0]
    if not lines:
        raise DataError(f"{path}: expected {FORM}, got none; list an image in each line")
    found = [_listed_image(path, n, row, column, settings) for n, row in lines]
    places = [f"{path}:{n}: {image}" for (n, _), image in zip(lines, found, strict=True)]
    return _unlabelled_table([*map(path_text, found)], places)


def _listed_image(table: DataPath, number: int, row: list[str], column: int, settings: UrlSettings) -> DataPath:
    """The image in line ``number`` of a list."""
    name = row[column].strip() if column < len(row) else ""
    try:
        if name:
            return join_data_path(table.parent, name, settings)
    except DataError as error:
        raise DataError(f"{table}:{number}: {error}") from None
    got = repr(",".join(row)[:80])
    raise DataError(f"{table}:{number}: expected the path of an image in column {column + 1}, got {got}; correct it")


def _unlabelled_lines(path: DataPath, content: bytes) -> list[tuple[int, list[str]]]:
    """The lines of a list that are not empty, with their numbers."""
    try:
        return [(n, row) for n, row in enumerate(csv.reader(StringIO(content.decode(), "")), 1) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: expected {WANTED} in UTF-8, got {error}; {HINT}") from error


def _file_content(path: DataPath) -> bytes:
    try:
        return read_whole_bytes(path, TABLE)
    except FileNotFoundError:
        raise MissingData(f"{path}: expected {WANTED}, got nothing there; {HINT}") from None
    except OSError as error:
        raise DataError(f"{path}: expected {WANTED}, got {os_error_text(error)}; {HINT}") from error
