"""Folders of images: a folder for each class, or a folder of images and one of their masks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

import numpy as np

from netpart.data.images.encoded_image import SUFFIXES
from netpart.data.images.image_table import HINT, ImageTable
from netpart.data.images.image_tree import ImageTree, open_image_tree
from netpart.data.remote.url_path import DataPath, path_text
from netpart.errors import DataError

NUMBER = re.compile(r"([0-9]+)", re.ASCII)
MASK_SUFFIX = ".png"
WANTED = f"images ({', '.join(SUFFIXES)})"


def natural_order(text: str) -> tuple[tuple[object, ...], str]:
    """The key to sort names as people count: "class 9" before "class 10"."""
    words = NUMBER.split(text)
    # Odd places are numbers, so keys of all names compare. Equal keys ("1", "01") are ordered by the names themselves.
    return tuple(int(word) if k % 2 else word for k, word in enumerate(words)), text


def class_folder_names(path: DataPath, classes: Sequence[str] = ()) -> tuple[str, ...]:
    """The names of the classes of ``read_class_folders``, by their numbers, without the images."""
    return tuple(classes or sorted(open_image_tree(path).sub_folders(), key=natural_order))


def read_class_folders(path: DataPath, classes: Sequence[str] = (), complete: bool = True) -> ImageTable:
    """List the images below the folders in ``path``; each folder is a class, in natural order.

    ``classes`` sets the folders and their order instead; unless ``complete``, folders of some may be missing. Raises
    DataError if there are none, or one has no images.
    """
    tree = open_image_tree(path)
    found = sorted(tree.sub_folders(), key=natural_order)
    names = list(classes) or found
    _require_same_classes(path, names if complete else [name for name in names if name in found], found)
    images = [_class_images(tree, path, name) if name in found else [] for name in names]
    numbers = np.repeat(np.arange(len(names), dtype=np.int32), [len(each) for each in images])
    flat = [image for each in images for image in each]
    return ImageTable(flat, flat, numbers.reshape(-1, 1), classes=tuple(names), facts=tree.facts)


def read_masked_folder(path: DataPath, masks: DataPath) -> ImageTable:
    """List the images below ``path``; the mask of a/b.jpg is a/b.png below ``masks``."""
    tree = open_image_tree(path)
    names = sorted(tree.image_names(), key=natural_order)
    if not names:
        raise DataError(f"{path}: expected {WANTED}, got none; {HINT}")
    images = [path_text(path / name) for name in names]
    inside = [str(PurePosixPath(name).with_suffix(MASK_SUFFIX)) for name in names]
    return ImageTable(images, images, masks=[path_text(masks / each) for each in inside], facts=tree.facts)


def _require_same_classes(path: DataPath, names: Sequence[str], found: Sequence[str]) -> None:
    """Raise DataError unless the classes ``names`` are the folders ``found``, at least one."""
    if missing := [name for name in names if name not in found]:
        hint = "correct image_conf.classes, or add the folder"
        raise DataError(f"{path}: expected a folder for each class, got none for {missing[0]!r}; {hint}")
    if extra := [name for name in found if name not in names]:
        hint = "add it to image_conf.classes, or move it away"
        raise DataError(f"{path}: expected a class for each folder, got none for {extra[0]!r}; {hint}")
    if not names:
        hint = "move the images of each class into a folder, or list them in a CSV file of lines `path,label`"
        raise DataError(f"{path}: expected a folder for each class, got none; {hint}")


def _class_images(tree: ImageTree, path: DataPath, name: str) -> list[str]:
    """The images of a class, in natural order; raises DataError if there are none."""
    found = sorted(tree.image_names(name), key=natural_order)
    if not found:
        raise DataError(f"{path / name}: expected {WANTED}, got none; remove the empty folder, or add its images")
    return [path_text(path / each) for each in found]
