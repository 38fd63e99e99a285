"""Folders of images, on this machine and at URLs: their sub-folders, and the images below them."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

from netpart.data.images.encoded_image import SUFFIXES
from netpart.data.images.image_table import HINT
from netpart.data.open_bytes import missing_data
from netpart.data.remote.file_systems import FileFacts
from netpart.data.remote.url_listing import list_tree
from netpart.data.remote.url_path import DataPath, UrlPath
from netpart.errors import DataError, os_error_text

LISTS = "write a CSV file of lines `path,label` next to it, and name that"


class ImageTree(ABC):
    """A folder; hidden files and folders in it are omitted. ``facts`` are what its listing says of URLs."""

    facts: Mapping[str, FileFacts]

    @abstractmethod
    def sub_folders(self) -> list[str]:
        """The names of the folders directly in it, in any order. Raises DataError if it cannot be read."""

    @abstractmethod
    def image_names(self, folder: str = "") -> list[str]:
        """The names of all images below it, or below a folder in it, relative to it, in any order. Raises DataError."""


class LocalTree(ImageTree):
    """A folder of this machine."""

    facts: Mapping[str, FileFacts] = {}

    def __init__(self, path: Path) -> None:
        self._path = path

    def sub_folders(self) -> list[str]:
        try:
            with os.scandir(self._path) as entries:
                return [entry.name for entry in entries if entry.is_dir() and not entry.name.startswith(".")]
        except OSError as error:
            _raise_unreadable(error)
            raise

    def image_names(self, folder: str = "") -> list[str]:
        found = []
        for place, folders, names in os.walk(self._path / folder, onerror=_raise_unreadable):
            folders[:] = [name for name in folders if not name.startswith(".")]
            chosen = [name for name in names if _is_image(name) and not name.startswith(".")]
            found += [os.path.relpath(os.path.join(place, name), self._path) for name in chosen]
        return found


class UrlTree(ImageTree):
    """A folder at a URL, which is listed once."""

    def __init__(self, url: UrlPath) -> None:
        try:
            self._found = list_tree(url, LISTS)
        except OSError as error:
            error.filename = str(url)
            _raise_unreadable(error)
        self.facts = {(url / name).address: facts for name, facts in self._found.files.items() if _is_image(name)}

    def sub_folders(self) -> list[str]:
        return [name for name in self._found.folders if "/" not in name]

    def image_names(self, folder: str = "") -> list[str]:
        inside = f"{folder}/" if folder else ""
        return [name for name in self._found.files if name.startswith(inside) and _is_image(name)]


def open_image_tree(path: DataPath) -> ImageTree:
    """Open a folder. Raises MissingData if a URL has no such folder, DataError if it cannot be listed."""
    return UrlTree(path) if isinstance(path, UrlPath) else LocalTree(path)


def _is_image(name: str) -> bool:
    return name.lower().endswith(SUFFIXES)


def _raise_unreadable(error: OSError) -> None:
    if isinstance(error, FileNotFoundError):
        raise missing_data(str(error.filename), "a folder of images", error, HINT) from error
    raise DataError(f"{error.filename}: expected a folder of images, got {os_error_text(error)}; {HINT}") from error
