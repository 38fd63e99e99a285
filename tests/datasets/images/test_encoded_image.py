"""Pictures: any mode becomes grey or colours, upright; damaged and foreign files are refused by their name."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from PIL import Image

from netpart.data.images.encoded_image import MOST_PIXELS, ORIENTATION, EncodedImage
from netpart.data.images.image_crop import ImageCrop, place_crop
from netpart.errors import DataError, NetpartError
from tests.datasets.samples import encoded, photo

COLOURS = photo(1, 20, 30)
GREY = COLOURS[..., 0]


def whole(content: bytes, channels: int = 3) -> Any:
    """All pixels of an image, unscaled, (height, width, channels)."""
    picture = EncodedImage(content, "it")
    height, width = picture.size
    return picture.pixels(ImageCrop(picture.size, 0, 0, picture.size), (channels, height, width))


def saved(image: Any, kind: str = "PNG", **more: Any) -> bytes:
    with BytesIO() as file:
        image.save(file, kind, **more)
        return file.getvalue()


@pytest.mark.parametrize("suffix", ["png", "webp", "jpg"])
def test_colours_are_read_from_each_format(suffix: str) -> None:
    more = {"lossless": True} if suffix == "webp" else {"quality": 95, "subsampling": 0} if suffix == "jpg" else {}
    found = whole(encoded(COLOURS, suffix, **more))
    assert found.dtype == np.uint8
    assert abs(found.astype(int) - COLOURS).max() <= (6 if suffix == "jpg" else 0)


def test_grey_becomes_colours_and_colours_grey() -> None:
    assert np.array_equal(whole(encoded(GREY, "png")), np.stack([GREY] * 3, -1))
    found = whole(encoded(COLOURS, "png"), 1)[..., 0]
    assert abs(found - COLOURS @ (0.299, 0.587, 0.114)).max() < 1


def test_a_palette_becomes_its_colours() -> None:
    image = Image.fromarray(GREY // 64).convert("P")
    image.putpalette([10, 20, 30, 200, 100, 0, 1, 2, 3, 250, 251, 252])
    table = np.array([[10, 20, 30], [200, 100, 0], [1, 2, 3], [250, 251, 252]])
    assert np.array_equal(whole(saved(image)), table[GREY // 64])


def test_transparent_places_become_white() -> None:
    alpha = np.zeros((20, 30), np.uint8)
    alpha[:, 15:] = 255
    expected = np.where(alpha[..., None] == 0, 255, COLOURS)
    image = np.concatenate([COLOURS, alpha[..., None]], -1)
    assert np.array_equal(whole(encoded(image, "png")), expected)
    assert np.array_equal(whole(encoded(image, "webp", lossless=True)), expected)
    listed = Image.fromarray(GREY // 64).convert("P")
    listed.putpalette([9] * 12)
    found = whole(saved(listed, transparency=b"\x00\xff\xff\xff"))
    assert {tuple(each) for each in found[GREY // 64 == 0]} == {(255, 255, 255)}
    assert {tuple(each) for each in found[GREY // 64 > 0]} == {(9, 9, 9)}


def test_of_16_bits_the_high_8_count() -> None:
    deep = GREY.astype(np.uint16) * 256 + 77
    assert np.array_equal(whole(saved(Image.fromarray(deep)), 1)[..., 0], GREY)


def test_bilevel_and_cmyk_images_are_converted() -> None:
    dots = Image.fromarray(GREY).convert("1")
    assert np.array_equal(whole(saved(dots), 1)[..., 0], np.asarray(dots) * np.uint8(255))
    printed = Image.fromarray(COLOURS).convert("CMYK")
    found = whole(saved(printed, "JPEG", quality=95, subsampling=0))
    assert abs(found.astype(int) - COLOURS).max() < 12


TURNED: dict[int, Callable[[Any], Any]] = {
    1: lambda a: a, 2: np.fliplr, 3: lambda a: np.rot90(a, 2), 4: np.flipud, 5: lambda a: a.transpose(1, 0, 2),
    6: np.rot90, 7: lambda a: np.rot90(a, 2).transpose(1, 0, 2), 8: lambda a: np.rot90(a, -1),
}  # fmt: skip
"""How a camera stores an upright image, by the orientation that it notes."""


@pytest.mark.parametrize("orientation", [*TURNED, 9])
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_images_of_turned_cameras_are_upright(orientation: int, kind: str) -> None:
    stored = np.ascontiguousarray(TURNED.get(orientation, TURNED[1])(COLOURS))
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    options: dict[str, dict[str, Any]] = {"JPEG": {"quality": 95, "subsampling": 0}, "WEBP": {"lossless": True}}
    content = saved(Image.fromarray(stored), kind, exif=exif, **options.get(kind, {}))
    found = whole(content)
    assert found.shape == COLOURS.shape
    assert abs(found.astype(int) - COLOURS).max() <= (8 if kind == "JPEG" else 0)
    # Decoded at a part of its size, and with another height than width, it is the same image.
    small = EncodedImage(content, "it").pixels(place_crop((20, 30), (4, 6), 0), (3, 4, 6))
    assert abs(small.astype(int) - COLOURS.reshape(4, 5, 6, 5, 3).mean((1, 3))).max() < 30


def test_a_crop_takes_the_same_place_of_an_image_decoded_small() -> None:
    large = np.zeros((320, 480, 3), np.uint8)
    large[160:, 240:] = 200
    crop = place_crop((320, 480), (8, 8), 10, (0.99, 0.99))
    found = EncodedImage(encoded(large, "jpg", quality=95), "it").pixels(crop, (3, 8, 8))
    exact = EncodedImage(encoded(large, "png"), "it").pixels(crop, (3, 8, 8))
    assert exact.max() >= 190
    assert abs(found.astype(int) - exact).max() < 12


def test_a_turned_image_is_decoded_no_smaller_than_an_upright_one() -> None:
    stripes = np.broadcast_to(128 + 100 * np.sin(np.arange(80) * 1.2)[:, None, None], (80, 160, 3)).astype(np.uint8)
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    turned = saved(Image.fromarray(np.rot90(stripes)), "JPEG", exif=exif, quality=95)
    crop = ImageCrop((80, 160), 0, 0, (80, 160))
    upright = encoded(stripes, "jpg", quality=95)
    found, expected = (EncodedImage(each, "it").pixels(crop, (3, 40, 10)) for each in (turned, upright))
    assert abs(found.astype(int) - expected).max() < 5


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def bomb(width: int, height: int) -> bytes:
    """A small PNG file that claims to be a large image."""
    rows = zlib.compress(bytes(1 << 20), 9)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.mark.parametrize("side", [8200, 30000, 0x7FFFFFFF])
def test_an_image_of_too_many_pixels_is_refused_before_it_is_decoded(side: int) -> None:
    said = f"it: expected 1 to {MOST_PIXELS} pixels, got {side * side}; scale it down"
    with pytest.raises(DataError) as error:
        EncodedImage(bomb(side, side), "it")
    assert str(error.value) == said


@pytest.mark.parametrize("suffix", ["png", "webp", "jpg"])
def test_truncated_images_are_refused_by_name(suffix: str) -> None:
    content = encoded(photo(3, 60, 80), suffix)
    for kept in (9, 40, len(content) // 2, len(content) - 40):
        with pytest.raises(DataError, match=r"^it: expected .*; make or copy the file anew$"):
            whole(content[:kept])


def test_foreign_and_empty_files_are_refused_by_name() -> None:
    for content, got in ((b"GIF89a" + bytes(30), "b'GIF89a"), (b"", "an empty file"), (b"hello", "b'hello'")):
        with pytest.raises(DataError, match=r"^it: expected a PNG, JPEG or WebP image, got ") as error:
            EncodedImage(content, "it")
        assert got in str(error.value)


@pytest.mark.parametrize("suffix", ["png", "webp", "jpg"])
def test_damaged_images_are_read_or_refused(suffix: str) -> None:
    content, draw = encoded(photo(3, 20, 20), suffix), np.random.default_rng(7)
    for _ in range(150):
        damaged = bytearray(content)
        for place in draw.integers(0, len(content), 4).tolist():
            damaged[place] = int(draw.integers(256))
        try:
            assert whole(bytes(damaged)).dtype == np.uint8
        except DataError as error:
            assert str(error).startswith("it: expected ")  # noqa: PT017


@pytest.mark.parametrize("mode", ["1", "L", "P", "I;16"])
def test_masks_keep_their_classes(mode: str) -> None:
    classes: Any = (GREY // 64).astype(np.uint16 if mode == "I;16" else np.uint8)
    image = Image.fromarray(classes > 0) if mode == "1" else Image.fromarray(classes)
    if mode == "P":
        image = image.convert("P")
        image.putpalette([255, 0, 0] * 4)
    mask = EncodedImage(saved(image), "it")
    found = mask.classes(ImageCrop((20, 30), 4, 6, (10, 20)), (10, 20))
    expected = classes > 0 if mode == "1" else classes
    assert found.dtype == np.int32
    assert np.array_equal(found, expected[4:14, 6:26])
    assert set(np.unique(mask.classes(ImageCrop((20, 30), 0, 0, (20, 30)), (7, 11)))) <= set(np.unique(expected))


def test_a_mask_of_colours_is_refused() -> None:
    with pytest.raises(DataError, match="it: expected one number per pixel, got mode RGB; write the classes"):
        EncodedImage(encoded(COLOURS, "png"), "it").classes(ImageCrop((20, 30), 0, 0, (20, 30)), (20, 30))


def test_without_pillow_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "PIL.PngImagePlugin", None)
    with pytest.raises(NetpartError, match=r"images: expected Pillow, got .*`pip install 'netpart\[images\]'`"):
        EncodedImage(encoded(GREY, "png"), "it")
