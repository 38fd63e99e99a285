"""netpart zoo: the list, the copy, and what is never written over."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.cli.zoo import job_description
from netpart.proto.reader import read_job
from netpart.resources import zoo_folder
from tests.cli.conftest import Netpart

CONFS = sorted(zoo_folder().rglob("*.conf"))


def test_every_job_is_listed_with_what_it_is(netpart: Netpart) -> None:
    lines = netpart("zoo").out.splitlines()
    names = [path.relative_to(zoo_folder()).with_suffix("").as_posix() for path in CONFS]
    assert [line.split()[0] for line in lines[1:]] == names
    assert all(len(line.split()) > 3 for line in lines[1:])


@pytest.mark.parametrize("path", CONFS, ids=lambda path: path.stem)
def test_a_description_is_one_sentence(path: Path) -> None:
    text = job_description(path)
    assert 10 < len(text) < 200
    assert not text.endswith((".", ":"))
    assert "#" not in text


def test_a_job_is_copied_and_reads_the_same(tmp_path: Path, netpart: Netpart) -> None:
    answer = netpart("zoo", "mnist/conv", tmp_path)
    assert (answer.code, answer.out) == (0, f"copied {tmp_path}/mnist/conv.conf\n")
    assert read_job(tmp_path / "mnist" / "conv.conf").proto == read_job(zoo_folder() / "mnist" / "conv.conf").proto
    assert netpart("zoo", "mnist/conv", tmp_path).code == 0


def test_a_family_is_copied_to_graphs(tmp_path: Path, netpart: Netpart, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert netpart("zoo", "seed").code == 0
    copied = sorted(p.name for p in (tmp_path / "graphs" / "seed").iterdir())
    assert copied == sorted(p.name for p in (zoo_folder() / "seed").glob("*.conf"))


def test_a_file_that_differs_is_kept(tmp_path: Path, netpart: Netpart) -> None:
    mine = tmp_path / "mnist" / "conv.conf"
    mine.parent.mkdir()
    mine.write_text("mine")
    answer = netpart("zoo", "mnist/conv", tmp_path)
    assert answer.code == 1
    assert f"{mine}: expected no file, got one that differs" in answer.err
    assert mine.read_text() == "mine"


def test_an_unknown_job_is_answered_with_the_nearest(netpart: Netpart) -> None:
    answer = netpart("zoo", "mnist/con")
    assert answer.code == 2
    assert "expected a job or family of the zoo, got 'mnist/con'; did you mean mnist/conv" in answer.err
