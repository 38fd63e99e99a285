"""The Python API: small, typed, lazy, and the same words as the command line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import netpart
from netpart.draw import svg
from netpart.draw.look import DrawingLook
from netpart.errors import ConfigError
from netpart.graph.net import Net
from netpart.graph.partition import Partition
from netpart.launch.report.events import Started

JOB = """
name: "small" cluster { nworkers_per_group: 2 }
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: kSyntheticInput store_conf { batchsize: 8 shape: 6 } }
  layer {
    name: "ip" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 10 }
    param { name: "w" init { type: kUniform } } param { name: "b" init { type: kConstant } }
  }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "ip" srclayers: "data" }
}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "job.conf"
    path.write_text(JOB)
    return path


def test_the_front_door_has_these_names_and_no_others() -> None:
    errors = ["ConfigError", "DataError", "NetpartError", "WorkerFailed"]
    builder = ["LayerHandle", "NamedValue", "NestedLayers", "Net"]
    verbs = ["build", "check", "diff", "draw", "evaluate", "explain", "gradcam", "load", "look", "partition", "plan"]
    verbs += ["predict", "profile", "run", "sample", "save_plan", "simulate", "verify"]
    assert dir(netpart) == netpart.__all__ == sorted([*errors, *builder, "__version__", *verbs])
    assert netpart.ConfigError is ConfigError
    assert all(hasattr(netpart, name) for name in netpart.__all__)
    assert not hasattr(netpart, "__path_to_nowhere__")


def test_a_job_is_loaded_built_and_cut(path: Path) -> None:
    job = netpart.load(path, ["ip.partition_dim=1"])
    net, cut = netpart.build(job), netpart.partition(job, workers=3)
    assert isinstance(net, Net)
    assert isinstance(cut, Partition)
    assert repr(net) == "Net(small, train, 3 layers, batch 8)"
    assert repr(cut) == f"Partition(3 workers; train: {cut.graph!r})"
    assert [p.name for p in cut.graph.parts if p.name.startswith("ip")] == ["ip-00", "ip-01", "ip-02"]


def test_a_path_will_do(path: Path) -> None:
    assert netpart.build(str(path), "test").phase == "test"
    assert netpart.partition(path).workers == 2


def test_errors_say_where(path: Path) -> None:
    path.write_text(JOB.replace("num_output: 10", "num_output: 0"))
    for call in (netpart.build, netpart.partition):
        with pytest.raises(ConfigError, match=rf"^{path}:7:74: ip: expected num_output of 1 or more, got 0"):
            call(path)


def test_a_notebook_shows_drawings(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[object, str]] = []

    def render(shown: object, format: str, look: DrawingLook) -> str:
        assert look.fold == "auto"
        drawn.append((shown, format))
        return "<svg>"

    monkeypatch.setattr(sys.modules["netpart.draw"], "render", render)
    net, cut = netpart.build(path), netpart.partition(path)
    assert [shown._repr_svg_() for shown in (net, cut, cut.graph)] == ["<svg>"] * 3
    assert drawn == [(net, "svg"), (cut.graph, "svg"), (cut.graph, "svg")]


def test_a_notebook_without_graphviz_prints_the_name(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_graphviz(dot: str) -> str:
        raise netpart_error

    from netpart.errors import NetpartError

    netpart_error = NetpartError("drawing: expected Graphviz, got none")
    monkeypatch.setattr(svg, "run_graphviz", no_graphviz)
    assert netpart.build(path)._repr_svg_() is None


def test_one_override_needs_no_list(path: Path) -> None:
    assert netpart.load(path, "ip.partition_dim=0").proto.neuralnet.layer[1].partition_dim == 0


def test_a_phase_has_one_of_three_names(path: Path) -> None:
    with pytest.raises(ConfigError, match="phase: expected train, val or test, got 'kTrain'"):
        netpart.build(path, phase="kTrain")


def test_workers_are_a_whole_number(path: Path) -> None:
    for call in (netpart.partition, netpart.run):
        with pytest.raises(TypeError, match=r"^workers: expected a whole number, got '3'$"):
            call(path, workers="3")  # type: ignore[arg-type]


def test_a_workspace_may_be_text(path: Path, tmp_path: Path) -> None:
    job = netpart.load(path, ["train_steps=1"])
    netpart.run(job, 1, launcher="threads", workspace=str(tmp_path / "ws"))
    assert (tmp_path / "ws" / "metrics.jsonl").exists()


def test_a_run_takes_a_number_of_steps(path: Path, tmp_path: Path) -> None:
    job = netpart.load(path)
    assert netpart.run(job, 1, launcher="threads", steps=2, workspace=tmp_path / "ws").steps == 2
    assert job.proto.train_steps == 0


def test_a_run_names_workers_without_work(path: Path, tmp_path: Path) -> None:
    heard: list[object] = []
    job = netpart.load(path, [f"{layer}.location=0" for layer in ("data", "ip", "loss")])
    netpart.run(job, 2, launcher="threads", steps=1, workspace=tmp_path / "ws", listener=heard.append)
    assert [event.idle for event in heard if isinstance(event, Started)] == [(1,)]


def test_steps_out_of_range_are_refused(path: Path) -> None:
    for steps in (-1, 2**31):
        said = rf"^steps: expected a number from 0 to 2147483647, got {steps}; pass another number$"
        with pytest.raises(netpart.ConfigError, match=said):
            netpart.run(path, steps=steps)
    with pytest.raises(TypeError, match=r"^steps: expected a whole number, got 1.5$"):
        netpart.run(path, steps=1.5)  # type: ignore[arg-type]
