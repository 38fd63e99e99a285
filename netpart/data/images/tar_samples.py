"""The samples of a tar file: byte ranges and labels, found by a scan or kept by an earlier one."""

from __future__ import annotations

import os
import struct
from array import array
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netpart.data.byte_source import ByteSource
from netpart.data.images.encoded_image import SUFFIXES
from netpart.data.images.tar_index import TarMember, read_tar_index
from netpart.data.images.tar_labels import LARGEST_LABEL, parse_tar_label
from netpart.data.remote.block_cache import BlockCache, cache_key, open_block_cache
from netpart.data.remote.url_path import UrlSettings, path_text
from netpart.errors import DataError

_HEADER = struct.Struct("<16sqq")
_MAGIC = b"tar samples 1\n"
"""Changes with the form of a kept file, and with what a scan finds."""
_SHARE = 8
"""A kept index takes at most the share 1/_SHARE of the cache."""


@dataclass(frozen=True)
class TarForm:
    """Suffixes of members: ``label``, or ``mask`` instead. ``json_field`` is the field of a label in JSON."""

    label: str = "cls"
    json_field: str = "label"
    mask: str = ""


class TarSamples(NamedTuple):
    """Per sample: the byte ranges of the image and of its label or mask (samples, 4), and labels (samples, labels)."""

    spans: NDArray[np.int64]
    labels: NDArray[np.int32]


@dataclass
class _TarSample:
    """The members of one sample by their kind; missing ones are None."""

    key: str
    image: TarMember | None = None
    other: TarMember | None = None


def read_tar_samples(file: ByteSource, form: TarForm, settings: UrlSettings | None) -> TarSamples:
    """The samples of a tar file: those that an earlier scan kept in the cache of ``settings``, or else scanned now.

    Raises DataError if the file is truncated or no tar file, or a sample has no valid label or no mask.
    """
    cache = _index_cache(file, settings)
    # By the whole path: several runs of one host share the index.
    at = os.path.abspath(file.path) if isinstance(file.path, Path) else path_text(file.path)  # type: ignore[arg-type]
    key = cache_key(_MAGIC, at, file.size, file.version, form.label, form.json_field, form.mask)
    found = _kept_samples(cache, key, file.size) if cache else None
    if found is None:
        found = scan_tar_samples(file, form)
        if cache:
            _keep_samples(cache, key, found)
    return found


def scan_tar_samples(file: ByteSource, form: TarForm) -> TarSamples:
    """Scan a tar file. Samples without an image are omitted: they hold other data."""
    spans, labels, count = array("q"), array("i"), 0
    for sample in _group_members(read_tar_index(file), form.mask or form.label):
        if sample.image is None:
            continue
        other = _label_or_mask(file, sample, form)
        if not form.mask:
            found = _labels(file, other, form, count)
            count = len(found)
            labels.extend(found)
        spans.extend((*sample.image[1:], *other[1:]))
    rows = np.frombuffer(spans, np.int64).reshape(-1, 4)
    return TarSamples(rows, np.frombuffer(labels, np.int32).reshape(len(rows), count))


def _label_or_mask(file: ByteSource, sample: _TarSample, form: TarForm) -> TarMember:
    if sample.other is None:
        hint = "set tar_conf.mask to its suffix" if form.mask else "set tar_conf.label to its suffix"
        wanted = f"a member {sample.key}.{form.mask or form.label}"
        raise DataError(f"{file.path}: {sample.key}: expected {wanted} next to its image, got none; {hint}")
    return sample.other


def _labels(file: ByteSource, member: TarMember, form: TarForm, count: int) -> tuple[int, ...]:
    """The labels in a member; raises DataError if they are not ``count``, the number of earlier samples (0: none)."""
    who = f"{file.path}: {member.name}"
    if member.stop - member.start > LARGEST_LABEL:
        got = member.stop - member.start
        raise DataError(f"{who}: expected at most {LARGEST_LABEL} bytes with a label, got {got}; correct it")
    content = file.read(member.start, member.stop)
    labels = parse_tar_label(content, form.label, form.json_field, who)
    if count and len(labels) != count:
        raise DataError(f"{who}: expected {count} labels as before, got {len(labels)}; correct it")
    return labels


def _group_members(members: Iterator[TarMember], suffix: str) -> Iterator[_TarSample]:
    """Yield the samples: consecutive members with one key, which is the name up to the first dot of the last part."""
    current: _TarSample | None = None
    for member in members:
        folder, slash, last = member.name.rpartition("/")
        stem, _, ending = last.partition(".")
        if not stem:
            continue  # hidden files, such as those that macOS adds
        key = f"{folder}{slash}{stem}"
        if current is None or current.key != key:
            if current is not None:
                yield current
            current = _TarSample(key)
        if ending.lower() == suffix.lower():
            current.other = member
        elif f".{ending.lower()}" in SUFFIXES:
            current.image = member
    if current is not None:
        yield current


def _index_cache(file: ByteSource, settings: UrlSettings | None) -> BlockCache | None:
    """Where the index of a file is kept; None if nothing distinguishes its versions, or there is no usable cache."""
    with suppress(DataError):  # a local file needs no cache
        return open_block_cache(settings) if settings and file.version else None
    return None


def _kept_samples(cache: BlockCache, key: str, size: int) -> TarSamples | None:
    """The index of a file of ``size`` bytes; None if it is not kept, damaged or foreign."""
    header = cache.read_block(key, 0, _HEADER.size)
    magic, rows, labels = _HEADER.unpack(header) if header else (b"", -1, -1)
    if magic.rstrip(b"\0") != _MAGIC or rows < 0 or labels < 0:
        return None
    content = cache.read_block(key, 1, rows * (4 * 8 + labels * 4))
    if content is None:
        return None
    spans = np.frombuffer(content, np.int64, rows * 4).reshape(rows, 4)
    # Whatever wrote it: no read may leave the file.
    if rows and not 0 <= int(spans.min()) <= int(spans.max()) <= size:
        return None
    return TarSamples(spans, np.frombuffer(content, np.int32, offset=rows * 32).reshape(rows, labels))


def _keep_samples(cache: BlockCache, key: str, samples: TarSamples) -> None:
    content = samples.spans.tobytes() + samples.labels.tobytes()
    if len(content) > cache.room // _SHARE:
        return
    with suppress(DataError):  # what cannot be kept is scanned again
        # The header last: it is what makes the index valid.
        cache.put(key, 1, content)
        cache.put(key, 0, _HEADER.pack(_MAGIC, *samples.spans.shape[:1], samples.labels.shape[1]))
