"""What a process lacks is told as that, whoever was refused and whatever he called it."""

from __future__ import annotations

import errno
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zmq

from netpart.errors import MemoryRefused, NetpartError
from netpart.shortage import find_shortage

MEMORY = (
    MemoryError(),
    OSError(errno.ENOMEM, "Cannot allocate memory"),
    ImportError("libx.so: failed to map segment from shared object"),
    RuntimeError("can't start new thread"),
)


@pytest.mark.parametrize("error", MEMORY, ids=repr)
def test_memory_has_many_names(error: Exception) -> None:
    assert isinstance(find_shortage(error), MemoryRefused)


def test_what_was_to_be_allocated_is_named() -> None:
    with pytest.raises(MemoryError) as raised:
        np.empty(1 << 60, np.uint8)
    assert "Unable to allocate 1.00 EiB" in str(find_shortage(raised.value))


def test_file_descriptors_are_told_whoever_lacks_them() -> None:
    for error in (OSError(errno.EMFILE, "Too many open files"), zmq.ZMQError(errno.EMFILE)):
        assert str(find_shortage(error)).startswith("file descriptors: expected another one, got ")


def test_other_errors_are_none() -> None:
    for error in (OSError(errno.ENOENT, "x"), RuntimeError("x"), NetpartError("x"), ValueError("std::bad_alloc")):
        assert find_shortage(error) is None


def limited(number: int, limit: int, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """``netpart`` in a process that may have no more than ``limit``."""
    return subprocess.run(
        [sys.executable, "-m", "netpart", *words], capture_output=True, text=True, timeout=120,
        preexec_fn=lambda: resource.setrlimit(number, (limit, limit)),
    )  # fmt: skip


JOB = """name: "small" train_steps: 1 updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } } neuralnet {
layer { name: "data" type: kSyntheticInput store_conf { batchsize: 8 shape: 8 } synthetic_conf { classes: 5 } }
layer { name: "ip" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 5 }
  param { init { type: kUniform } } param { init { type: kConstant value: 0 } } }
layer { name: "loss" type: kSoftmaxLoss srclayers: "ip" srclayers: "data" } }
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    (tmp_path / "job.conf").write_text(JOB)
    return tmp_path / "job.conf"


@pytest.mark.parametrize("limit", [10, 16, 24])
def test_a_run_without_file_descriptors_says_how_many_it_takes(limit: int, job: Path, tmp_path: Path) -> None:
    answer = limited(resource.RLIMIT_NOFILE, limit, "run", job, "--workers", "2", "--workspace", tmp_path)
    assert answer.returncode == 1
    assert "file descriptors: expected " in answer.stderr
    assert f"got a limit of {limit}; raise it" in answer.stderr


@pytest.mark.parametrize(("mib", "says"), [(140, "memory: expected 96.0 MiB of address space"), (1 << 20, "")])
@pytest.mark.parametrize("launcher", ["local", "threads"])
def test_a_run_without_address_space_says_so(mib: int, says: str, launcher: str, job: Path, tmp_path: Path) -> None:
    words = "run", job, "--workers", "2", "--launcher", launcher, "--workspace", tmp_path / "ws"
    answer = limited(resource.RLIMIT_AS, mib << 20, *words)
    assert answer.returncode == (1 if says else 0), answer.stderr
    assert says in answer.stderr
