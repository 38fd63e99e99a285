"""A run begins with a checkpoint that is what was saved, all of it and of one moment, or it does not begin."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from netpart.errors import ConfigError, DataError
from netpart.launch.report.events import Summary
from netpart.launch.run import run_job
from netpart.proto.reader import read_job
from tests.end2end.running import mlp

Tensors = dict[str, NDArray[Any]]
NAME = "step00000004"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of checkpoints of a run that was 4 steps long."""
    folder = tmp_path_factory.mktemp("trained")
    run_job(read_job(mlp(folder), ["train_steps=4", "test_steps=0"]), 1, launcher="threads", workspace=folder / "run")
    return folder / "run" / "checkpoint"


@pytest.fixture
def folder(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "run" / "checkpoint"))


def resume(folder: Path, *overrides: str) -> Summary:
    job = read_job(mlp(folder.parent), ["resume=true", "test_steps=0", "train_steps=5", *overrides])
    return run_job(job, 1, launcher="threads", workspace=folder.parent)


def rewrite(path: Path, change: Callable[[Tensors], None], **metadata: str) -> None:
    """As another tool would: the same metadata, but for the checksums, which it knows nothing of."""
    with safe_open(path, "numpy") as file:
        said = {key: value for key, value in file.metadata().items() if key != "crc32"}
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path, said | metadata)


def nothing(_: Tensors) -> None:
    pass


def infinite(tensors: Tensors) -> None:
    next(iter(tensors.values()))[0] = np.inf


def turned(tensors: Tensors) -> None:
    name = next(name for name in tensors if name.startswith("fc1/w1"))
    tensors[name] = np.ascontiguousarray(tensors[name].T)


def missing(tensors: Tensors) -> None:
    del tensors[next(name for name in tensors if name.startswith("fc2/bias"))]


@pytest.mark.parametrize("end", ["safetensors", "updater"])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (infinite, "expected finite numbers, got nan or infinity"),
        (turned, r"fc1/w1\S*: expected shape \[16, 8\], got \[8, 16\]"),
        (missing, r"expected tensor 'fc2/bias\S*', got tensors fc1/b1"),
    ],
)
def test_values_that_cannot_be_trained_on_are_refused(
    folder: Path, end: str, change: Callable[[Tensors], None], said: str
) -> None:
    rewrite(folder / f"{NAME}.{end}", change)
    with pytest.raises(DataError, match=rf"{NAME}\.{end}: .*{said}"):
        resume(folder)


@pytest.mark.parametrize("end", ["safetensors", "updater"])
def test_a_bit_that_changed_is_found(folder: Path, end: str) -> None:
    path = folder / f"{NAME}.{end}"
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"{NAME}\.{end}: \S+: expected the bytes that were saved"):
        resume(folder)


def test_the_state_of_another_step_is_refused(folder: Path) -> None:
    shutil.copy(folder / "step00000000.updater", folder / f"{NAME}.updater")
    with pytest.raises(DataError, match="expected the updater's state of step '4', got that of '0'; use another"):
        resume(folder)


@pytest.mark.parametrize("step", ["٤", "04", "5", "-4", "4.0", "", str(2**31), "9" * 5000, "four", "\x00"])
def test_a_step_that_is_not_that_of_the_name_is_refused(folder: Path, step: str) -> None:
    rewrite(folder / f"{NAME}.safetensors", nothing, step=step)
    with pytest.raises(DataError, match="expected step 4 in its metadata, as in its name, got '"):
        resume(folder)


@pytest.mark.parametrize("step", [13, 2**31, 10**30])
def test_a_step_that_the_job_does_not_come_to_is_refused(folder: Path, step: int) -> None:
    for end in ("safetensors", "updater"):
        rewrite(folder / f"{NAME}.{end}", nothing, step=str(step))
        (folder / f"{NAME}.{end}").rename(folder / f"step{step:08d}.{end}")
    with pytest.raises(ConfigError, match=f"expected a step from 0 to 12, where the job ends, got {step}; use --steps"):
        resume(folder, "train_steps=12")
    if step >= 2**31:
        with pytest.raises(ConfigError, match="expected a step from 0 to 2147483647"):
            resume(folder, "train_steps=0")


def test_what_another_tool_has_written_is_read(folder: Path) -> None:
    """Without a step, checksums or an updater's state."""
    save_file(load_file(folder / f"{NAME}.safetensors"), folder / f"{NAME}.safetensors")
    (folder / f"{NAME}.updater").unlink()
    assert resume(folder).steps == 1


def test_whole_checkpoints_are_gone_on_from(folder: Path) -> None:
    assert resume(folder).steps == 1


def test_what_a_killed_run_left_half_written_is_removed(folder: Path) -> None:
    for left in ("step00000009.safetensors.partial", "step00000009.updater.partial"):
        (folder / left).write_bytes(b"half")
    resume(folder)
    assert not list(folder.glob("*.partial"))


def test_the_newest_of_all_runs_stay(folder: Path) -> None:
    """Those that it found, and goes on from, are its own."""
    resume(folder, "train_steps=9", "checkpoint_freq=2", "checkpoint_keep=2")
    assert sorted(path.stem for path in folder.glob("*.updater")) == ["step00000008", "step00000009"]
