"""Small stores that the tests of this folder share."""

from __future__ import annotations

import json
import struct
import tarfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from netpart.data.scans.nifti import save_volume
from netpart.data.stores.record import Record, encode_record
from netpart.data.stores.store import KvWriter
from netpart.proto.record_pb2 import Datum


def kv_bytes(records: Sequence[tuple[bytes, bytes]]) -> bytes:
    """A KVFile put together by hand, independent of KvWriter."""
    parts = (struct.pack("<Q", len(part)) + part for record in records for part in record)
    return b"".join(parts)


def pixels(rows: int, shape: tuple[int, ...], seed: int = 0) -> NDArray[np.uint8]:
    """Images whose elements tell rows and places apart."""
    return np.random.default_rng(seed).integers(0, 256, (rows, *shape), np.uint8)


def image_store(path: Path, images: NDArray[Any]) -> Path:
    """A kvfile of images; the label of row i is i."""
    with KvWriter(path) as writer:
        for i, image in enumerate(images):
            writer.put(b"%08d" % i, encode_record(Record.from_array(image, i)))
    return path


def photo(seed: int, height: int = 30, width: int = 40, channels: int = 3) -> NDArray[np.uint8]:
    """A smooth image (height, width, channels), so that JPEG changes it little; its places differ."""
    y, x = np.mgrid[:height, :width]
    waves = [np.sin((seed + 1 + c) * y / height + c) * np.cos((seed + 2) * x / width + seed) for c in range(channels)]
    return np.asarray(127.5 + 120 * np.stack(waves, -1), np.uint8)


def encoded(values: NDArray[Any], suffix: str, **more: Any) -> bytes:
    """An image (height, width) or (height, width, 3) as a file of that suffix."""
    from PIL import Image

    with BytesIO() as file:
        Image.fromarray(values).save(file, {"jpg": "JPEG", "png": "PNG", "webp": "WEBP"}[suffix], **more)
        return file.getvalue()


def photos(folder: Path, count: int = 11) -> Path:
    """Folders a2, a10 and b of images of several kinds and sizes; their masks, two lists, and two tar files."""
    kinds = ("jpg", "png", "webp")
    lines = []
    for k in range(count):
        stem, kind = f"{('a2', 'a10', 'b')[k % 3]}/{k}", kinds[k // 3 % 3]
        name, mask = f"{stem}.{kind}", f"masks/{stem}.png"
        values = photo(k, 30 + k, 40)
        (folder / "photos" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / mask).parent.mkdir(parents=True, exist_ok=True)
        (folder / "photos" / name).write_bytes(encoded(values, kind))
        (folder / mask).write_bytes(encoded(values[..., 0] // 64, "png"))
        lines.append((f"photos/{name}", mask, k % 3, k % 5))
    (folder / "two.csv").write_text("\n".join(f"{path},{a},{b}" for path, _, a, b in lines))
    (folder / "masks.csv").write_text("path,mask\n" + "\n".join(f"{path},{mask}" for path, mask, _, _ in lines))
    for part in range(2):
        with tarfile.open(folder / f"photos-{part}.tar", "w") as tar:
            for k in range(part, count, 2):
                members = {"jpg": encoded(photo(k, 30 + k, 40), "jpg"), "cls": b"%d\n" % (k % 3)}
                members["json"] = json.dumps({"label": [k % 3, k % 5], "more": "x"}).encode()
                members["seg.png"] = encoded(photo(k, 30 + k, 40)[..., 0] // 64, "png")
                for suffix, content in members.items():
                    info = tarfile.TarInfo(f"train/{k:04}.{suffix}")
                    info.size = len(content)
                    tar.addfile(info, BytesIO(content))
    return folder


def datum_bytes(image: NDArray[Any], label: int) -> bytes:
    """A Datum as Caffe writes it, by protobuf's own encoder: uint8 as data, all else as float_data."""
    datum = Datum(label=label)
    datum.channels, datum.height, datum.width = image.shape
    if image.dtype == np.uint8:
        datum.data = image.tobytes()
    else:
        datum.float_data.extend(image.ravel().tolist())
    return datum.SerializeToString()


def datum_store(folder: Path, images: NDArray[Any], labels: NDArray[Any]) -> Path:
    """An LMDB of images (rows, channels, height, width), written by LMDB itself."""
    lmdb = pytest.importorskip("lmdb")
    with lmdb.open(str(folder), map_size=1 << 26) as environment, environment.begin(write=True) as transaction:
        for i, (image, label) in enumerate(zip(images, labels.tolist(), strict=True)):
            transaction.put(b"%08d" % i, datum_bytes(image, label))
    return folder


def scans(folder: Path, *tasks: str, shape: tuple[int, ...] = (5, 4, 6)) -> Path:
    """Tables TASK-train.csv and TASK-test.csv of two scans, whose voxels tell places and scans apart."""
    pytest.importorskip("nibabel")
    affine = np.diag([2.0, 2.0, 2.0, 1.0])
    volumes = 1 + np.arange(2 * np.prod(shape), dtype=np.int16).reshape(2, *shape)
    for k, volume in enumerate(volumes):
        save_volume(folder / f"scan-{k}.nii.gz", volume, affine)
    for task in tasks:
        for split in ("train", "test"):
            (folder / f"{task}-{split}.csv").write_text("path,label\nscan-0.nii.gz,0\nscan-1.nii.gz,1\n")
    return folder


def masked_scans(folder: Path, count: int = 7) -> Path:
    """A table masked.csv of scans of 5 x 4 x 6 voxels with masks of 3 classes, which the scans show; and its path."""
    pytest.importorskip("nibabel")
    random = np.random.default_rng(2)
    for k in range(count):
        classes = random.integers(0, 3, (5, 4, 6)).astype(np.uint8)
        save_volume(folder / f"masked-{k}.nii.gz", (classes * 50 + k).astype(np.int16), np.eye(4))
        save_volume(folder / f"mask-{k}.nii.gz", classes, np.eye(4))
    lines = [f"masked-{k}.nii.gz,mask-{k}.nii.gz\n" for k in range(count)]
    (folder / "masked.csv").write_text("path,mask\n" + "".join(lines))
    return folder / "masked.csv"
