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
    expected = "a name that ends in .dot, .html, .json, .pdf, .png, .svg, .txt, got 'a.bmp'; or add --format"
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


BLOCKS = """
  block { name: "pair" input: "x" output: "relu" let { name: "size" }
    layer { name: "fc" type: kInnerProduct srclayers: "x" innerproduct_conf { num_output: ${size} }
      param { init { type: kUniform } } param { init { type: kUniform } } }
    layer { name: "relu" type: kReLU srclayers: "fc" } }
  layer { name: "data" type: kSyntheticInput synthetic_conf { classes: 3 } store_conf { batchsize: 16 shape: [4] } }
  layer { name: "wide" type: kBlock srclayers: "data" block_conf { of: "pair" let { name: "size" value: "6" } } }
  layer { name: "pair" type: kBlock srclayers: "wide"
    block_conf { of: "pair" times: 3 let { name: "size" value: "6" } } }
  layer { name: "last" type: kInnerProduct srclayers: "pair" innerproduct_conf { num_output: 3 }
    param { init { type: kUniform } } param { init { type: kUniform } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: ["last", "data"] }
"""


@pytest.fixture
def block_job(tmp_path: Path) -> Path:
    """A net with a block once with narrower input, and three times alike."""
    path = tmp_path / "blocks.conf"
    path.write_text(f'name: "blocks"\ntrain_steps: 2\nupdater {{ type: kSGD }}\nneuralnet {{{BLOCKS}}}\n')
    return path


def boxes_of(text: str) -> list[str]:
    """The names of the boxes of a folded drawing as text."""
    return re.findall(r"^  (\S.*?)  +workers? ", text, flags=re.MULTILINE)


def test_folds_are_the_blocks_of_the_text(block_job: Path, netpart: Netpart) -> None:
    drawn = netpart("draw", block_job, "--workers", 2, "--fold", "blocks")
    assert boxes_of(drawn.out) == ["data", "wide", "3 × pair1 … pair3", "last", "loss"]
    assert "2 layers each" in drawn.out
    split = netpart("draw", block_job, "--workers", 2, "--fold", "blocks", "--set", "pair2.location=1")
    assert boxes_of(split.out) == ["data", "wide", "pair1", "pair2", "pair3", "last", "loss"]


def test_a_small_net_is_folded_only_on_request(block_job: Path, netpart: Netpart) -> None:
    auto = netpart("draw", block_job, "--workers", 2).out
    assert auto == netpart("draw", block_job, "--workers", 2, "--fold", "none").out
    assert "pair2-fc-01" in auto


def test_a_large_net_is_folded_unless_refused(block_job: Path, netpart: Netpart) -> None:
    large = block_job, "--workers", 16
    assert boxes_of(netpart("draw", *large).out)[1:3] == ["wide", "3 × pair1 … pair3"]
    assert "pair2-fc-15" in netpart("draw", *large, "--fold", "none").out


def test_layers_are_drawn_without_helpers(job: Path, netpart: Netpart) -> None:
    drawn = netpart("draw", job, "--workers", 2, "--hide-helpers", "--format", "dot").out
    assert "concate" not in drawn
    assert '"conv-00" -> ' in drawn


def test_a_drawing_may_run_to_the_right(job: Path, netpart: Netpart) -> None:
    assert "rankdir=LR" in netpart("draw", job, "--format", "dot", "--rankdir", "LR").out
    assert "rankdir=LR" in netpart("draw", job, "--format", "dot", "--rankdir", "LR", "--fold", "blocks").out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--fold", "blocks", "--format", "json"), "--fold: expected a format out of dot, svg, txt, got json"),
        (("--rankdir", "LR"), "--rankdir: expected a format out of dot, svg, got txt; omit --rankdir"),
        (("--hide-helpers", "--turns"), "--hide-helpers: expected a drawing of the net, got --turns"),
    ],
)
def test_a_look_that_cannot_be_seen_is_refused(
    options: tuple[str, ...], said: str, job: Path, netpart: Netpart
) -> None:
    answer = netpart("draw", job, *options)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


def test_a_page_is_of_training(job: Path, netpart: Netpart) -> None:
    path = job.parent / "net.html"
    answer = netpart("draw", job, "--workers", 2, "-o", path)
    assert (answer.code, answer.err) == (0, f"drew {path}\n")
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    refused = netpart("draw", job, "--phase", "test", "-o", path)
    assert refused.code == 2
    assert "--phase: expected a format out of dot, json, svg, txt, got html" in refused.err
