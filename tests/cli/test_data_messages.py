"""Errors of data that do not fit the job: CSV files with headers, words and other separators, and foreign files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netpart.data.stores.record import Record, encode_record
from netpart.data.stores.store import KvWriter
from tests.cli.conftest import JOB, Netpart


@pytest.fixture
def csv(job: Path) -> Path:
    """A CSV file with a header, beside a job that reads it."""
    conf = JOB.replace("kSyntheticInput", "kCSVInput").replace(
        "batchsize: 8 shape: 3 shape: 8 shape: 8", 'path: "d.csv" batchsize: 2 shape: 3 shape: 1 shape: 1'
    )
    conf = conf.replace("    synthetic_conf { classes: 5 }\n", "").replace("kernel: 3", "kernel: 1")
    job.write_text(conf)
    file = job.with_name("d.csv")
    file.write_text("label,a,b,c\n" + "".join(f"{k % 5},0.5,{k},1e-3\n" for k in range(8)))
    return file


def test_a_csv_with_a_header(csv: Path, job: Path, netpart: Netpart) -> None:
    said = "d.csv:1: expected values, got a header, 'label,a,b,c'; delete it, or write header: true in store_conf"
    assert said in netpart("run", job, "--launcher", "threads").err
    answer = netpart(
        "run", job, "--launcher", "threads", "--set", "data.store_conf.header=true", "--workspace", csv.parent
    )
    assert answer.code == 0, answer.err


def test_a_csv_with_labels_that_are_names(csv: Path, job: Path, netpart: Netpart) -> None:
    csv.write_text("cat,1,2,3\ndog,1,2,3\n")
    said = "d.csv:1: column 1: expected a label, a whole number from 0, got 'cat'; the label is the first column: "
    assert said in netpart("run", job, "--launcher", "threads", "--workspace", csv.parent).err


SEMICOLONS = b"0;0.1;0.03;3\n" * 8
COMMAS = b"0,0.1,0.03,3\n" * 8
TABS = b"0\t0.1\t0.03\t3\n" * 8


@pytest.mark.parametrize(
    ("content", "written", "said", "cure"),
    [
        (SEMICOLONS, ",", """:1: expected values separated by ",", got '0;0.1;0.03;3'; write separator: ";" in""", ";"),
        (COMMAS, ";", """:1: expected values separated by ";", got '0,0.1,0.03,3'; write separator: "," in""", ","),
        (TABS, ",", r""":1: expected values separated by ",", got '0\t0.1\t0.03\t3'; write separator: "\t" in""", "\t"),
    ],
)
def test_a_csv_with_another_separator(
    content: bytes, written: str, said: str, cure: str, csv: Path, job: Path, netpart: Netpart
) -> None:
    run = "run", job, "--launcher", "threads", "--workspace", csv.parent
    job.write_text(job.read_text().replace("store_conf {", f'store_conf {{ separator: "{written}"'))
    csv.write_bytes(content)
    assert f"d.csv{said}" in netpart(*run).err
    csv.write_bytes(b"label;a;b;c\n" + content)
    below = netpart(*run, "--set", "data.store_conf.header=true").err
    assert f"d.csv{said.replace(':1:', ':2:')}" in below
    job.write_text(job.read_text().replace(f'separator: "{written}"', f"separator: {cure!r}"))
    answer = netpart(*run, "--set", "data.store_conf.header=true")
    assert answer.code == 0, answer.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1,,2,3", "d.csv:5: column 2: expected a number, got ''; fill it or delete the line"),
        ("1,x,2,3", "d.csv:5: column 2: expected a number, got 'x'; correct it or delete the line"),
        ("1,2,nan,3", "d.csv:5: column 3: expected a finite float32, got 'nan'; correct it or delete the line"),
        ("0.5,2,3,1", "d.csv:5: column 1: expected a label, a whole number from 0, got '0.5'; the label is the first"),
        ("1,2,3,cat", "column 4: expected a number, got 'cat'; correct it or delete the line; the label is the first"),
        ("", "d.csv:5: expected a label and 3 values for shape 3x1x1, got 1 columns; correct or delete the line"),
    ],
)
def test_a_bad_line_of_a_csv(line: str, said: str, csv: Path, job: Path, netpart: Netpart) -> None:
    lines = csv.read_text().splitlines()
    csv.write_text("\n".join([*lines[:4], line, *lines[5:], ""]))
    places = "--launcher", "threads", "--workspace", csv.parent, "--set", "data.store_conf.header=true"
    assert said in netpart("run", job, *places, "--steps", 4).err


def test_data_that_is_not_there(csv: Path, job: Path, netpart: Netpart) -> None:
    csv.unlink()
    hint = "correct the path (--set data.store_conf.path=FILE, say)"
    for verb in ("verify", "simulate"):
        answer = netpart(verb, job)
        assert answer.err.startswith(f"error: {job}:9:18: data: {csv}: expected a data file, got nothing there; {hint}")
        assert "link:" not in answer.err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"1,0.5,2\n2,0.25,3\n", "d.csv: expected a kvfile, got a text file; for CSV use type: kCSVInput"),
        (b"\x89PNG\r\n\x1a\n" + bytes(99), "expected a kvfile, got a PNG image; images become records of a kvfile"),
        (b"\xff\xd8\xff\xe0" + bytes(99), "expected a kvfile, got a JPEG image"),
        (b"\x1f\x8b\x08" + bytes(99), "expected a kvfile, got a gzip file; unpack it"),
        (b"PK\x03\x04" + bytes(99), "expected a kvfile, got a zip file (also .npz, .pt)"),
        (b"\xff" * 40, "is it a kvfile?"),
    ],
)
def test_what_is_no_kvfile(content: bytes, said: str, csv: Path, job: Path, netpart: Netpart) -> None:
    csv.write_bytes(content)
    assert said in netpart("run", job, "--set", "data.type=kRecordInput", "--launcher", "threads").err


def test_what_is_no_csv(csv: Path, job: Path, netpart: Netpart) -> None:
    with KvWriter(csv) as writer:
        writer.put(b"0", encode_record(Record.from_array(np.ones(2, np.float32), 0)))
    said = "expected lines of text, got binary data; records of a kvfile are read by type: kRecordInput"
    assert said in netpart("run", job, "--launcher", "threads").err
