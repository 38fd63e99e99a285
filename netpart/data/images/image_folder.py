"""Folders of images: a folder for each class, or a folder of images and one of their masks."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path, PurePath

import numpy as np

from netpart.data.images.encoded_image import SUFFIXES
from netpart.data.images.image_table import HINT, ImageTable
from netpart.errors import DataError, MissingData, os_error_text

NUMBER = re.compile(r"([0-9]+)", re.ASCII)
MASK_SUFFIX = ".png"
WANTED = f"images ({', '.join(SUFFIXES)})"


def natural_order(text: str) -> tuple[tuple[object, ...], str]:
    """The key to sort names as people count: "class 9" before "class 10"."""
    words = NUMBER.split(text)
    # Odd places are numbers, so keys of all names compare. Equal keys ("1", "01") are ordered by the names themselves.
    return tuple(int(word) if k % 2 else word for k, word in enumerate(words)), text


def read_class_folders(path: Path, classes: Sequence[str] = ()) -> ImageTable:
    """List the images below the folders in ``path``; each folder is a class, in natural order.

    ``classes`` sets the folders and their order instead. Raises DataError if there are none, or one has no images.
    """
    found = sorted((name for name in _sub_folders(path)), key=natural_order)
    names = list(classes) or found
    if missing := [name for name in names if name not in found]:
        hint = "correct image_conf.classes, or add the folder"
        raise DataError(f"{path}: expected a folder for each class, got none for {missing[0]!r}; {hint}")
    if extra := [name for name in found if name not in names]:
        hint = "add it to image_conf.classes, or move it away"
        raise DataError(f"{path}: expected a class for each folder, got none for {extra[0]!r}; {hint}")
    if not names:
        hint = "move the images of each class into a folder, or list them in a CSV file of lines `path,label`"
        raise DataError(f"{path}: expected a folder for each class, got none; {hint}")
    images = [_class_images(path / name) for name in names]
    numbers = np.repeat(np.arange(len(names), dtype=np.int32), [len(each) for each in images])
    flat = [image for each in images for image in each]
    return ImageTable(flat, flat, numbers.reshape(-1, 1), classes=tuple(names))


def read_masked_folder(path: Path, masks: Path) -> ImageTable:
    """List the images below ``path``; the mask of a/b.jpg is a/b.png below ``masks``."""
    images = _find_images(path)
    if not images:
        raise DataError(f"{path}: expected {WANTED}, got none; {HINT}")
    inside = [PurePath(image).relative_to(path).with_suffix(MASK_SUFFIX) for image in images]
    return ImageTable(images, images, masks=[str(masks / each) for each in inside])


def _find_images(path: Path) -> list[str]:
    """All images below a folder, by their suffix, in natural order. Hidden files and folders are omitted.

    Raises DataError if a folder cannot be read.
    """
    found = []
    for folder, folders, names in os.walk(path, onerror=_raise_unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        chosen = [name for name in names if name.lower().endswith(SUFFIXES) and not name.startswith(".")]
        found += [os.path.join(folder, name) for name in chosen]
    return sorted(found, key=natural_order)


def _class_images(folder: Path) -> list[str]:
    """The images of a class; raises DataError if there are none."""
    found = _find_images(folder)
    if not found:
        raise DataError(f"{folder}: expected {WANTED}, got none; remove the empty folder, or add its images")
    return found


def _sub_folders(path: Path) -> list[str]:
    """The names of the folders in a folder, without hidden ones. Raises DataError if it cannot be read."""
    try:
        with os.scandir(path) as entries:
            return [entry.name for entry in entries if entry.is_dir() and not entry.name.startswith(".")]
    except OSError as error:
        _raise_unreadable(error)
        raise


def _raise_unreadable(error: OSError) -> None:
    kind = MissingData if isinstance(error, FileNotFoundError) else DataError
    raise kind(f"{error.filename}: expected a folder of images, got {os_error_text(error)}; {HINT}") from error
