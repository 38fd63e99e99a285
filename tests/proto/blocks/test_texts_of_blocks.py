"""Jobs with blocks written again: written out, and with the blocks that they were read with."""

from __future__ import annotations

import pytest

from netpart.plan.partition import partition_by_scheme
from netpart.plan.text.write_plan import with_placements, write_plan
from netpart.proto.blocks.flat_text import write_flat_job
from netpart.proto.blocks.folded_text import write_expanded_job
from netpart.proto.reader import Job, read_job_text
from tests.proto.blocks.texts import JOB, job_with


def read_with(*overrides: str) -> Job:
    return read_job_text(JOB, "job.conf", overrides)


def flat(job: Job) -> str:
    assert job.expansion is not None
    return write_flat_job(job.expansion, job.proto)


def folded(job: Job) -> str:
    assert job.expansion is not None
    return write_expanded_job(job.expansion, job.proto)


def test_the_flat_text_is_the_same_job_with_comments_at_the_first_instance() -> None:
    text = flat(read_with("b2.location=1"))
    assert read_job_text(text).proto == read_with("b2.location=1").proto
    assert "kBlock" not in text
    assert [line.strip() for line in text.splitlines() if "#" in line] == [
        "# a product and its activation", 'name: "b1-in-fc" # the product'
    ]  # fmt: skip


def test_what_has_not_changed_stays_as_it_was() -> None:
    text = folded(read_with())
    assert "num_output: ${width}" in text
    assert "base_lr: ${rate}" in text
    assert 'name: "fc" # the product' in text
    assert read_job_text(text).proto == read_with().proto


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["b*-fc.partition_dim=1"], ["    partition_dim: 1"]),
        (["b2.location=1"], ['change { name: "b2-*" location: 1 }']),
        (["b*.location=1", "b2-add.location=0"], ["      location: 1", 'change { name: "b2-add" location: 0 }']),
        (["b1-in-fc.param[0].lr_scale=2"], ['name: "b1-in-fc"', "lr_scale: 2"]),
        (["b*-fc.innerproduct_conf.num_output=6"], ["num_output: ${width}"]),
        (["updater.learning_rate.base_lr=0.2"], ["base_lr: 0.2"]),
    ],
)
def test_what_instances_differ_in_is_written(overrides: list[str], expected: list[str]) -> None:
    job = read_with(*overrides)
    text = folded(job)
    assert "kBlock" in text
    assert read_job_text(text).proto == job.proto
    assert [line for line in expected if line not in text] == []
    assert folded(read_job_text(text)) == text


@pytest.mark.parametrize("overrides", [["b2-add.srclayers=data,data"], ["b2-add.name=other"], ["b2-add.type=kMul"]])
def test_what_blocks_cannot_say_is_written_out(overrides: list[str]) -> None:
    job = read_with(*overrides)
    assert "kBlock" not in folded(job)
    assert read_job_text(folded(job)).proto == job.proto


def test_changes_of_the_author_are_written_anew() -> None:
    job = read_job_text(job_with("times: 3", 'times: 3 change { name: "b?-in-*" location: 1 }'))
    assert read_job_text(folded(job)).proto == job.proto


@pytest.mark.parametrize("scheme", ["DATA", "COLUMN_ROW", "PIPELINE"])
def test_a_plan_has_the_blocks_of_its_job(scheme: str) -> None:
    job = read_with(f"neuralnet.scheme={scheme}")
    cut = partition_by_scheme(job.proto, 3)
    text = write_plan(job, cut, "the test", job.folder)
    plan = read_job_text(text)
    assert "kBlock" in text
    assert plan.proto == with_placements(job.proto, cut)
    assert write_plan(plan, partition_by_scheme(plan.proto, 3), "the test", job.folder) == text
