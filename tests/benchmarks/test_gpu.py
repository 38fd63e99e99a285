"""The contest on a GPU, as far as it can be tried without one: contenders, losses, results, the order of a capture."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import gpu, gpu_results
from benchmarks.gpu import SIZES, main, sized
from benchmarks.gpu_contest import (
    COMPILED,
    EAGER,
    FEWEST,
    FIRST,
    GRAPH,
    MOST,
    NETPART,
    Contest,
    Stretches,
    reported,
    steps_for,
    wrong,
)
from benchmarks.nets import NETS, smaller
from benchmarks.prepare import Prepared, prepare

STEPS = 7


@pytest.fixture(scope="module")
def gpt(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(smaller(NETS["gpt"]), tmp_path_factory.mktemp("gpt"))


@pytest.fixture(scope="module")
def cifar(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(smaller(NETS["cifar"]), tmp_path_factory.mktemp("cifar"))


def contenders(ours: float, **theirs: float) -> dict[str, Stretches]:
    return {NETPART: Stretches(seconds=[ours], loss=1.0)} | {
        name.replace("_", " "): Stretches(seconds=[taken, taken, 9.0], loss=1.01) for name, taken in theirs.items()
    }


def entry(prepared: Prepared, found: dict[str, Stretches]) -> dict[str, Any]:
    ceilings = {"product": 1e12, "copy": 1e11}
    return gpu_results.entry(prepared, STEPS, found, ceilings, wrong(prepared, found))


def test_every_net_has_a_size() -> None:
    assert SIZES.keys() == NETS.keys()
    assert (sized(NETS["unet3d"]).batch, sized(NETS["unet3d"]).extent) == (4, 64)


def test_a_stretch_is_long_enough_to_be_timed(cifar: Prepared) -> None:
    assert steps_for(replace(cifar, flops=0), 0.25, "cuda") == 1000
    assert steps_for(replace(cifar, flops=0), 9.0, "cuda") == MOST
    assert steps_for(replace(cifar, flops=10**15), 0.25, "cuda") == FEWEST


def test_reports_are_ends_of_stretches(tmp_path: Path) -> None:
    lines = [
        {"phase": phase, "seconds": at, "metrics": {"loss/loss": loss}}
        for phase, at, loss in [("train", 3.0, 0.9), ("train", 4.0, 0.8), ("test", 4.5, 0.1), ("train", 5.5, 0.7)]
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert reported(tmp_path / "metrics.jsonl") == ([3.0, 1.0, 1.5], [0.9, 0.8, 0.7])


def test_a_contender_that_fails_is_asked_no_more() -> None:
    def fail() -> None:
        raise RuntimeError("no such kernel")

    found, asked = Stretches(), list[int]()
    found.attempt(fail)
    found.attempt(lambda: asked.append(1))
    assert (found.failed, asked) == ("no such kernel", [])


class ScriptedPeer:
    """A peer of scripted answers: ``taken`` are seconds of a step by way and layout."""

    def __init__(self, taken: dict[tuple[str, str], float]) -> None:
        self.taken, self.dropped = taken, list[tuple[str, str]]()

    def ask(self, **command: Any) -> dict[str, Any]:
        key = command["way"], command["layout"]
        if command.get("drop"):
            self.dropped.append(key)
            return {}
        if key not in self.taken:
            return {"failed": "no such way"}
        count = command["stretches"]
        return {"seconds": [self.taken[key]] * count, "losses": [float(command["steps"])] * count}


def test_the_first_steps_bring_the_loss_and_do_not_count(cifar: Prepared) -> None:
    contest = Contest(cifar, "cuda", "tf32", 2, 3, 100)
    peer: Any = ScriptedPeer({(EAGER, "plain"): 2.0, (EAGER, "channels last"): 1.0})
    eager, graph = contest.better_layout(peer), Stretches("channels last")
    assert (eager.layout, eager.loss, eager.seconds) == ("channels last", FIRST, [1.0] * 3)
    assert peer.dropped == [(EAGER, "plain")]
    contest.peer(peer, EAGER, eager)
    contest.peer(peer, GRAPH, graph)
    assert (eager.seconds, graph.failed) == ([1.0] * 6, "no such way")


def test_a_net_is_held_against_the_best(cifar: Prepared) -> None:
    found = entry(cifar, contenders(1.0, eager=6.0, CUDA_graph=2.0, compiled=3.0))
    first, second, mean = gpu_results.rows({"lenet": found, "cifar": found})[1:]
    assert (first.against, first.ratio, first.goal) == ("PyTorch eager", 6.0, 5.0)
    assert (second.against, second.ratio, second.goal) == ("PyTorch CUDA graph", 2.0, 1.0)
    assert (mean.work, mean.goal) == ("geometric mean of 2 nets", 1.15)
    assert mean.ratio == pytest.approx(2.0)
    assert gpu_results.shares(found) == {"product": cifar.flops / 1e12, "copy": cifar.moved / 1e11}
    assert "compiled 3.0 s" in gpu_results.entry_lines(found)[0]


def test_who_computes_something_else_is_no_rival(cifar: Prepared) -> None:
    found = contenders(1.0, eager=6.0, compiled=0.1)
    found[COMPILED].loss = float("nan")
    written = entry(cifar, found)
    assert written["failed"].keys() == {COMPILED}
    assert gpu_results.best(written) == (EAGER, 6.0)
    assert wrong(replace(cifar, dropout=True), contenders(1.0, eager=6.0)) == []


def test_without_netpart_there_is_nothing_to_compare(cifar: Prepared) -> None:
    found = contenders(1.0, eager=6.0) | {NETPART: Stretches(failed="exit code 1")}
    assert gpu_results.rows({"cifar": entry(cifar, found)}) == []
    assert gpu_results.entry_lines(entry(cifar, found))[-1] == "  netpart failed: exit code 1"


def test_a_file_keeps_the_nets_of_the_same_place(cifar: Prepared, tmp_path: Path) -> None:
    path, written = tmp_path / "gpu-tf32.json", entry(cifar, contenders(1.0, eager=2.0))
    gpu_results.keep(path, "tf32", {"cifar": written})
    gpu_results.keep(path, "tf32", {"lenet": written})
    written = json.loads(path.read_text())
    assert written["nets"].keys() == {"cifar", "lenet"}
    assert written.keys() >= {"date", "machine", "versions", "gpu", "driver", "precision"}
    path.write_text(json.dumps(written | {"gpu": "another"}))
    gpu_results.keep(path, "tf32", {"mlp": written})
    assert json.loads(path.read_text())["nets"].keys() == {"mlp"}


@pytest.mark.slow
@pytest.mark.peers
def test_all_of_it_without_a_gpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The losses of a net without dropout agree, or eager would have failed."""
    path = tmp_path / "gpu.json"
    assert main(["--quick", "--device", "cpu", "--nets", "cifar", "-o", str(path)]) == 0
    found = json.loads(path.read_text())["nets"]["cifar"]
    assert found["contenders"].keys() == {NETPART, EAGER}
    assert found["failed"] == {}
    assert found["ceilings"].keys() == {"product", "copy"}
    assert "of the product ceiling" in capsys.readouterr().out


def test_a_net_that_cannot_be_measured_leaves_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("no device")

    path = tmp_path / "gpu.json"
    monkeypatch.setattr(gpu, "find_spec", lambda name: name)
    monkeypatch.setattr(gpu, "measured", fail)
    monkeypatch.setattr(gpu, "fill_caches", lambda *_: None)
    monkeypatch.setattr(gpu, "prepared_together", lambda nets, _: [SimpleNamespace(net=net) for net in nets])
    assert main(["--nets", "lenet,mlp", "-o", str(path)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "compiled all nets in 0 s", "LeNet: no device", "MNIST MLP: no device",
    ]  # fmt: skip
    assert not path.exists()
    assert main(["--nets", "lenet", "--minutes", "-1", "-o", str(path)]) == 1
    assert "measure it alone with NETS=" in capsys.readouterr().out


class Clockwork:
    """What PyTorch has of a GPU, on the CPU: a capture computes nothing, a replay what was captured."""

    def __init__(self) -> None:
        self.stepper: Any = None
        self.replays = self.events = 0
        self.capturing = False

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import torch

        stream = SimpleNamespace(wait_event=lambda event: self.noted())
        replayed = SimpleNamespace(replay=self.replay)
        for name, value in {
            "Stream": lambda: stream, "Event": lambda: SimpleNamespace(record=self.noted), "graph": self.capture,
            "current_stream": lambda: stream, "stream": lambda _: nullcontext(), "synchronize": self.refuse,
            "CUDAGraph": lambda: replayed,
        }.items():  # fmt: skip
            monkeypatch.setattr(torch.cuda, name, value)
        monkeypatch.setattr(torch.Tensor, "pin_memory", lambda rows: rows)

    def refuse(self) -> None:
        assert not self.capturing

    def noted(self) -> None:
        assert not self.capturing
        self.events += 1

    @contextmanager
    def capture(self, graph: Any, stream: Any) -> Iterator[None]:
        import torch

        assert all(p.grad is None for p in self.stepper.net.parameters())
        before = deepcopy((self.stepper.net.state_dict(), self.stepper.rule.state_dict(), self.stepper.total))
        self.capturing = True
        yield
        self.capturing = False
        self.stepper.net.load_state_dict(before[0])
        self.stepper.rule.load_state_dict(before[1])
        with torch.no_grad():
            self.stepper.total.copy_(before[2])

    def replay(self) -> None:
        self.replays += 1
        self.stepper.learn()


@pytest.mark.slow
@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("name", ["gpt", "cifar"])
@pytest.mark.peers
def test_a_captured_step_learns_what_an_eager_one_does(
    name: str, ahead: bool, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Warm-up, capture and replays keep the order of mini-batches, whichever way they are uploaded."""
    from benchmarks.peers import torch_stepper
    from benchmarks.peers.torch_stepper import WARM_UP, Stepper

    folder = request.getfixturevalue(name).folder
    plain = Stepper(folder, "cpu", "float32", EAGER, "plain")
    expected = [plain.play(1)[1] for _ in range(STEPS)]
    clockwork = Clockwork()
    clockwork.install(monkeypatch)
    monkeypatch.setattr(torch_stepper, "AHEAD_BYTES", 0 if ahead else 1 << 40)
    clockwork.stepper = Stepper(folder, "cpu:0", "float32", GRAPH, "plain")
    found = [clockwork.stepper.play(1)[1] for _ in range(STEPS)]
    assert found == pytest.approx(expected, rel=1e-5)
    assert clockwork.replays == STEPS - WARM_UP
    assert clockwork.events == ahead * (1 + 4 * STEPS)


@pytest.mark.slow
@pytest.mark.peers
def test_channels_last_and_half_precision(cifar: Prepared) -> None:
    from benchmarks.peers.torch_stepper import Stepper

    plain = Stepper(cifar.folder, "cpu", "float32", EAGER, "plain").play(STEPS)[1]
    last = Stepper(cifar.folder, "cpu", "float32", EAGER, "channels last")
    assert last.inputs.static[0].stride()[1] == 1
    assert last.play(STEPS)[1] == pytest.approx(plain, rel=1e-4)
    half = Stepper(cifar.folder, "cpu", "bfloat16", EAGER, "plain").play(STEPS)[1]
    assert half == pytest.approx(plain, rel=0.02)
    assert half != plain
