"""Runs that stop early, keep their best checkpoint and lower their rate: the same at any number of workers, in groups,
over servers, and when they are resumed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from netpart.checkpoint.verdict_state import ENTRY, verdict_state_text
from netpart.errors import ConfigError, DataError
from netpart.launch.evaluate import EvaluatedPhase, evaluate_job
from netpart.launch.report.earlier_runs import earlier_run_notices
from netpart.launch.run import LaunchChoice
from netpart.proto.reader import read_job
from tests.launch.verdict_jobs import FIXED, PLATEAU, VALIDATED, decisions, judged_job, noted, play
from tests.thorough import sampled

STOP = 'early_stop { patience: 6 } checkpoint_best: "loss/loss"'
SANDBLASTER = ("cluster.server_worker_separate=true", "cluster.nservers_per_group=2")
IN_TURNS = (*SANDBLASTER, "cluster.nworker_groups=2", "cluster.in_turns=true")
RING = ("cluster.nworker_groups=3", "cluster.nserver_groups=0", "cluster.staleness=1")
LOCKSTEP = (*SANDBLASTER, "cluster.nworker_groups=2", "cluster.staleness=0", "validate_freq=3")
DELAYED = ("fc1.location=0", "relu.location=0", "fc2.location=1", "loss.location=1", "neuralnet.schedule=DELAYED")
CLUSTERS = {"none": (), "servers": SANDBLASTER, "in turns": IN_TURNS, "ring": RING}


def values(workspace: Path, name: str) -> dict[str, np.ndarray]:
    return dict(load_file(workspace / "checkpoint" / f"{name}.safetensors"))


def check_equal(one: dict[str, np.ndarray], other: dict[str, np.ndarray], tolerance: float = 0.0) -> None:
    assert one.keys() == other.keys()
    for name, expected in one.items():
        np.testing.assert_allclose(other[name], expected, rtol=tolerance, atol=tolerance)


def losses(workspace: Path) -> list[tuple[int, float]]:
    return [(e["step"], e["metrics"]["loss/loss"]) for e in noted(workspace) if e["phase"] == "val" and "metrics" in e]


def test_a_run_stops_and_says_why(tmp_path: Path) -> None:
    summary = play(judged_job(tmp_path, f"{VALIDATED} test_steps: 2 {STOP}"), tmp_path / "run")
    measured = dict(losses(tmp_path / "run"))
    best = min(measured.values())
    assert measured[12] == best
    assert decisions(tmp_path / "run") == [("best", 2), ("best", 12), ("stop", 24)]  # untrained parameters are no best
    assert summary.steps == 24 == max(measured)
    assert summary.stopped == (
        f"after step 24: the last 6 validations did not improve loss/loss: best {best!r} at step 12"
    )
    assert summary.best == {"metric": "loss/loss", "value": best, "step": 12}
    assert Path(summary.best_checkpoint).name == "best.safetensors"
    assert Path(summary.checkpoint).name == "step00000024.safetensors"
    assert [line["step"] for line in noted(tmp_path / "run") if line["phase"] == "test"] == [24]
    assert [line["step"] for line in noted(tmp_path / "run") if line["phase"] == "train"][-1] == 24
    assert len(measured) == 13  # the last validation is not repeated at the end


@pytest.mark.parametrize(
    ("workers", "cluster"), sampled([(3 - n // 4, name) for n, name in enumerate((*CLUSTERS, *CLUSTERS))], 3)
)
def test_every_cut_and_cluster_decides_alike(tmp_path: Path, workers: int, cluster: str) -> None:
    path = judged_job(tmp_path, f"{VALIDATED} {STOP}", PLATEAU)
    found = play(path, tmp_path / "run", *CLUSTERS[cluster], workers=workers)
    assert found.bytes_counted == found.bytes_predicted
    assert found.stopped
    one = play(path, tmp_path / "one", *CLUSTERS[cluster])
    assert decisions(tmp_path / "run") == decisions(tmp_path / "one")
    last = f"step{one.steps:08d}"
    for name in (last, "best"):
        check_equal(values(tmp_path / "one", name), values(tmp_path / "run", name), 1e-11)


@pytest.mark.parametrize("more", [LOCKSTEP, DELAYED, ("neuralnet.micro_batches=3",)])
def test_groups_in_step_stages_and_micro_batches_end(tmp_path: Path, more: tuple[str, ...]) -> None:
    found = play(judged_job(tmp_path, f"{VALIDATED} {STOP}", PLATEAU), tmp_path / "run", *more, workers=2)
    assert found.stopped
    assert found.bytes_counted == found.bytes_predicted


@pytest.mark.slow
@pytest.mark.parametrize("launcher", sampled(["local", "mpi"], 2))
def test_processes(tmp_path: Path, launcher: str) -> None:
    path = judged_job(tmp_path, f"{VALIDATED} {STOP}", PLATEAU)
    play(path, tmp_path / "threads", workers=2)
    found = play(path, tmp_path / "run", workers=2, launcher=launcher)
    assert decisions(tmp_path / "run") == decisions(tmp_path / "threads")
    end = f"step{found.steps:08d}"
    check_equal(values(tmp_path / "threads", end), values(tmp_path / "run", end))


def test_the_rate_of_a_plateau_is_that_of_a_table(tmp_path: Path) -> None:
    play(judged_job(tmp_path, VALIDATED, PLATEAU), tmp_path / "plateau", workers=2)
    steps = [step for _, step in decisions(tmp_path / "plateau", "rate")]
    assert len(steps) >= 3
    play(judged_job(tmp_path, VALIDATED, PLATEAU), tmp_path / "short", f"train_steps={steps[0]}")
    assert not decisions(tmp_path / "short")  # no step would follow
    table = "step: 0 step_lr: 0.02 " + "".join(
        f"step: {step} step_lr: {max(0.02 * 0.5 ** (k + 1), 0.004)!r} " for k, step in enumerate(steps)
    )
    rate = f"type: kFixedStep fixedstep_conf {{ {table} }}"
    play(judged_job(tmp_path, VALIDATED, rate), tmp_path / "table", workers=2)
    check_equal(values(tmp_path / "table", "step00000040"), values(tmp_path / "plateau", "step00000040"))
    assert losses(tmp_path / "table") == losses(tmp_path / "plateau")


@pytest.mark.parametrize(
    ("cut", "cluster"),
    sampled([(5, "none"), (6, "none"), (20, "servers"), *((cut, "in turns") for cut in (6, 12, 24)), (12, "ring")], 3),
)
def test_a_resumed_run_decides_as_one_that_never_stopped(tmp_path: Path, cut: int, cluster: str) -> None:
    path = judged_job(tmp_path, f"{VALIDATED} early_stop {{ patience: 12 }} checkpoint_best: 'loss/loss'", PLATEAU)
    settings = CLUSTERS[cluster]
    whole = play(path, tmp_path / "whole", *settings, workers=2)
    play(path, tmp_path / "run", *settings, f"train_steps={cut}", workers=2)
    other = play(path, tmp_path / "run", *settings, "resume=true", workers=2)
    assert whole.stopped == other.stopped != ""
    end = whole.steps
    assert other.steps == end - cut
    check_equal(values(tmp_path / "whole", f"step{end:08d}"), values(tmp_path / "run", f"step{end:08d}"))
    # The last validation of the first part is one more, if it was not due.
    expected = [each for each in decisions(tmp_path / "whole") if each[1] > cut]
    assert [each for each in decisions(tmp_path / "run") if each[1] > cut] == expected


def test_a_resumed_run_on_other_workers(tmp_path: Path) -> None:
    path = judged_job(tmp_path, f"{VALIDATED} {STOP}", PLATEAU)
    whole = play(path, tmp_path / "whole", workers=2)
    play(path, tmp_path / "run", "train_steps=8", workers=3)
    other = play(path, tmp_path / "run", *SANDBLASTER, "resume=true")
    end = f"step{whole.steps:08d}"
    assert other.steps == whole.steps - 8
    check_equal(values(tmp_path / "whole", end), values(tmp_path / "run", end), 1e-11)


def test_a_run_that_has_stopped_stops_again_unless_it_may_go_on(tmp_path: Path) -> None:
    path = judged_job(tmp_path, f"{VALIDATED} {STOP}")
    first = play(path, tmp_path / "run")
    again = play(path, tmp_path / "run", "resume=true")
    assert again.steps == 0
    assert again.stopped == first.stopped
    more = play(path, tmp_path / "run", "resume=true", "early_stop.patience=8")
    assert more.steps == 4
    whole = play(path, tmp_path / "whole", "early_stop.patience=8")
    assert more.stopped == whole.stopped


def test_the_best_checkpoint_has_the_best_validation(tmp_path: Path) -> None:
    path = judged_job(tmp_path, f"{VALIDATED} {STOP} checkpoint_keep: 1")
    summary = play(path, tmp_path / "run", workers=2)
    folder = tmp_path / "run" / "checkpoint"
    names = {"best.safetensors", "best.updater", "step00000024.safetensors", "step00000024.updater"}
    assert {file.name for file in folder.iterdir()} == names
    with safe_open(folder / "best.safetensors", "np") as file:
        assert file.metadata()["step"] == "12"
        assert float(file.metadata()["best_value"]) == summary.best["value"]
    played = EvaluatedPhase("val", workspace=tmp_path / "evaluate")
    found = evaluate_job(read_job(path), folder / "best.safetensors", played, workers=3, choice=LaunchChoice("threads"))
    assert found.validation["loss/loss"] == pytest.approx(summary.best["value"], rel=1e-11)
    assert not found.stopped


def test_a_best_validation_after_the_last_checkpoint_is_known_to_the_resumed_run(tmp_path: Path) -> None:
    path = judged_job(tmp_path, f'{VALIDATED} checkpoint_best: "loss/loss"')
    play(path, tmp_path / "run", "train_steps=11", "validate_freq=5")
    kept = (tmp_path / "run" / "checkpoint" / "best.safetensors").read_bytes()
    assert decisions(tmp_path / "run")[-1] == ("best", 11)
    summary = play(path, tmp_path / "run", "resume=true", "validate_freq=15")
    assert summary.best["step"] == 11
    assert summary.best_checkpoint == str(tmp_path / "run" / "checkpoint" / "best.safetensors")
    assert play(judged_job(tmp_path, VALIDATED), tmp_path / "run", "resume=true").best == {}
    assert (tmp_path / "run" / "checkpoint" / "best.safetensors").read_bytes() == kept


def test_largest_accuracy_and_tests_without_validations(tmp_path: Path) -> None:
    path = judged_job(
        tmp_path, 'test_freq: 2 test_steps: 3 checkpoint_best: "loss/accuracy" early_stop { patience: 4 }'
    )
    summary = play(path, tmp_path / "run", workers=2)
    tests = {e["step"]: e["metrics"]["loss/accuracy"] for e in noted(tmp_path / "run") if "accuracies" not in e and
             e["phase"] == "test" and "metrics" in e}  # fmt: skip
    assert summary.best["value"] == max(tests.values())
    assert summary.stopped.startswith(f"after step {max(tests)}: the last 4 tests did not improve loss/loss")
    least = play(path, tmp_path / "least", "checkpoint_best=loss/accuracy MIN")
    assert least.best["value"] == min(tests.values())


def test_a_job_without_the_fields_writes_what_it_wrote(tmp_path: Path) -> None:
    summary = play(judged_job(tmp_path, VALIDATED), tmp_path / "run")
    with safe_open(summary.checkpoint, "np") as file:
        assert set(file.metadata()) == {"step", "job", "format", "crc32"}
    assert (summary.stopped, summary.best, decisions(tmp_path / "run")) == ("", {}, [])


def rewrite(path: Path, **entries: str) -> None:
    """Replace entries of a checkpoint's metadata."""
    with safe_open(path, "np") as file:
        metadata = file.metadata()
    save_file(load_file(path), path, {name: text for name, text in (metadata | entries).items() if text})


DAMAGED = {
    "a text": "nonsense",
    "a changed number": verdict_state_text({"judged": {}, "judges": {}}).replace("{}", "{ }", 1),
    "no judges": verdict_state_text({"judged": {}}),
    "a list": verdict_state_text({"judged": [], "judges": {}}),
    "another version": verdict_state_text({"version": 2, "judged": {}, "judges": {}}),
    "a count below 0": verdict_state_text({"judged": {}, "judges": {"stop": {
        "metric": "loss/loss", "phase": "val", "larger": False, "best": 1.0, "best_step": 0, "bad": -1, "cooling": 0,
        "changes": 0}}}),
}  # fmt: skip


@pytest.mark.parametrize("what", sampled(DAMAGED, 3))
def test_a_damaged_state_is_refused(tmp_path: Path, what: str) -> None:
    path = judged_job(tmp_path, f"{VALIDATED} {STOP}")
    summary = play(path, tmp_path / "run", "train_steps=6")
    rewrite(Path(summary.checkpoint), **{ENTRY: DAMAGED[what]})
    with pytest.raises(DataError, match=r"step00000006.safetensors: expected the state of early_stop, .*; use an earl"):
        play(path, tmp_path / "run", "resume=true")
    play(path, tmp_path / "new", f"checkpoint_path={summary.checkpoint}", "train_steps=2")


def test_an_old_checkpoint_has_no_state(tmp_path: Path) -> None:
    path = judged_job(tmp_path, VALIDATED)
    play(path, tmp_path / "run", "train_steps=6")
    path = judged_job(tmp_path, f"{VALIDATED} {STOP}")
    summary = play(path, tmp_path / "run", "resume=true")
    assert [step for step, _ in losses(tmp_path / "run")].count(6) >= 1
    assert decisions(tmp_path / "run")[0] == ("best", 6)
    assert summary.stopped


WRONG = {
    "early_stop { }": "early_stop: expected a patience, got none",
    "early_stop { patience: 0 }": "patience: expected .*1 .*got 0",
    "early_stop { patience: 2 phase: kTrain }": "early_stop: expected phase kVal or kTest, got kTrain",
    "early_stop { patience: 2 phase: kTest }": "early_stop: expected a test during the training to judge by, got none",
    "early_stop { patience: 2 mode: BEST }": "mode: expected a value of .*got BEST",
    'early_stop { patience: 2 metric: "loss/los" }':
        "early_stop.metric: expected a metric that a layer reports, got loss/los; phase val reports loss/loss, ",
    'checkpoint_best: "accuracy"': "checkpoint_best: expected a metric that a layer reports, got accuracy; phase val",
    'checkpoint_best: "loss/loss UP"': "checkpoint_best: expected MIN or MAX after the metric, got UP",
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_wrong_settings_are_refused_at_their_place(tmp_path: Path, text: str) -> None:
    path = judged_job(tmp_path, f"{VALIDATED}\n{text}\n")
    line = path.read_text().split("\n").index(text) + 1
    with pytest.raises(ConfigError, match=rf"job.conf:{line}:\d+: .*{WRONG[text]}"):
        play(path, tmp_path / "run")


@pytest.mark.parametrize("field", ["patience: 0", "patience: 2 factor: 1", "patience: 2 least_lr: -1", "factor: 0.5"])
def test_a_wrong_plateau_is_refused_at_its_place(tmp_path: Path, field: str) -> None:
    path = judged_job(tmp_path, VALIDATED, f"type: kPlateau plateau_conf {{ {field} }}")
    with pytest.raises(ConfigError, match=r"job.conf:\d+:\d+: .*(patience|factor|least_lr): expected"):
        play(path, tmp_path / "run")


@pytest.mark.parametrize("text", ["early_stop { patience: 2 }", 'checkpoint_best: "loss/loss"'])
def test_without_a_validation_there_is_nothing_to_judge(tmp_path: Path, text: str) -> None:
    path = judged_job(tmp_path, text)
    with pytest.raises(ConfigError, match="expected a validation, or tests, during the training to judge by, got none"):
        play(path, tmp_path / "run")
    path = judged_job(tmp_path, "", PLATEAU)
    with pytest.raises(ConfigError, match="plateau_conf: expected a validation"):
        play(path, tmp_path / "run")
    assert FIXED


def test_a_new_run_warns_of_the_best_checkpoint_that_it_replaces_and_keeps_it_until_it_has_trained(
    tmp_path: Path,
) -> None:
    path = judged_job(tmp_path, f"{VALIDATED} {STOP}")
    first = play(path, tmp_path / "run")
    file = tmp_path / "run" / "checkpoint" / "best.safetensors"
    before = file.read_bytes()
    (notice,) = earlier_run_notices(read_job(path).proto, file.parent)
    assert notice.startswith(
        f"{file} (loss/loss = {first.best['value']:.6f} at step 12) is of an earlier run; this one"
    )
    play(path, tmp_path / "run", "train_steps=1", "validate_freq=1000")
    assert list(earlier_run_notices(read_job(path, ["resume=true"]).proto, file.parent)) == []
    assert file.read_bytes() != before
    assert decisions(tmp_path / "run") == [("best", 1)]
