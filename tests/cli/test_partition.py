"""netpart partition: a plan that can be run, edited and written again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Netpart


def test_a_plan_is_the_job_with_its_cuts(job: Path, netpart: Netpart, tmp_path: Path) -> None:
    plan = tmp_path / "plans" / "plan.conf"
    plan.parent.mkdir()
    options = "--workers", 2, "--scheme", "column-row", "--set", "seed=7", "--collectives", "ring"
    answer = netpart("partition", job, *options, "-o", plan)
    assert (answer.code, answer.out, answer.err) == (0, "", f"wrote {plan}\n")
    text = plan.read_text()
    assert f"#:     netpart partition {job} --workers 2 --scheme column-row --collectives ring --set seed=7\n" in text
    assert "seed: 7\n" in text
    assert netpart("diff", plan, "--scheme", "column-row").out.startswith("The plans are the same: ")
    tables = [
        json.loads(netpart("check", *arguments, "--json").out)
        for arguments in ((plan,), (job, "--workers", 2, "--scheme", "column-row"))
    ]
    assert tables[0]["layers"] == tables[1]["layers"]
    assert tables[0]["workers"] == tables[1]["workers"]


def test_a_plan_names_every_option_that_made_it(job: Path, netpart: Netpart) -> None:
    options = (
        "--workers 2 --stages 2 --micro-batches 2 --schedule gpipe --recompute --kernels reference --dtype float64"
    )
    answer = netpart("partition", job, *options.split(), "--seed", 0)
    assert f"#:     netpart partition {job} {options} --seed 0\n" in answer.out


def test_a_plan_runs_and_can_be_edited(job: Path, netpart: Netpart, tmp_path: Path) -> None:
    plan = tmp_path / "plan.conf"
    netpart("partition", job, "--workers", 2, "-o", plan)
    edited = plan.read_text().replace("partition_dim: 0", "partition_dim: 1", 1)
    plan.write_text(edited)
    answer = netpart("run", plan, "--launcher", "threads", "--workspace", tmp_path / "out")
    assert answer.code == 0
    assert "as predicted" in answer.out
    assert netpart("verify", plan).code == 0


def test_without_a_file_the_plan_is_shown(job: Path, netpart: Netpart) -> None:
    first = netpart("partition", job, "--workers", 2)
    assert first.code == 0
    assert first.out.startswith("#: A plan for 2 workers, made by\n")


def test_a_plan_is_written_over_and_nothing_else(job: Path, netpart: Netpart, tmp_path: Path) -> None:
    before, plan = job.read_text(), tmp_path / "plan.conf"
    answer = netpart("partition", job, "-o", job)
    assert (answer.code, job.read_text()) == (2, before)
    assert answer.err == f"error: {job}: expected no file or an older plan, got something else; choose another name\n"
    assert [netpart("partition", job, "--workers", n, "-o", plan).code for n in (2, 3)] == [0, 0]
    assert "nworkers_per_group: 3" in plan.read_text()


def test_no_folder_is_made_for_a_plan(job: Path, netpart: Netpart, tmp_path: Path) -> None:
    answer = netpart("partition", job, "-o", tmp_path / "no" / "plan.conf")
    assert (answer.code, (tmp_path / "no").exists()) == (2, False)
    assert "plan.conf: expected a file in a folder that exists, got no folder" in answer.err


@pytest.mark.parametrize(("workers", "told"), [(2, False), (3, True)])
def test_a_plan_for_other_workers_is_told(
    workers: int, told: bool, job: Path, netpart: Netpart, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.conf"
    netpart("partition", job, "--workers", 2, "-o", plan)
    warning = f"warning: {plan} is a plan for 2 workers, cut over 3: "
    assert (warning in netpart("check", plan, "--workers", workers).out) == told
    options = "--launcher", "threads", "--workspace", tmp_path / "out"
    assert (warning in netpart("run", plan, "--workers", workers, *options).err) == told


def test_a_plan_of_a_plan_changes_nothing_but_its_name(job: Path, netpart: Netpart, tmp_path: Path) -> None:
    plan = tmp_path / "plan.conf"
    netpart("partition", job, "--workers", 2, "--scheme", "naive", "-o", plan)
    first = plan.read_text()
    netpart("partition", plan, "-o", plan)
    second = plan.read_text()
    assert [line for line in second.splitlines() if "netpart partition" not in line] == [
        line for line in first.splitlines() if "netpart partition" not in line
    ]


def test_what_cannot_be_cut_says_where(job: Path, netpart: Netpart) -> None:
    answer = netpart("partition", job, "--workers", 2, "--set", "ip.partition_dim=3")
    assert answer.code == 2
    assert "expected a cut on axis 0 (batch) or 1" in answer.err
