"""Epoch sizes: known without reading rows, about right for many files, and unknown where the data is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netpart.measure import epoch_size
from netpart.measure.epoch_size import tabulate_epochs
from netpart.plan.partition import partition_by_scheme
from netpart.proto.reader import read_job
from tests.cli.conftest import JOB
from tests.measure.input_jobs import input_files, input_job


def job_of(layer: str) -> str:
    """JOB with another input."""
    return JOB.replace(JOB[JOB.index("    type: kSyntheticInput") : JOB.index('  layer {\n    name: "conv"')], layer)


ARRAYS = 'type: kArrayInput array_conf { path: "x.npy" label_path: "y.npy" batchsize: 8 shape: [3, 8, 8] } }\n'


@pytest.mark.parametrize(("dtype", "micro"), [("FLOAT32", 1), ("FLOAT64", 2)])
def test_the_epoch_is_that_of_the_whole_mini_batch(dtype: str, micro: int, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((21, 3, 8, 8)))
    np.save(tmp_path / "y.npy", np.zeros(21, "i4"))
    (tmp_path / "job.conf").write_text(f"dtype: {dtype}\n" + job_of(ARRAYS))
    job = read_job(tmp_path / "job.conf", [f"neuralnet.micro_batches={micro}"])
    (found,) = tabulate_epochs(partition_by_scheme(job.proto, 2, job.folder))
    assert (found.name, found.phase, found.batch, found.rows, found.steps) == ("data", "train", 8, 21, 3)
    size = 8 if dtype == "FLOAT64" else 4
    assert found.value_bytes == 21 * (3 * 64 * size + 4)
    assert found.file_bytes == sum((tmp_path / name).stat().st_size for name in ("x.npy", "y.npy"))


def test_of_many_files_some_are_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    input_files(tmp_path)
    job = input_job(tmp_path, "images")
    cut = partition_by_scheme(job.proto, 1, job.folder, phases=("train",))
    (exact,) = tabulate_epochs(cut)
    assert exact.exact
    monkeypatch.setattr(epoch_size, "MOST_FILES", 4)
    (about,) = tabulate_epochs(cut)
    assert not about.exact
    assert about.files == exact.files == 11
    assert exact.file_bytes is not None
    assert about.file_bytes is not None
    assert 0.5 < about.file_bytes / exact.file_bytes < 2


def test_what_is_missing_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "job.conf").write_text(job_of(ARRAYS))
    job = read_job(tmp_path / "job.conf")
    (found,) = tabulate_epochs(partition_by_scheme(job.proto, 2, job.folder))
    assert (found.rows, found.steps, found.file_bytes, found.value_bytes, found.endless) == (None,) * 4 + (False,)
    assert found.files == 2
