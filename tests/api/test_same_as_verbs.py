"""The functions of the Python API return what the verbs of the same names print."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import netpart
from netpart.cli.main import main
from netpart.resources import resource_folder, zoo_folder

FIVE = zoo_folder() / "schemes" / "five-layers.conf"
HALO = zoo_folder() / "halo" / "conv-rows.conf"
DEVICES = resource_folder("workers") / "two-speeds.conf"


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    """A command line, and the JSON that it prints."""

    def ask(*words: object) -> Any:
        capsys.readouterr()
        assert main([str(word) for word in words]) == 0
        return json.loads(capsys.readouterr().out)

    return ask


def as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def test_check(printed: Any) -> None:
    told = printed("check", HALO, "--workers", 2, "--scheme", "data", "--override", "--json")
    found = as_json(asdict(netpart.check(HALO, 2, scheme="data", override=True)))
    assert {name: told[name] for name in found} == found


def test_explain(printed: Any) -> None:
    told = printed("explain", HALO, "conv2", "--workers", 3, "--json")
    found = netpart.explain(HALO, "conv2", 3)
    assert as_json({**asdict(found.layer), "alternatives": [asdict(cut) for cut in found.cuts]}) == told


def test_diff(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", str(HALO), "--workers", "3", "--set", "ip3.partition_dim=0", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    job = netpart.load(HALO)
    found = netpart.diff(netpart.partition(job), netpart.partition(netpart.load(HALO, "ip3.partition_dim=0"), 3))
    assert {"same": found.same, **as_json(asdict(found))} == told


def test_verify(tmp_path: Path) -> None:
    assert main(["verify", str(FIVE), "--workers", "2", "--steps", "2", "--json", str(tmp_path / "verify.json")]) == 0
    found = netpart.verify(FIVE, 2, steps=2)
    assert found.holds
    assert as_json(found.to_json()) == json.loads((tmp_path / "verify.json").read_text())


def test_simulate(printed: Any) -> None:
    told = printed("simulate", FIVE, "--workers", 2, "--by", "flops", "--devices", DEVICES, "--steps", 1, "--json")
    found = netpart.simulate(FIVE, 2, by="flops", devices=DEVICES, steps=1)
    assert as_json(asdict(found.profile))["layers"] == told["layers"]
    assert [worker.worker for worker in found.profile.workers] == [0, 1]


@pytest.mark.slow
def test_plan(printed: Any) -> None:
    told = printed("plan", FIVE, "--devices", DEVICES, "--workers", 2, "--limit", 0.2, "--json")
    found = netpart.plan(FIVE, 2, devices=DEVICES, limit=0.2)
    names = {name for row in told["plans"] for name in row["name"].split(", ")}
    assert {name for row in found.rows for name in row.name.split(", ")} == names
    assert found.best.seconds == next(row["seconds"] for row in told["plans"] if row["name"] == told["best"])
    assert netpart.verify(found.job, steps=1).holds
    naive = netpart.plan(FIVE, 2, devices=DEVICES, limit=0.2, take="naive")
    cut = netpart.partition(naive.job)
    assert cut.graph.placements == netpart.partition(FIVE, 2, "naive", override=True).graph.placements


def test_save_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plan.conf"
    assert main(["partition", str(HALO), "--workers", "3", "-o", str(path)]) == 0
    lines = path.read_text().splitlines()
    netpart.save_plan(HALO, str(path), 3)
    assert path.read_text().splitlines()[2:] == lines[2:]
    assert netpart.diff(netpart.partition(HALO, 3), netpart.partition(path)).same
    (tmp_path / "own.conf").write_text("name: 'mine'\n")
    with pytest.raises(netpart.ConfigError, match="expected no file or an older plan"):
        netpart.save_plan(HALO, tmp_path / "own.conf")


def test_draw(capsys: pytest.CaptureFixture[str]) -> None:
    for words, arguments in (((), {"format": "txt"}), (("--turns",), {"what": "turns"})):
        capsys.readouterr()
        assert main(["draw", str(HALO), "--workers", "3", *words]) == 0
        assert netpart.draw(HALO, 3, **arguments) == capsys.readouterr().out  # type: ignore[arg-type]
    with pytest.raises(netpart.ConfigError, match="format: expected svg, got 'dot'"):
        netpart.draw(HALO, what="groups", format="dot")


@pytest.mark.parametrize(
    "arguments",
    [
        {"format": "html", "phase": "test"}, {"format": "html", "fold": "blocks"}, {"format": "html", "helpers": False},
        {"format": "json", "direction": "LR"}, {"format": "txt", "direction": "LR"}, {"what": "turns", "phase": "test"},
    ],
)  # fmt: skip
def test_draw_refuses_what_it_cannot_show(arguments: dict[str, Any]) -> None:
    (name,) = set(arguments) - {"format", "what"}
    with pytest.raises(netpart.ConfigError, match=f"^{name}: expected"):
        netpart.draw(HALO, 3, **arguments)


def test_profile() -> None:
    found = netpart.profile(FIVE, 2, steps=2, launcher="threads").profile
    assert found.steps == 2
    assert [worker.worker for worker in found.workers] == [0, 1]


def test_look(printed: Any) -> None:
    told = printed("data", "look", FIVE, "--rows", 2, "--sample", 16, "--json")["inputs"]
    found = [as_json(asdict(each)) for each in netpart.look(FIVE, rows=2, sample=16)]
    assert [each["first"] for each in found] == [each["first"] for each in told]


def test_gradcam(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = netpart.run(HALO, 1, steps=1, launcher="threads", workspace=tmp_path).checkpoint
    found = netpart.gradcam(HALO, checkpoint, 3, layer="conv2")
    picture = tmp_path / "map.png"
    words = ["--checkpoint", str(checkpoint), "--sample", "3", "--layer", "conv2", "-o", str(picture)]
    assert main(["gradcam", str(HALO), *words]) == 0
    shown = ", ".join(f"{p:.3f}" for p in found.probabilities)
    assert f"sample 3: class {found.label}, probabilities {shown}" in capsys.readouterr().out
    with pytest.raises(netpart.ConfigError, match="layer: expected"):
        netpart.gradcam(HALO, checkpoint, layer="conv9")


def test_errors_name_arguments() -> None:
    with pytest.raises(netpart.ConfigError, match=r"^take: expected a plan of the table"):
        netpart.plan(FIVE, 2, devices=DEVICES, limit=0.1, take="fastest")
    with pytest.raises(netpart.ConfigError, match="temperature: expected a number of 0 or more, got -1"):
        netpart.sample(FIVE, temperature=-1)
