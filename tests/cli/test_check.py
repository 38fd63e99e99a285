"""netpart check: the table, its JSON, warnings and errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from netpart.cli.check import workers_text
from netpart.launch.snapshots.region_link import CHUNK_BYTES
from netpart.program.forward import ForwardCompiler
from netpart.units import bytes_text
from tests.cli.conftest import JOB, Netpart
from tests.house.tree import ROOT


def test_the_table_has_a_row_per_layer_and_worker(job: Path, netpart: Netpart) -> None:
    answer = netpart("check", job, "--workers", 2, "--set", "conv.partition_dim=1")
    lines = answer.out.splitlines()
    assert answer.code == 0
    assert lines[0].startswith("small: 4 layers on 2 workers, batch 8, ")
    assert [line.split()[0] for line in lines[2:8]] == ["layer", "data", "conv", "ip", "loss", "total"]
    assert lines[4].split()[:6] == ["conv", "Convolution", "8×4×6×6", "channels", "2+2", "0,1"]
    assert [line.split()[0] for line in lines[9:12]] == ["worker", "0", "1"]
    assert "warning" not in answer.out


def test_what_a_process_takes_besides_is_said(job: Path, netpart: Netpart) -> None:
    rows = json.loads(netpart("check", job, "--workers", 2, "--json").out)["workers"]
    most = max(row["bound_bytes"] for row in rows)
    assert most > 0
    said = netpart("check", job, "--workers", 2).out
    assert f"Its process takes besides\nat most {bytes_text(most)} for bound instructions and kernels" in said


def test_json_has_the_numbers(job: Path, netpart: Netpart) -> None:
    found = json.loads(netpart("check", job, "--workers", 2, "--json").out)
    assert (found["name"], found["rows"], len(found["layers"]), len(found["workers"])) == ("small", 8, 4, 2)
    conv = found["layers"][1]
    assert (conv["cut"], conv["workers"], conv["parameters"]) == ("batch 4+4", [0, 1], 4 * 3 * 9 + 4)
    assert (found["warnings"], found["errors"]) == ([], [])


def test_the_epoch_of_each_input_is_shown_in_the_table_and_in_json(job: Path, netpart: Netpart) -> None:
    lines = netpart("check", job).out.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("input"))
    assert lines[head + 1].split() == [
        "data",
        "kSyntheticInput",
        "train",
        "endless",
        "8",
        "endless",
        "0",
        "0",
        "B",
        "endless",
    ]
    np.save(job.with_name("x.npy"), np.zeros((20, 3, 8, 8), "f4"))
    np.save(job.with_name("y.npy"), np.zeros(20, "i4"))
    text = job.read_text().replace("kSyntheticInput", "kArrayInput").replace("synthetic_conf { classes: 5 }", "")
    conf = 'array_conf { path: "x.npy" label_path: "y.npy" batchsize: 8 }'
    job.write_text(text.replace("store_conf { batchsize: 8 shape: 3 shape: 8 shape: 8 }", conf))
    stored = sum(job.with_name(name).stat().st_size for name in ("x.npy", "y.npy"))
    (found,) = json.loads(netpart("check", job, "--json").out)["inputs"]
    assert found == {
        "name": "data", "type": "kArrayInput", "phase": "train", "batch": 8, "rows": 20, "endless": False, "steps": 3,
        "files": 2, "file_bytes": stored, "exact": True, "value_bytes": 20 * (192 * 4 + 4),
    }  # fmt: skip
    assert f"data   kArrayInput  train    20      8      3      2  {stored / 1024:.1f} KiB" in netpart("check", job).out
    job.with_name("y.npy").unlink()
    text = job.read_text().replace("batchsize: 8", "batchsize: 8 shape: [3, 8, 8]")
    job.write_text(text)
    answer = netpart("check", job)
    assert answer.code == 0
    shown = next(line for line in answer.out.splitlines() if line.startswith("data   kArrayInput"))
    assert shown.split()[2:] == ["train", "unknown", "8", *["unknown"] * 4]


def test_what_is_computed_again_is_said(netpart: Netpart) -> None:
    job = ROOT / "graphs" / "resnet" / "resnet18-small.conf"
    plain, again = (json.loads(netpart("check", job, "--json", *more).out) for more in ((), ("--recompute",)))
    assert plain["recomputed_flops"] == 0 < again["recomputed_flops"]
    assert again["workers"][0]["memory"] < plain["workers"][0]["memory"]
    assert "compute activations again." in netpart("check", job, "--recompute").out
    assert "compute activations again." not in netpart("check", job).out


def test_snapshots_are_two_copies_and_messages_on_their_way(netpart: Netpart) -> None:
    """Two workers share the updater's state, so each sends its half."""
    job = ROOT / "graphs" / "mnist" / "conv.conf"
    options = ("--workers", "2", "--scheme", "data", "--set", "updater.type=kAdam", "--elastic", "1..2", "--json")
    for row in json.loads(netpart("check", job, *options).out)["snapshots"]:
        assert row["kept"] == 2 * (row["copied"] + row["taken"])
        assert row["taken"] == row["sent"] > CHUNK_BYTES
        assert row["memory"] == row["kept"] + 2 * CHUNK_BYTES


def test_what_is_computed_again_is_counted_by_layer(netpart: Netpart) -> None:
    """A layer may be kept with --recompute, and a few alone may be computed again."""
    job, norm, relu = ROOT / "graphs" / "resnet" / "resnet18-small.conf", "s2b1-1-norm", "s2b1-1-relu"
    both = "--set", f"{norm}.recompute=true", "--set", f"{relu}.recompute=true"
    ways = (), ("--recompute", "--set", f"{norm}.recompute=false"), both
    plain, kept, alone = (json.loads(netpart("check", job, "--json", *way).out) for way in ways)
    before, without, only = ({r["name"]: r["forward_flops"] for r in each["layers"]} for each in (plain, kept, alone))
    assert without[norm] == before[norm]
    assert sum(without.values()) - sum(before.values()) == kept["recomputed_flops"] > 0
    assert {name for name in before if only[name] != before[name]} == {f"moments-{norm}", norm, relu}
    assert only[relu] == 2 * before[relu]
    assert kept["workers"][0]["memory"] < alone["workers"][0]["memory"] < plain["workers"][0]["memory"]


def test_the_cure_of_a_warning_cures_it(job: Path, netpart: Netpart) -> None:
    before = netpart("check", job, "--workers", 3)
    assert before.code == 0
    (warning,) = [line for line in before.out.splitlines() if line.startswith("warning: ")]
    assert warning.startswith("warning: conv, ip, loss: batch 2+2+4, the largest part is 1.50 times the mean; ")
    cure = warning.split("--set ")[1]
    assert "warning" not in netpart("check", job, "--workers", 3, "--set", cure).out


def reading(job: Path, path: str) -> None:
    """Makes the job in ``job`` read its rows, in two phases, from a file."""
    text = JOB.replace("kSyntheticInput", "kRecordInput").replace("    synthetic_conf { classes: 5 }\n", "")
    job.write_text("test_steps: 1\n" + text.replace("store_conf {", f'store_conf {{ path: "{path}"'))


def test_data_that_is_absent_is_a_warning(job: Path, netpart: Netpart) -> None:
    reading(job, "no.bin")
    answer = netpart("check", job)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines()[0].startswith("small: 4 layers on 1 worker, batch 8, ")
    assert answer.out.count(f"warning: {job}:10:18: data: ") == 1, "once, though two phases read it"
    assert "no.bin: expected a data file, got nothing there; " in answer.out
    told = json.loads(netpart("check", job, "--json").out)
    assert told["errors"] == []
    assert [text.startswith(f"{job}:10:18: data: ") for text in told["warnings"]] == [True]
    run = netpart("run", job)
    assert run.code == 1
    assert run.err.startswith(f"error: {job}:10:18: data: ")


def test_data_that_is_wrong_is_an_error(job: Path, netpart: Netpart) -> None:
    reading(job, "empty.bin")
    (job.parent / "empty.bin").touch()
    answer = netpart("check", job)
    assert answer.code == 1
    assert answer.out.count(f"error: {job}:10:18: data: ") == 1
    assert len(json.loads(netpart("check", job, "--json").out)["errors"]) == 1


def test_a_checkpoint_holds_what_no_initialiser_fills(job: Path, netpart: Netpart) -> None:
    where = "--workspace", job.parent / "ws"
    assert netpart("run", job, "--launcher", "threads", "--steps", 0, *where).code == 0
    saved = job.parent / "ws" / "checkpoint" / "step00000000.safetensors"
    job.write_text(JOB.replace(" init { type: kUniform }", "").replace(" init { type: kConstant value: 0 }", ""))
    bare = netpart("check", job)
    assert (bare.code, bare.out.count("expected a way to fill the parameter")) == (2, 4)
    start = "--set", f"checkpoint_path={saved}"
    assert netpart("check", job, *start).code == 0
    assert netpart("run", job, "--launcher", "threads", *where, *start).code == 0
    assert netpart("verify", job, "--workers", 2, "--steps", 1, *start).code == 0
    assert netpart("simulate", job, "--steps", 1, "--link", "1e-6,1e9", "--by", "flops", *start).code == 0
    lost = netpart("verify", job, "--set", "checkpoint_path=no.safetensors")
    assert lost.err.startswith("error: --set checkpoint_path=no.safetensors: no.safetensors: expected a checkpoint")
    absent = netpart("check", job, "--set", "checkpoint_path=no.safetensors")
    assert absent.code == 0
    warning = "warning: --set checkpoint_path=no.safetensors: no.safetensors: expected a checkpoint, got nothing there"
    assert warning in absent.out


def test_workers_that_would_wait_for_ever_are_refused(
    job: Path, netpart: Netpart, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ForwardCompiler, "send", lambda compiler, part: None)
    answer = netpart("check", job, "--workers", 2)
    assert (answer.code, answer.out) == (1, "")
    first, second, *_ = answer.err.splitlines()
    assert first.startswith("error: train: the workers' Programs do not fit together; ")
    assert second.startswith("  worker 1: receive d-slice-data-conv-01 of float32 ")
    assert second.endswith("from worker 0, but no worker sends it")


@pytest.mark.parametrize(("workers", "text"), [((1,), "1"), ((0, 1), "0,1"), ((2, 3, 4), "2-4"), ((0, 2, 3), "0,2,3")])
def test_workers_are_listed_briefly(workers: tuple[int, ...], text: str) -> None:
    assert workers_text(workers) == text


def test_a_terminal_gets_a_drawn_table(job: Path, netpart: Netpart, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "160")
    answer = netpart("check", job)
    assert "───" in answer.out
    assert "kernel" not in answer.err


def test_what_has_no_effect_is_told(netpart: Netpart, job: Path) -> None:
    written = [word for name in ("data", "conv", "ip", "loss") for word in ("--set", f"{name}.location=0")]
    answer = netpart("check", job, *written, "--workers", 2, "--scheme", "data", "--schedule", "gpipe")
    assert "warning: scheme DATA places nothing, as every layer has a partition_dim, location, " in answer.out
    assert "warning: schedule GPIPE orders micro-batches, and there is one; cut the mini-batch with" in answer.out
    fine = netpart("check", job, "--workers", 2, "--scheme", "data", "--schedule", "gpipe", "--micro-batches", 2)
    assert "places nothing" not in fine.out
    assert "GPIPE" not in fine.out


def test_what_goes_between_groups_is_told(job: Path, netpart: Netpart) -> None:
    settings = "--set", "cluster.nworker_groups=2"
    assert (
        "groups: 2 groups of 1 worker, 1 server: in each of its steps a group pushes"
        in netpart("check", job, *settings).out
    )
    told = json.loads(netpart("check", job, "--json", *settings).out)["groups"]
    assert told["pushed"] == told["pulled"] > 0
    assert "groups" not in json.loads(netpart("check", job, "--json").out)


def test_versions_of_delayed_stages_are_told(netpart: Netpart, job: Path) -> None:
    delayed = "--workers", 2, "--stages", 2, "--schedule", "delayed"
    answer = netpart("check", job, *delayed)
    assert "\nVersions of the parameters: 2 on worker 0; all but the newest take " in answer.out
    assert "warning: one stage works at a time" not in answer.out
    rows = json.loads(netpart("check", job, *delayed, "--json").out)["workers"]
    assert [row["versions"] for row in rows] == [2, 1]
    assert [row["version_bytes"] for row in rows] == [4 * rows[0]["parameters"], 0]


def test_idle_workers_are_one_line(job: Path, netpart: Netpart) -> None:
    placed = [word for name in ("data", "conv", "ip", "loss") for word in ("--set", f"{name}.location=0")]
    answer = json.loads(netpart("check", job, "--workers", "4096", *placed, "--json").out)
    (said,) = [line for line in answer["warnings"] if "nothing to do" in line]
    assert said == "workers 1 to 4095 have nothing to do; name them in a location, or run with fewer --workers"
