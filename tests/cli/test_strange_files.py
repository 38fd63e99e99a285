"""What a path of a job leads to that is no file, or none that can be read: refused at once, by its name."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import JOB, Netpart

NET = """name: "small" train_steps: 0
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet { layer { name: "data" type: %s } }
"""
INPUTS = {
    "records": 'kRecordInput store_conf { path: "a" batchsize: 8 shape: 3 }',
    "csv": 'kCSVInput store_conf { path: "a" batchsize: 8 shape: 3 }',
    "text": 'kTextInput text_conf { files: "a" batchsize: 8 window: 200 }',
    "images": 'kImageInput image_conf { path: "a" batchsize: 8 shape: [3, 8, 8] }',
    "tar": 'kTarInput tar_conf { path: "a" } image_conf { batchsize: 8 shape: [3, 8, 8] }',
    "array": 'kArrayInput array_conf { path: "a" batchsize: 8 }',
    "tokens": 'kTokenInput token_conf { files: "a" batchsize: 8 window: 200 }',
    "lmdb": 'kLMDBData lmdbdata_conf { path: "a" batchsize: 8 }',
    "scans": 'kNiftiInput nifti_conf { path: "a" batchsize: 8 shape: [8, 8, 8] }',
}

KINDS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a pipe": (os.mkfifo, "a pipe; save what it brings in a file"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "a device"),
    "memory": (lambda path: path.symlink_to("/proc/self/mem"), ""),
    "a circle": (lambda path: path.symlink_to(path.name), ""),
    "binary": (lambda path: path.write_bytes(bytes(range(200))), ""),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("given", INPUTS)
def test_data_that_is_no_file_is_refused_by_its_name(kind: str, given: str, folder: Path, netpart: Netpart) -> None:
    make, words = KINDS[kind]
    make(folder / "a")
    (folder / "job.conf").write_text(NET % INPUTS[given])
    answer = netpart("check", "job.conf")
    said = answer.err + answer.out
    assert "itself failed" not in said
    assert "a: expected " in said or "a:1: expected" in said or "a: byte 8, record 0: expected" in said, said
    assert words in said
    assert answer.code in (1, 2) or "got nothing there" in said


@pytest.mark.parametrize("kind", ["a pipe", "a device", "a circle"])
def test_so_is_a_job(kind: str, folder: Path, netpart: Netpart) -> None:
    KINDS[kind][0](folder / "a")
    answer = netpart("check", "a")
    assert answer.err.startswith("error: a: expected a job configuration file, got ")
    assert (answer.code, answer.err.count("\n")) == (2, 1)


@pytest.mark.parametrize("kind", ["a pipe", "a device", "memory", "a circle"])
def test_so_is_a_checkpoint(kind: str, folder: Path, netpart: Netpart) -> None:
    (folder / "job.conf").write_text(f'checkpoint_path: "a"\n{JOB}')
    KINDS[kind][0](folder / "a")
    answer = netpart("check", "job.conf")
    assert "a: expected " in answer.err + answer.out
    assert answer.code == 1


def test_a_label_of_thousands_of_digits_is_no_label(folder: Path, netpart: Netpart) -> None:
    for given, line in (("scans", f"a.nii,{'9' * 5000}\n"), ("csv", "9" * 5000 + ",1" * 192 + "\n")):
        (folder / "a").write_text(line)
        (folder / "job.conf").write_text(NET % INPUTS[given])
        answer = netpart("run", "job.conf", "--launcher", "threads", "--workers", 1, "--workspace", "ws")
        assert "a:1: " in answer.err
        assert "expected " in answer.err
        assert "itself failed" not in answer.err
        assert "Exceeds the limit" not in answer.err


def test_a_record_of_more_than_there_is_memory_for_is_refused(folder: Path, netpart: Netpart) -> None:
    (folder / "a").write_bytes(struct.pack("<Q", 1) + b"k" + struct.pack("<Q", 1 << 39))
    os.truncate(folder / "a", 1 << 40)
    (folder / "job.conf").write_text(NET % INPUTS["records"])
    answer = netpart("check", "job.conf")
    assert "a: byte 9, record 0: expected a value of 1 to 1073741824 bytes, got one of 549755813888" in (
        answer.err + answer.out
    )
