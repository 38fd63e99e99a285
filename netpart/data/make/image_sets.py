"""Stores of images of one size, decoded or as PNG, made of folders or lists of images of any size."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from netpart.data.atomic_file import atomic_file
from netpart.data.images.decode_threads import map_on_threads
from netpart.data.images.encoded_image import EncodedImage
from netpart.data.images.image_crop import place_crop
from netpart.data.images.image_files import ImageFiles, read_image_table
from netpart.data.stores.record import Record, encode_record
from netpart.data.stores.store import KvWriter
from netpart.errors import DataError
from netpart.progress import track_items
from netpart.spec import Shape

AT_ONCE = 64
"""Images that are in memory at once."""
TAR = ".tar"


class PutImage(Protocol):
    """Writes one image (height, width, channels) and its label."""

    def __call__(self, number: int, pixels: NDArray[Any], label: int) -> None: ...


def make_image_set(source: Path, target: Path, shape: Shape) -> tuple[int, tuple[str, ...]]:
    """Write the middle of every image of ``source``, as ``shape`` (channels, height, width), to the file ``target``.

    A file .tar gets members NUMBER.png and NUMBER.cls, any other one is a kvfile of RecordProto. Returns the number of
    images and the names of the classes. Raises DataError for images that cannot be read or have no single label; then
    nothing is written.
    """
    samples = ImageFiles(read_image_table(source))
    if samples.labels is None or samples.labels.shape[1] != 1:
        hint = "use type: kImageInput for others"
        raise DataError(f"{source}: expected one label per image, got masks or several labels; {hint}")
    labels = samples.labels[:, 0].tolist()
    with _open_tar_set(target) if target.suffix == TAR else _open_kvfile_set(target) as put:
        for start in track_items(range(0, len(samples), AT_ONCE), f"{AT_ONCE} images:"):
            numbers = range(start, min(start + AT_ONCE, len(samples)))
            for number, pixels in zip(numbers, map_on_threads(_decoder(samples, shape), numbers), strict=True):
                put(number, pixels, labels[number])
    return len(samples), samples.table.classes


def _decoder(samples: ImageFiles, shape: Shape) -> Any:
    """The function that decodes the middle of a sample."""

    def decode_middle(sample: int) -> NDArray[Any]:
        picture = EncodedImage(samples.image(sample), samples.place(sample))
        return picture.pixels(place_crop(picture.size, (shape[1], shape[2]), 0), shape)

    return decode_middle


@contextmanager
def _open_kvfile_set(path: Path) -> Iterator[PutImage]:
    """A kvfile; it appears when the block ends well."""
    with KvWriter(path) as writer:

        def put_record(number: int, pixels: NDArray[Any], label: int) -> None:
            record = Record.from_array(pixels.transpose(2, 0, 1), label)
            writer.put(b"%08d" % number, encode_record(record))

        yield put_record


@contextmanager
def _open_tar_set(path: Path) -> Iterator[PutImage]:
    """A tar file; it appears when the block ends well."""
    with ExitStack() as stack:
        file = stack.enter_context(atomic_file(path))
        tar = stack.enter_context(tarfile.TarFile(fileobj=file, mode="w"))

        def put_members(number: int, pixels: NDArray[Any], label: int) -> None:
            for suffix, content in (("png", _png_bytes(pixels)), ("cls", b"%d" % label)):
                # A new TarInfo has no time and no owner: equal images become equal files.
                member = tarfile.TarInfo(f"{number:08}.{suffix}")
                member.size = len(content)
                tar.addfile(member, BytesIO(content))

        yield put_members


def _png_bytes(pixels: NDArray[Any]) -> bytes:
    image = import_module("PIL.Image").fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    with BytesIO() as file:
        image.save(file, "PNG")
        return file.getvalue()
