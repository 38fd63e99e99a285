"""The layout of texts: the author's lines and comments, netpart's blanks; the same message, and stable."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from google.protobuf import text_format

from netpart.errors import ConfigError
from netpart.proto.blocks.source import read_job_source
from netpart.proto.job_files import jobs_below
from netpart.proto.job_formatting import format_job
from netpart.proto.job_pb2 import JobProto
from netpart.proto.layout.format_text import WIDTH, format_text
from netpart.resources import zoo_folder
from tests.fuzz.job_texts import JOBS
from tests.fuzz.mutate import reworded
from tests.house.tree import ROOT
from tests.proto.layout.scattered import comments_of, random_job, random_text, scattered_text
from tests.thorough import sampled

GROUP = 100
"""Random jobs of one test; there are 100 groups, of which `make test` tries two."""

WRITTEN = """# a job


name  :  'it' ;  seed:1 # first
disp_freq:  20    # in one column
test_freq: 3      # with this

updater: < type: kSGD, learning_rate
  { type: kFixed base_lr: .1 }

>
neuralnet {

    layer { name: "a" # of the head
        srclayers: [ "b" , # one
         "c" ] location: [ ]
   # inside
      relu_conf { } } }
"""
LAID = """# a job

name: "it" seed: 1 # first
disp_freq: 20 # in one column
test_freq: 3  # with this

updater { type: kSGD learning_rate { type: kFixed base_lr: .1 }
}
neuralnet {
  layer { name: "a" # of the head
    srclayers: ["b", # one
      "c"] location: []
    # inside
    relu_conf {} } }
"""


def test_lines_are_the_authors() -> None:
    assert format_text(WRITTEN) == LAID
    assert format_text(LAID) == LAID


def test_ten_lines_stay_ten_lines() -> None:
    (text,) = re.findall(r"```protobuf\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    laid = format_text(text)
    assert [line.split() for line in laid.splitlines()] == [line.split() for line in text.splitlines()]
    assert len(laid.splitlines()) == 10


def test_a_comment_between_a_name_and_its_value_moves_to_the_end_of_the_line() -> None:
    assert format_text("name: # one\n  # two\n 'it' # three\n") == '# one\n# two\nname: "it" # three\n'
    assert format_text("updater # one\n  { # two\n}") == "# one\nupdater { # two\n}\n"


def test_a_comment_goes_on_below_another() -> None:
    text = "seed: 1 # one\n        # and on\nname: 'x'\n# of the next\ndisp_freq: 2\n"
    assert format_text(text) == 'seed: 1 # one\n        # and on\nname: "x"\n# of the next\ndisp_freq: 2\n'


def test_a_long_line_is_broken_between_fields_first() -> None:
    inside = " ".join(f"param {{ name: 'w{n}' }}" for n in range(9))
    lines = format_text(f"neuralnet {{ layer {{ name: 'x' type: kReLU {inside} }} }} # all\n").splitlines()
    assert lines[:4] == ["neuralnet { # all", "  layer {", '    name: "x"', "    type: kReLU"]
    assert lines[4] == '    param { name: "w0" }'
    assert lines[-2:] == ["  }", "}"]


def test_a_long_list_is_filled() -> None:
    lines = format_text(f"neuralnet {{ layer {{ location: [{','.join(map(str, range(100)))}] }} }}").splitlines()
    listed = lines[2:-2]
    assert lines[:2] == ["neuralnet {", "  layer {"]
    assert listed[0].startswith("    location: [0, 1, ")
    assert all(100 < len(line) <= WIDTH and line.startswith("      ") for line in listed[1:-1])
    assert listed[-1].endswith(" 99]")


def test_values_stay_as_they_are_written() -> None:
    text = 'a: 0x1F b: 1e-3f c: \'say "so"\' d: "\\x41" e: ${size} f: "${a}-b" [a.b.c] { g: -inf }\n'
    assert format_text(text) == text


@pytest.mark.parametrize("text", ["", "\n\n", "# alone", "name: 'x'\r\n# \u2028 end \r\n"])
def test_small_texts(text: str) -> None:
    laid = format_text(text)
    assert comments_of(laid) == comments_of(text)
    assert format_text(laid) == laid
    assert "\r" not in laid


@pytest.mark.parametrize("path", sampled(jobs_below(zoo_folder()), 8), ids=lambda path: path.stem)
def test_blocks_and_placeholders_of_the_zoo_stay(path: Path) -> None:
    written = path.read_text(encoding="utf-8")
    text = scattered_text(written, Random(path.stem))
    laid = format_text(text)
    source, again = read_job_source(written, "zoo", None), read_job_source(laid, "zoo", None)
    assert (again.proto, again.unquoted) == (source.proto, source.unquoted)
    assert comments_of(laid) == comments_of(text)
    assert format_text(laid) == laid


@pytest.mark.parametrize("group", sampled(range(100), 50))
def test_any_text_is_the_same_job_with_all_comments_and_stable(group: int) -> None:
    for seed in range(group * GROUP, (group + 1) * GROUP):
        draw = Random(seed)
        job = random_job(draw)
        text = random_text(job, draw)
        laid = format_text(text)
        found = JobProto()
        text_format.Parse(laid, found)
        assert found == text_format.Parse(text, JobProto()) == job, seed
        assert comments_of(laid) == comments_of(text), seed
        assert format_text(laid) == laid, seed
        assert "\n\n\n" not in laid, seed


@pytest.mark.parametrize("group", sampled(range(100), 50))
def test_a_text_with_mistakes_is_refused_or_formatted(group: int) -> None:
    texts = [*JOBS.values(), (zoo_folder() / "gpt" / "gpt2-small.conf").read_text(encoding="utf-8")]
    for seed in range(group * GROUP // 2, (group + 1) * GROUP // 2):
        draw = Random(seed)
        text = reworded(draw.choice(texts), draw)
        try:
            laid = format_job(text.encode(), "job").formatted.decode()
        except ConfigError:
            continue
        assert format_text(laid) == laid, seed
        assert read_job_source(laid, "job", None).proto == read_job_source(text, "job", None).proto, seed
