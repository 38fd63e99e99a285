"""TarImages: images, labels and masks that are members of tar files, in the form of WebDataset."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from netpart.data.byte_source import ByteSource
from netpart.data.images.encoded_image import LARGEST, SUFFIXES
from netpart.data.images.image_samples import ImageSamples
from netpart.data.images.tar_index import TarMember, read_tar_index
from netpart.data.images.tar_labels import LARGEST_LABEL, parse_tar_label
from netpart.data.open_bytes import open_data_file
from netpart.data.remote.url_path import DataPath
from netpart.errors import DataError

HINT = "correct the path (--set LAYER.tar_conf.path=FILE, say)"


@dataclass(frozen=True)
class TarForm:
    """Suffixes of members: ``label``, or ``mask`` instead. ``json_field`` is the field of a label in JSON."""

    label: str = "cls"
    json_field: str = "label"
    mask: str = ""


@dataclass
class _TarSample:
    """The members of one sample by their kind; missing ones are None."""

    key: str
    image: TarMember | None = None
    other: TarMember | None = None


@dataclass
class _SampleSpans:
    """Per sample: number of the file, and the byte ranges of the image and of the mask."""

    files: array[int] = field(default_factory=lambda: array("i"))
    spans: array[int] = field(default_factory=lambda: array("q"))
    labels: list[tuple[int, ...]] = field(default_factory=list)


class TarImages(ImageSamples):
    """The samples of tar files, in order. Opening scans each file once; then samples are read by their offset.

    Raises DataError if a file is missing, truncated or no tar file, or a sample has no image or no label.
    """

    def __init__(self, paths: Sequence[DataPath], form: TarForm) -> None:
        self._form = form
        self._files = [open_data_file(path, "a tar file", "a tar file", HINT) for path in paths]
        found = _SampleSpans()
        for number in range(len(self._files)):
            self._scan(number, found)
        if not found.files:
            raise DataError(f"{paths[0]}: expected samples with images ({', '.join(SUFFIXES)}), got none; {HINT}")
        self._numbers = np.frombuffer(found.files, np.intc)
        self._spans = np.frombuffer(found.spans, np.int64).reshape(-1, 4)
        self._keys = np.searchsorted(self._numbers, np.arange(len(paths)))
        self.labels = None if form.mask else np.array(found.labels, np.int32)

    def __len__(self) -> int:
        return len(self._numbers)

    def image(self, sample: int) -> bytes:
        return self._read(sample, 0)

    def mask(self, sample: int) -> bytes:
        return self._read(sample, 2)

    def place(self, sample: int) -> str:
        number = int(self._numbers[sample])
        return f"{self._files[number].path}: sample {sample - int(self._keys[number])}"

    def mask_place(self, sample: int) -> str:
        return f"{self.place(sample)}, {self._form.mask}"

    def _read(self, sample: int, column: int) -> bytes:
        start, stop = self._spans[sample, column : column + 2].tolist()
        if stop - start > LARGEST:
            who = self.place(sample)
            raise DataError(f"{who}: expected an image of at most {LARGEST} bytes, got {stop - start}; scale it down")
        return self._files[int(self._numbers[sample])].read(start, stop)

    def _scan(self, number: int, found: _SampleSpans) -> None:
        """Add the samples of a file. Those without an image are omitted: they hold other data."""
        file = self._files[number]
        for sample in _group_members(read_tar_index(file), self._form.mask or self._form.label):
            if sample.image is None:
                continue
            who = f"{file.path}: {sample.key}"
            if sample.other is None:
                hint = "set tar_conf.mask to its suffix" if self._form.mask else "set tar_conf.label to its suffix"
                wanted = f"a member {sample.key}.{self._form.mask or self._form.label}"
                raise DataError(f"{who}: expected {wanted} next to its image, got none; {hint}")
            if not self._form.mask:
                found.labels.append(self._label(file, sample.other, found))
            found.files.append(number)
            found.spans.extend((*sample.image[1:], *sample.other[1:]))

    def _label(self, file: ByteSource, member: TarMember, found: _SampleSpans) -> tuple[int, ...]:
        """The labels in a member; raises DataError if their number differs from that of the first sample."""
        who = f"{file.path}: {member.name}"
        if member.stop - member.start > LARGEST_LABEL:
            got = member.stop - member.start
            raise DataError(f"{who}: expected at most {LARGEST_LABEL} bytes with a label, got {got}; correct it")
        content = file.read(member.start, member.stop)
        labels = parse_tar_label(content, self._form.label, self._form.json_field, who)
        if found.labels and len(labels) != len(found.labels[0]):
            raise DataError(f"{who}: expected {len(found.labels[0])} labels as before, got {len(labels)}; correct it")
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
