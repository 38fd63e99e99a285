"""The section on regression of docs/data.md: its job learns from a table and from arrays, on any number of workers."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from netpart.graph.partition import partition_job
from netpart.proto.reader import read_job
from netpart.worker.ensemble import Ensemble
from tests.house.page_package import first_rows, page_blocks, run_python

BLOCKS = page_blocks("data.md", "Regression")
(JOB, ARRAYS) = BLOCKS["protobuf"]
COMMANDS = BLOCKS[""][0].splitlines()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the page is followed, with the files that it makes."""
    path = tmp_path_factory.mktemp("page")
    (path / "block.py").write_text(BLOCKS["python"][0])
    run_python(path, "block.py")
    (path / "houses.conf").write_text(JOB)
    table = re.compile(r'layer { name: "data".*? } }\n', re.DOTALL)
    (path / "arrays.conf").write_text(table.sub(lambda _: ARRAYS, JOB, count=1))
    return path


@pytest.mark.thorough
def test_the_commands_of_the_page_learn_and_predict(folder: Path) -> None:
    for command in COMMANDS:
        run_python(folder, "-m", *shlex.split(command))
    found, wanted = np.load(folder / "predicted.npy"), np.load(folder / "prices.npy")
    assert np.abs(found - wanted).mean() < 0.12  # of noise alone: 0.08
    assert np.abs(wanted).mean() > 1


@pytest.mark.parametrize("job", ["houses.conf", "arrays.conf"])
def test_the_loss_is_that_of_one_worker(job: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    whole, *others = [losses(job, *each) for each in ((1, 1), (2, 1), (2, 4))]
    assert whole[-1] < 0.01 < 0.1 < whole[0]
    for found in others:
        assert found == pytest.approx(whole, rel=1e-12)


def losses(job: str, workers: int, micro_batches: int) -> list[float]:
    """The loss of every step, in float64."""
    changes = ["dtype=FLOAT64", f"neuralnet.micro_batches={micro_batches}"]
    ensemble = Ensemble(partition_job(read_job(Path(job), overrides=changes).proto, workers))
    ensemble.initialise()
    return [ensemble.step("train", step)["loss/loss"] for step in range(100)]


def test_the_arrays_of_the_page_are_targets(folder: Path) -> None:
    data, target = first_rows(ARRAYS.replace("shuffle: true", ""), folder)
    assert np.array_equal(data, np.load(folder / "sizes.npy")[:50].astype(np.float32))
    assert np.array_equal(target, np.load(folder / "prices.npy")[:50].astype(np.float32))
