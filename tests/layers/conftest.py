"""The data of the tests of input layers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netpart.data.make.image_store import write_images
from netpart.data.stores.mean import write_mean
from tests.datasets.samples import datum_store, photos, scans
from tests.layers.input_layers import COUNT, IMAGES, LABELS, RGB, TEXT


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data")
    write_images(path / "images.bin", IMAGES, LABELS)
    write_mean(path / "mean.bin", IMAGES.mean(axis=0))
    rows = [",".join(map(str, [label, *image.ravel()])) for image, label in zip(IMAGES, LABELS, strict=True)]
    (path / "images.csv").write_text("\n".join(rows) + "\n")
    scans(path, "nc")
    photos(path, COUNT)
    write_images(path / "rgb.bin", RGB, LABELS)
    write_mean(path / "rgb-mean.bin", RGB.mean(axis=0))
    (path / "one.txt").write_bytes(TEXT[:100])
    (path / "two.txt").write_bytes(TEXT[100:])
    np.savez(path / "images.npz", x=IMAGES, y=LABELS)
    np.save(path / "one.npy", np.arange(100, dtype=np.uint32) * 700)
    (path / "two.bin").write_bytes(np.arange(200, dtype="<u2").tobytes())
    datum_store(path / "images.lmdb", IMAGES[:, None], LABELS)
    return path
