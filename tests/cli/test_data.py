"""netpart data, and the digits that are made where a job needs them."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import numpy as np
import pytest

from netpart.cli.provide import provide_data, provide_digits
from netpart.data.stores.store import open_store
from netpart.proto.reader import read_job
from netpart.resources import zoo_folder
from tests.cli.conftest import JOB, Netpart
from tests.trained.texts import gpt

FILES = "train_data.bin, test_data.bin, train_mean.bin"


def idx(path: Path, array: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> None:
    path.write_bytes(bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes())


def test_digits_are_made_once(tmp_path: Path, netpart: Netpart) -> None:
    folder = tmp_path / "digits"
    assert netpart("data", "digits", folder).out == f"{folder}: made the digits: {FILES}\n"
    assert netpart("data", "digits", folder).out == f"{folder}: already holds the digits: {FILES}\n"


def test_mnist_is_converted(tmp_path: Path, netpart: Netpart) -> None:
    for part, count in (("train", 3), ("t10k", 2)):
        idx(tmp_path / f"{part}-images-idx3-ubyte", np.arange(count * 4, dtype=np.uint8).reshape(count, 2, 2))
        idx(tmp_path / f"{part}-labels-idx1-ubyte", np.arange(count, dtype=np.uint8))
    answer = netpart("data", "mnist", tmp_path, tmp_path / "out")
    assert (answer.code, answer.out) == (0, f"{tmp_path / 'out'}: made 3 training and 2 test images: {FILES}\n")
    with open_store("kvfile", tmp_path / "out" / "train_data.bin") as store:
        assert len(store) == 3


def test_missing_idx_files_are_named(tmp_path: Path, netpart: Netpart) -> None:
    answer = netpart("data", "mnist", tmp_path, tmp_path / "out")
    assert answer.code == 1
    assert "expected train-images-idx3-ubyte" in answer.err


def reads_digits(folder: Path, where: str) -> Path:
    """A job in ``folder`` that reads digits from ``where``."""
    stored = f'kRecordInput\n    store_conf {{ path: "{where}/train_data.bin" }} #'
    text = JOB.replace("kSyntheticInput", stored, 1).replace("    store_conf { batchsize", "  # {", 1)
    (folder / "job.conf").write_text(text.replace("shape: 3 shape: 8 shape: 8 }", ""))
    return folder / "job.conf"


def test_digits_that_a_job_reads_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "graphs").mkdir()
    path = reads_digits(tmp_path / "graphs", "../data/digits")
    provide_digits(read_job(path))
    assert "graphs/job.conf: its data was missing; made data/digits from the 1 797 digits" in capsys.readouterr().err
    provide_digits(read_job(path))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("where", ["../victim/digits", "ABOVE/victim/digits"])
def test_a_job_has_nothing_made_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    provide_data(read_job(reads_digits(tmp_path / "here", where.replace("ABOVE", str(tmp_path)))))
    assert [p.name for p in tmp_path.iterdir()] == ["here"]


def test_a_file_that_is_there_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "digits").mkdir()
    (tmp_path / "digits" / "test_data.bin").write_bytes(b"precious")
    provide_digits(read_job(reads_digits(tmp_path, "digits")))
    assert (tmp_path / "digits" / "test_data.bin").read_bytes() == b"precious"
    assert sorted(p.name for p in (tmp_path / "digits").iterdir()) == sorted(
        ["test_data.bin", "train_data.bin", "train_mean.bin"]
    )


def test_what_is_refused_has_had_nothing_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, netpart: Netpart
) -> None:
    monkeypatch.chdir(tmp_path)
    path = reads_digits(tmp_path, "digits")
    path.write_text(f'{path.read_text()}\ncluster {{ workspace: "/etc" }}')
    answer = netpart("run", path)
    assert (answer.code, [p.name for p in tmp_path.iterdir()]) == (2, ["job.conf"])
    assert "--workspace" in answer.err


def test_other_data_is_left_to_its_owner(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job.write_text(JOB.replace("store_conf {", 'store_conf { path: "cifar/train_data.bin"'))
    provide_digits(read_job(job))
    assert (capsys.readouterr().err, [p.name for p in job.parent.iterdir()]) == ("", ["job.conf"])


def test_the_source_of_python_is_made_once(tmp_path: Path, netpart: Netpart) -> None:
    file = tmp_path / "data" / "python.txt"
    assert netpart("data", "python", file).out.startswith(f"{file}: made ")
    assert netpart("data", "python", file).out == f"{file}: is there\n"


def test_the_source_of_python_that_a_job_reads_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = gpt(tmp_path)
    job = read_job(path, ["text.text_conf.files=data/python.txt"])
    provide_data(job)
    assert "gpt.conf: its data was missing; made" in capsys.readouterr().err
    assert (tmp_path / "data" / "python.txt").exists()
    provide_data(job)
    provide_data(read_job(path, ["text.text_conf.files=absent.txt"]))
    assert capsys.readouterr().err == ""


def test_a_cohort_of_phantoms_is_made(tmp_path: Path, netpart: Netpart) -> None:
    pytest.importorskip("nilearn")
    answer = netpart("data", "phantom", tmp_path / "phantom", "--subjects", 4, "--spacing", 4)
    assert answer.out.startswith(f"{tmp_path / 'phantom'}: made 4 scans: ad-nc-train.csv, ad-nc-test.csv")
    assert answer.out.endswith("diseases alter; no test subjects: that takes 20 --subjects or more\n")
    assert netpart("data", "phantom", tmp_path, "--subjects", 0).code == 2


def test_phantoms_that_a_job_reads_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = list[tuple[Path, int, int]]()
    monkeypatch.setattr("netpart.data.make.phantom.make_phantom", lambda *args: made.append(args))
    monkeypatch.chdir(tmp_path)
    shutil.copytree(zoo_folder() / "resattnet", tmp_path / "graphs" / "resattnet")  # with the blocks that it includes
    path = tmp_path / "graphs" / "resattnet" / "job.conf"
    text = path.with_name("resattnet18-ad-nc.conf").read_text()
    path.write_text(text)
    provide_data(read_job(path))
    assert [(folder, subjects) for folder, subjects, _ in made] == [(tmp_path / "data" / "phantom", 800)]
    assert "its data is missing; making" in capsys.readouterr().err
    path.write_text(text.replace("/phantom/", "/adni/"))
    provide_data(read_job(path))
    assert len(made) == 1
