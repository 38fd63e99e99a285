"""netpart predict: writes what a net predicts, or says in one message why it cannot."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import JOB, Netpart


@pytest.fixture
def job(tmp_path: Path, netpart: Netpart, monkeypatch: pytest.MonkeyPatch) -> str:
    """A job that was run for 2 steps, in the current folder, and 5 rows for it in x.npy."""
    monkeypatch.chdir(tmp_path)
    Path("job.conf").write_text(JOB)
    np.save("x.npy", np.random.default_rng(1).normal(size=(5, 3, 8, 8)))
    assert netpart("run", "job.conf", "--launcher", "threads").code == 0
    return "job.conf"


def test_a_table_is_written_and_its_name_printed(job: str, netpart: Netpart) -> None:
    answer = netpart("predict", job, "--launcher", "threads", "--workers", 2, "--input", "x.npy", "-o", "new/p.csv")
    assert answer.code == 0
    first, written, moved = answer.out.splitlines()
    assert "small: 2 workers on cpu" in first
    assert "batch 8, phase test after step 2" in first
    assert written.startswith("predicted 5 rows in ")
    assert written.endswith(": new/p.csv")
    assert "between workers, as predicted" in moved
    assert len(Path("new/p.csv").read_text().splitlines()) == 6
    assert sorted(path.name for path in Path("new").iterdir()) == ["p.csv"]


def test_an_error_of_a_layer_has_its_place_in_the_job(job: str, netpart: Netpart) -> None:
    """Not that in the part of the net that predicts."""
    other = JOB.replace('    name: "ip"\n', '    name: "ip"\n    partition_dim: 1\n    location: 7\n')
    Path("job.conf").write_text(other)
    line = 1 + other.splitlines().index("    location: 7")
    answer = netpart("predict", job, "--launcher", "threads", "--workers", 2, "--input", "x.npy", "-o", "p.csv")
    assert answer.code == 2
    assert f"job.conf:{line}:" in answer.err


OUTPUTS: list[tuple[str, int, str]] = [
    ("p.txt", 2, ".npy, .nii, .nii.gz, or of a folder, without a dot, got p.txt; change its ending"),
    ("job.conf/p.csv", 1, "job.conf: expected a file or folder that can be used, got a file"),
    ("/proc/none/p.csv", 1, "got nothing there; name another path"),
    ("pipe.csv", 2, "expected a new or a regular file, got pipe.csv, which is neither; name another path"),
    ("folder.csv", 2, "expected a new or a regular file, got folder.csv"),
]


@pytest.mark.parametrize(("name", "code", "message"), OUTPUTS)
def test_an_output_that_cannot_be_written(name: str, code: int, message: str, job: str, netpart: Netpart) -> None:
    os.mkfifo("pipe.csv")
    Path("folder.csv").mkdir()
    answer = netpart("predict", job, "--launcher", "threads", "--input", "x.npy", "-o", name)
    assert answer.code == code
    assert message in answer.err
    assert (answer.out, answer.err.count("\n")) == ("", 1)


INPUTS: list[tuple[Callable[[Path], object], str]] = [
    (lambda path: None, "expected a file of rows, got nothing there; correct --input"),
    (os.mkfifo, "expected a file of rows, got a pipe"),
    (lambda path: path.symlink_to("/dev/zero"), "expected a file of rows, got a device"),
    (lambda path: path.write_bytes(b""), "expected a NumPy file (.npy)"),
    (lambda path: path.write_bytes(Path("x.npy").read_bytes()[:1000]), "expected 7808 bytes for shape (5, 3, 8, 8)"),
    (lambda path: np.save(path, np.zeros((5, 3, 8, 9))), "expected rows of shape (3, 8, 8), as data reads them"),
    (lambda path: np.save(path, np.zeros((5, 3), object), allow_pickle=True), "expected numbers, got object"),
]


@pytest.mark.parametrize(("make", "message"), INPUTS)
def test_an_input_that_cannot_be_read(make: Callable[[Path], object], message: str, job: str, netpart: Netpart) -> None:
    make(Path("a.npy"))
    answer = netpart("predict", job, "--launcher", "threads", "--input", "a.npy", "-o", "p.csv")
    assert answer.code in (1, 2)
    assert message in answer.err
    assert (answer.out, answer.err.count("\n")) == ("", 1)
    assert not Path("p.csv").exists()


def test_a_failed_prediction_leaves_the_file_of_an_earlier_one(job: str, netpart: Netpart) -> None:
    """The net reads tokens up to 9, and meets a larger one in the second mini-batch."""
    Path("tokens.conf").write_text(TOKENS)
    assert netpart("run", "tokens.conf", "--launcher", "threads").code == 0
    rows = np.arange(12).reshape(6, 2) % 10
    np.save("t.npy", rows)
    assert netpart("predict", "tokens.conf", "--launcher", "threads", "--input", "t.npy", "-o", "p.npy").code == 0
    before = Path("p.npy").read_bytes()
    rows[4, 1] = 10
    np.save("t.npy", rows)
    answer = netpart("predict", "tokens.conf", "--launcher", "threads", "--input", "t.npy", "-o", "p.npy")
    assert answer.code == 1
    assert "10" in answer.err
    assert Path("p.npy").read_bytes() == before
    assert not list(Path().glob(".*partial"))


TOKENS = """name: "tokens" train_steps: 0
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: kSyntheticTokens store_conf { batchsize: 4 shape: 2 } synthetic_conf { classes: 10 } }
  layer { name: "embed" type: kEmbedding srclayers: "data" embedding_conf { vocab_size: 10 feature_dim: 10 }
    param { init { type: kGaussian } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "embed" srclayers: "data" }
}
"""
