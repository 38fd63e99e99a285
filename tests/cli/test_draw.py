"""netpart draw: the format follows the file, the text goes to the screen."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from netpart.draw.font_metrics import widest_text
from netpart.draw.schedule import TEXT
from tests.cli.conftest import Netpart


def test_the_screen_gets_text(job: Path, netpart: Netpart) -> None:
    answer = netpart("draw", job, "--workers", 2)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("small, train: ")
    assert "\nworker 1\n" in answer.out


@pytest.mark.parametrize(
    ("name", "starts"), [("a.dot", "digraph"), ("a.gv", "digraph"), ("a.txt", "small"), ("a.json", "{")]
)
def test_the_format_follows_the_file(name: str, starts: str, job: Path, netpart: Netpart) -> None:
    path = job.parent / "new" / name
    answer = netpart("draw", job, "-o", path)
    assert (answer.code, answer.out, answer.err) == (0, "", f"drew {path}\n")
    assert path.read_text(encoding="utf-8").startswith(starts)


def test_a_format_that_is_asked_for_counts(job: Path, netpart: Netpart) -> None:
    drawn = json.loads(netpart("draw", job, "--workers", 2, "--format", "json").out)
    assert {node["worker"] for node in drawn["nodes"]} == {0, 1}
    path = job.parent / "a.txt"
    netpart("draw", job, "--format", "dot", "-o", path)
    assert path.read_text(encoding="utf-8").startswith("digraph")


def test_an_unknown_suffix_is_refused_before_anything_is_read(job: Path, netpart: Netpart) -> None:
    answer = netpart("draw", "absent.conf", "-o", "a.bmp")
    assert answer.code == 2
    expected = "a name that ends in .dot, .json, .svg, .txt, got 'a.bmp'; or add --format"
    assert answer.err == f"error: --output: expected {expected}\n"


def test_a_phase_is_chosen(job: Path, netpart: Netpart) -> None:
    assert netpart("draw", job, "--phase", "test").out.startswith("small, test: ")


def test_a_scheme_places_all_layers(job: Path, netpart: Netpart) -> None:
    drawn = json.loads(netpart("draw", job, "--workers", 2, "--scheme", "gather-scatter", "--format", "json").out)
    shapes = {node["name"]: node["shape"] for node in drawn["nodes"]}
    assert (shapes["conv-00"], shapes["ip-01"]) == ([8, 2, 6, 6], [8, 3])


def test_an_unknown_scheme_is_refused(job: Path, netpart: Netpart) -> None:
    answer = netpart("draw", job, "--scheme", "navie")
    assert answer.code == 2
    assert answer.err.startswith("error: --scheme: expected a known scheme, got 'navie'; did you mean naive? (all 9: ")


def test_a_schedule_is_drawn_as_svg(netpart: Netpart, job: Path, tmp_path: Path) -> None:
    pipeline = "--workers", 2, "--stages", 2, "--micro-batches", 4, "--turns"
    answer = netpart("draw", job, *pipeline)
    assert answer.code == 0
    assert "small: 1F1B of 4 micro-batches" in answer.out
    (width,) = map(int, re.findall(r'viewBox="0 0 (\d+) ', answer.out))
    notes = re.findall(r'class="note">(.*)</text>', answer.out)
    assert "% of the time is idle; a bar marks backward, which takes twice as long" in " ".join(notes)
    assert widest_text(notes, TEXT) + 12 < width, "what is said below is wider than the picture"
    late = netpart("draw", job, "--workers", 2, "--stages", 2, "--schedule", "delayed", "--turns")
    assert "small: delayed gradients of 4 micro-batches" in late.out
    refused = netpart("draw", job, *pipeline, "-o", tmp_path / "turns.txt")
    assert (refused.code, refused.out) == (2, "")
    assert "--turns: expected the format svg, got txt; name a file that ends in .svg" in refused.err


def test_groups_are_drawn(job: Path, netpart: Netpart) -> None:
    answer = netpart("draw", job, "--groups", "--set", "cluster.nworker_groups=2")
    assert (answer.code, answer.err) == (0, "")
    assert "group 1" in answer.out
    assert "server 0" in answer.out
    assert netpart("draw", job, "--groups", "--format", "dot").code == 2
