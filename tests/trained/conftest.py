"""What the tests of predictions share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netpart.proto.reader import read_job
from tests.end2end.running import mlp
from tests.house.tree import ROOT
from tests.trained.trained_jobs import Trained


@pytest.fixture
def classifier(tmp_path: Path) -> Trained:
    """A net of 4 classes that reads 6 rows of 8 numbers, and 20 rows in rows.npy."""
    np.save(tmp_path / "rows.npy", np.random.default_rng(3).normal(size=(20, 8)))
    return Trained(read_job(mlp(tmp_path, dtype="FLOAT64")), tmp_path)


@pytest.fixture
def segmenter(tmp_path: Path) -> Trained:
    """A small U-Net in float64, and 5 images."""
    changes = ["dtype=FLOAT64", "train_steps=2", "kernels=REFERENCE", "data.store_conf.batchsize=4"]
    np.save(tmp_path / "rows.npy", np.random.default_rng(5).normal(size=(5, 1, 32, 32)))
    return Trained(read_job(ROOT / "graphs" / "unet" / "unet2d-small.conf", changes), tmp_path)
