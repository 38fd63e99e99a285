"""netpart run, held against another run."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from netpart.launch.report.events import Saved
from netpart.launch.report.run_record import RunRecord
from netpart.threads import THREAD_VARIABLES, available_cores
from tests.cli.conftest import JOB, Netpart
from tests.house.tree import ROOT

NONE = "no checkpoint was saved"


def test_a_run_is_held_against_a_serial_one(tmp_path: Path, netpart: Netpart) -> None:
    job, one = tmp_path / "job.conf", tmp_path / "one.json"
    confusion = 'layer { name: "table" type: kConfusion srclayers: ["ip", "data"] include: kTest }\n}'
    job.write_text(f"test_steps: 2\n{JOB.rstrip()[:-1]}{confusion}\n")
    run = "run", job, "--launcher", "threads", "--workspace", tmp_path / "out"
    assert netpart(*run, "--summary", one).code == 0
    summary = json.loads(one.read_text())
    table = summary["tables"]["table/confusion"]
    assert sum(map(sum, table)) == 16
    assert summary["test"]["table/accuracy"] == summary["accuracies"][-1][1]
    answer = netpart(*run, "--workers", 2, "--against", one, "--reach", 0)
    assert answer.code == 0
    assert "table/confusion of the test: rows are true classes" in answer.out
    assert "  speed-up  " in answer.out
    assert netpart(*run, "--against", tmp_path / "absent.json").code == 1
    assert netpart(*run, "--reach", 2).code == 2


def test_a_run_that_fails_says_where_resume_goes_on(tmp_path: Path, netpart: Netpart) -> None:
    job, diverging = tmp_path / "job.conf", "updater.learning_rate.base_lr=1e38"
    job.write_text(JOB)
    every = "--set", "disp_freq=1", "--set", "checkpoint_freq=1", "--steps", 9
    answer = netpart("run", job, "--launcher", "threads", "--workspace", tmp_path / "out", "--set", diverging, *every)
    error, note = answer.err.splitlines()
    assert (answer.code, error[:7]) == (1, "error: ")
    assert note.startswith(f"the latest checkpoint is {tmp_path}/out/checkpoint/step0000")
    assert note.endswith(".safetensors, --resume continues from it")


def test_more_threads_than_cores_are_told(tmp_path: Path, netpart: Netpart, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    job, has = tmp_path / "job.conf", available_cores()
    job.write_text(JOB)
    run = "run", job, "--workspace", tmp_path / "out"
    few = f"too many for the {has} core{'s' * (has > 1)} of worker 0: use --threads {has}; batch"
    assert f"{has + 1} threads, {few}" in netpart(*run, "--threads", has + 1).out
    assert "too many" not in netpart(*run, "--threads", has).out
    monkeypatch.setenv("OMP_NUM_THREADS", "banana")
    answer = netpart(*run)
    wrong = "error: OMP_NUM_THREADS: expected a number from 1, got 'banana'; unset it, or write --threads N\n"
    assert (answer.code, answer.err) == (2, wrong)


def test_workers_without_the_gpu_that_was_asked_for_say_so_in_a_line(
    tmp_path: Path, netpart: Netpart, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even before they have a transport, which for GPUs is on the GPU."""
    (tmp_path / "cupy.py").write_text("raise ImportError('no CuPy here')\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]))
    job = tmp_path / "job.conf"
    job.write_text(JOB)
    answer = netpart("run", job, "--workers", 2, "--device", "cuda", "--workspace", tmp_path / "out")
    assert answer.code == 1
    assert "before step 0, starting: --device cuda: expected cupy and a GPU, got no CuPy here; in a clone" in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize(("first", "note"), [(0, "the latest checkpoint is {}, --resume continues from it"), (5, NONE)])
def test_a_run_that_diverges_saves_nothing_of_it(tmp_path: Path, netpart: Netpart, first: int, note: str) -> None:
    """The loss is looked at every 50 steps, parameters before each checkpoint."""
    words = "run", "graphs/mlp/column-row.conf", "--launcher", "threads", "--workspace", tmp_path / "out"
    rates = "updater.learning_rate.base_lr=1e38", "disp_freq=50", "checkpoint_freq=10", f"checkpoint_after={first}"
    answer = netpart(*words, *(word for rate in rates for word in ("--set", rate)))
    error, told = answer.err.splitlines()
    assert answer.code == 1
    assert error.startswith(f"error: checkpoint of step {first or 10}: expected finite numbers, got nan or")
    good = tmp_path / "out" / "checkpoint" / "step00000000.safetensors"
    assert told == note.format(good)
    left = [] if first else [good, good.with_suffix(".updater")]
    assert sorted((tmp_path / "out" / "checkpoint").iterdir()) == left


def test_a_workspace_that_is_removed_is_told(tmp_path: Path, netpart: Netpart, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the next checkpoint, which lies in the folder that it makes anew: so nothing more is lost."""
    job, out = tmp_path / "job.conf", tmp_path / "out"
    job.write_text(JOB)
    hear = RunRecord.hear

    def removing(self: RunRecord, event: Any) -> None:
        hear(self, event)
        if isinstance(event, Saved) and event.step == 2:  # no other checkpoint is being written
            shutil.rmtree(out)

    monkeypatch.setattr(RunRecord, "hear", removing)
    every = "--set", "disp_freq=1", "--set", "checkpoint_freq=1", "--steps", 9
    answer = netpart("run", job, "--launcher", "threads", "--workspace", out, *every)
    error, note = answer.err.splitlines()
    assert answer.code == 1
    assert error.startswith(
        f"error: workspace {out}: expected metrics.jsonl where this run created it, got nothing there"
    )
    saved = re.search(r"the latest checkpoint is (\S+), --resume continues from it", note)
    assert saved
    assert Path(saved[1]).exists()


def test_a_job_leads_to_no_folder_elsewhere(tmp_path: Path, netpart: Netpart) -> None:
    job, out = tmp_path / "job.conf", tmp_path / "out"
    job.write_text(f'{JOB}cluster {{ workspace: "{out}" }}')
    answer = netpart("run", job, "--launcher", "threads")
    assert answer.code == 2
    assert "cluster.workspace: expected a folder within the current one, got" in answer.err
    assert not out.exists()
    assert netpart("run", job, "--launcher", "threads", "--workspace", out, "--steps", 1).code == 0
    assert netpart("run", job, "--launcher", "threads", "--set", f"cluster.workspace={out}", "--steps", 1).code == 0


LONG = "x" * 300


@pytest.mark.parametrize(
    "words",
    [
        ("check", LONG),
        ("plan", "JOB", "--devices", LONG),
        ("plan", "--profile", LONG),
        ("diff", "JOB", LONG),
        ("plan", "JOB", "-o", LONG),
        ("verify", "JOB", "--json", LONG),
        ("profile", "JOB", "--launcher", "threads", "-o", f"{LONG}.svg"),
        ("run", "JOB", "--workspace", LONG),
        ("run", "JOB", "--workspace", LONG, "--resume"),
        ("run", "JOB", "--summary", LONG),
        ("run", "JOB", "--against", LONG),
        ("run", "JOB", "--set", f"cluster.workspace={LONG}"),
        ("run", "JOB", "--set", f"cluster.workspace={LONG}", "--resume"),
        ("run", "JOB", "--set", f"name={LONG}"),
        ("run", "JOB", "--set", f"checkpoint_path={LONG}"),
        ("run", "JOB", "--hosts", LONG, "--launcher", "mpi"),
        ("draw", "JOB", "-o", f"{LONG}.svg"),
        ("partition", "JOB", "-o", f"{LONG}.conf"),
        ("sample", ROOT / "graphs" / "gpt" / "tiny-heads.conf", "--prompt-file", LONG),
        ("data", "digits", LONG),
        ("worker", "--join", "tcp://127.0.0.1:1", "--token-file", LONG),
    ],
)
def test_a_path_that_is_too_long_is_told(
    job: Path, netpart: Netpart, words: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = netpart(*(job if word == "JOB" else word for word in words))
    assert answer.code in (1, 2)
    assert answer.err.startswith("error: ")
    assert "expected " in answer.err
    assert "got file name too long" in answer.err
    assert "itself failed" not in answer.err
