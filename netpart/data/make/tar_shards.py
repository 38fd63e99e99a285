"""Tar shards: a folder or a list of images as tar files in the form of WebDataset, with the bytes of the images."""

from __future__ import annotations

import json
import os
import re
import shutil
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import mkdtemp

from netpart.data.atomic_file import atomic_file
from netpart.data.images.decode_threads import map_on_threads
from netpart.data.images.encoded_image import EncodedImage
from netpart.data.images.image_crop import place_crop
from netpart.data.images.image_files import ImageFiles, read_image_table
from netpart.errors import ConfigError, DataError
from netpart.progress import track_items

AT_ONCE = 64
"""Images that are in memory at once."""
SHARD = re.compile(r"[0-9]{6,}\.tar", re.ASCII)
CHECKED = 1, 1
"""The size to which an image is scaled when it is decoded only to see that it can be."""
Members = list[tuple[str, bytes]]
"""Suffix and content of the members of one sample."""


def make_tar_shards(
    source: Path, target: Path, most: int, classes: Sequence[str] = (), masks: Path | None = None
) -> tuple[int, int, tuple[str, ...]]:
    """Write the images of ``source`` to tar files of about ``most`` bytes each in the folder ``target``.

    Sample n has the members n.jpg (or .png ...) and n.cls, n.json for several labels, or n.seg.png for a mask.
    ``classes`` and ``masks`` are those of image_conf. Equal images become equal files. The folder appears with all of
    its files, and replaces one of shards. Returns the number of images and of files, and the names of the classes.
    Raises DataError for an image or mask that cannot be decoded, ConfigError for a folder with other files.
    """
    table = read_image_table(source, classes, masks)
    target = Path(os.path.realpath(target))
    _refuse_other_files(target)
    with _new_folder(target) as folder:
        shards = _write_shards(_read_samples(ImageFiles(table)), folder, most)
    return len(table.images), shards, table.classes


def _write_shards(samples: Iterator[Members], folder: Path, most: int) -> int:
    """Write the samples to tar files in ``folder``, at least one sample to each; return the number of files."""
    count, held = 0, 0
    with ExitStack() as stack:
        tar: tarfile.TarFile | None = None
        for number, members in enumerate(samples):
            length = sum(_member_size(content) for _, content in members)
            if tar is None or held + length > most:
                stack.close()
                tar, held = stack.enter_context(_open_shard(folder / f"{count:06}.tar")), 0
                count += 1
            held += length
            for suffix, content in members:
                # A new TarInfo has no time and no owner.
                member = tarfile.TarInfo(f"{number:07}{suffix}")
                member.size = len(content)
                tar.addfile(member, BytesIO(content))
    return count


def _member_size(content: bytes) -> int:
    """Bytes of a member in a tar file: its header, and its content in whole blocks."""
    return tarfile.BLOCKSIZE * (1 + -(-len(content) // tarfile.BLOCKSIZE))


@contextmanager
def _open_shard(path: Path) -> Iterator[tarfile.TarFile]:
    with atomic_file(path) as file, tarfile.TarFile(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        yield tar


def _read_samples(samples: ImageFiles) -> Iterator[Members]:
    """Yield the members of every sample; several threads read and check those that come next."""
    for start in track_items(range(0, len(samples), AT_ONCE), f"{AT_ONCE} images:"):
        numbers = range(start, min(start + AT_ONCE, len(samples)))
        yield from map_on_threads(lambda number: _checked_members(samples, number), numbers)


def _checked_members(samples: ImageFiles, number: int) -> Members:
    """The members of a sample. Raises DataError, with its path, if the image or the mask cannot be decoded."""
    content = samples.image(number)
    picture = EncodedImage(content, samples.place(number))
    # Decoded now, when the path is known: a reader of the tar file could only name the number of the sample.
    picture.pixels(place_crop(picture.size, CHECKED, 0), (3, *CHECKED))
    image = Path(samples.table.images[number]).suffix.lower(), content
    if samples.labels is None:
        return [image, (".seg.png", _read_mask(samples, number, picture))]
    labels = samples.labels[number].tolist()
    if len(labels) > 1:
        return [image, (".json", json.dumps({"label": labels}).encode())]
    return [image, (".cls", b"%d" % labels[0])]


def _read_mask(samples: ImageFiles, number: int, picture: EncodedImage) -> bytes:
    """The bytes of a mask. Raises DataError if it cannot be decoded, or has not the size of its image."""
    content, place = samples.mask(number), samples.mask_place(number)
    mask = EncodedImage(content, place)
    mask.classes(place_crop(mask.size, CHECKED, 0), CHECKED)
    if mask.size != picture.size:
        expected, got = ("x".join(map(str, each.size[::-1])) for each in (picture, mask))
        raise DataError(f"{place}: expected {expected} pixels, as its image has, got {got}; make the mask anew")
    return content


def _refuse_other_files(folder: Path) -> None:
    """Raise ConfigError if ``folder`` is there and holds anything but shards."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError(str(folder), "a folder for tar files", "a file", "name another path")
    others = sorted(each.name for each in folder.iterdir() if not SHARD.fullmatch(each.name)) if folder.exists() else []
    if others:
        hint = "name a new folder: this one would be replaced"
        raise ConfigError(str(folder), "a new folder, or one of shards", f"a folder with {others[0]!r}", hint)


@contextmanager
def _new_folder(target: Path) -> Iterator[Path]:
    """A temporary folder next to ``target``, which takes its place when the block ends well."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent))
    try:
        (partial / "new").mkdir()
        yield partial / "new"
        if target.exists():
            target.rename(partial / "old")
        try:
            (partial / "new").rename(target)
        except OSError:
            if (partial / "old").exists():
                (partial / "old").rename(target)
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
