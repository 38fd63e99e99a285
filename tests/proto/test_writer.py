"""A job written again: the same job, in the author's order, with his comments and netpart's."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.proto.blocks.folded_text import write_expanded_job
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import Job, read_job, read_job_text
from netpart.proto.writer import WIDTH, write_job
from netpart.resources import zoo_folder

TEXT = """# What it is.
#
# More of that.

train_steps: 3 # three
name: "it"
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } } # plain
neuralnet {
  # the input
  layer { name: "data" type: kSyntheticInput store_conf { shape: 2 shape: 3 batchsize: [4] } }
  layer {
    relu_conf { negative_slope: 0.5 } # leaky
    type: kReLU
    cut { axis: 1 sizes: 2 sizes: 1 } # uneven
    srclayers: "data"
    name: "act"
    # nothing below
  }
} # of the net
# the end
"""

WRITTEN = """# What it is.
#
# More of that.

train_steps: 3 # three
name: "it"
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } } # plain
neuralnet {
  # the input
  layer {
    name: "data"
    type: kSyntheticInput
    store_conf { shape: [2, 3] batchsize: 4 }
  }

  layer {
    type: kReLU
    srclayers: "data"
    name: "act"
    cut { axis: 1 sizes: [2, 1] } # uneven
    relu_conf { negative_slope: 0.5 } # leaky
  }
}
# nothing below
# of the net
# the end
"""


def test_order_and_comments_are_the_authors() -> None:
    assert write_job(read_job_text(TEXT).proto, TEXT) == WRITTEN
    assert write_job(read_job_text(WRITTEN).proto, WRITTEN) == WRITTEN


def test_notes_are_written_anew() -> None:
    notes = {(): ["head"], ("neuralnet", "layer", 0): ["first", ""], ("neuralnet", "layer", 1): ["second"]}
    text = write_job(read_job_text(TEXT).proto, TEXT, notes)
    assert text.startswith("#: head\n\n# What it is.\n")
    assert "\n  # the input\n  #: first\n  #:\n  layer {\n" in text
    assert write_job(read_job_text(text).proto, text, notes) == text
    assert write_job(read_job_text(text).proto, text) == WRITTEN


def test_fields_that_are_new_stand_behind_those_that_were_there() -> None:
    job = read_job_text(TEXT, overrides=["act.location=0", "seed=7"])
    lines = write_job(job.proto, TEXT).splitlines()
    assert lines.index("seed: 7") > lines.index("}")
    assert lines[lines.index("    cut { axis: 1 sizes: [2, 1] } # uneven") + 1] == "    location: 0"


def test_the_comment_of_a_field_that_is_gone_stays_near() -> None:
    proto = read_job_text(TEXT).proto
    proto.ClearField("train_steps")
    assert "# three\n" in write_job(proto, TEXT)


def test_a_block_on_one_line_is_not_too_long() -> None:
    long = 'checkpoint_path: ["' + "x" * WIDTH + '"]'
    text = write_job(read_job_text(f"neuralnet {{}} cluster {{ workspace: '{'x' * WIDTH}' }} {long}").proto)
    assert text.startswith(f'neuralnet {{}}\ncluster {{\n  workspace: "{"x" * WIDTH}"\n}}\n')


def test_strings_are_quoted() -> None:
    proto = JobProto(name='a "b" \\ ü\n')
    assert read_job_text(write_job(proto)).proto == proto


@pytest.mark.parametrize("path", sorted(zoo_folder().rglob("*.conf")), ids=lambda path: path.stem)
def test_the_zoo_survives(path: Path) -> None:
    job = read_job(path)
    text = write_again(job)
    assert read_job_text(text).proto == job.proto
    included = "include:" in job.text  # its comments precede those of the job
    assert [c for c in text.splitlines() if c.startswith("#")][-9 if included else 0 :] == [
        c for c in job.text.splitlines() if c.startswith("#")
    ][-9 if included else 0 :]
    assert write_again(read_job_text(text)) == text


def write_again(job: Job) -> str:
    return write_expanded_job(job.expansion, job.proto) if job.expansion else write_job(job.proto, job.text)
