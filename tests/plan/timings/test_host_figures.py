"""Host figures: kept per processor, and read only if they are whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.collectives.network import LinkCost
from netpart.plan.timings import host_figures
from netpart.plan.timings.host_figures import HostFigures, read_host_figures, write_host_figures

FIGURES = HostFigures(5e10, 1e10, 1.1, 1.8, links={"shm": LinkCost(1e-5, 2e-6, 5e9)})


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_they_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_host_figures() is None
    write_host_figures(FIGURES)
    assert read_host_figures() == FIGURES
    monkeypatch.setattr(host_figures, "processor_name", lambda: "another")
    assert read_host_figures() is None


@pytest.mark.parametrize("change", [('"speed": 5', '"speed": -5'), ('"step"', '"stop"'), ("{", "")])
def test_damaged_ones_are_measured_again(change: tuple[str, str], tmp_path: Path) -> None:
    write_host_figures(FIGURES)
    (path,) = (tmp_path / "netpart" / "timings").iterdir()
    path.write_text(path.read_text().replace(*change, 1))
    assert read_host_figures() is None


def test_a_damaged_link_is_left_out(tmp_path: Path) -> None:
    write_host_figures(FIGURES)
    (path,) = (tmp_path / "netpart" / "timings").iterdir()
    path.write_text(path.read_text().replace('"latency": 1e-05', '"latency": -1'))
    found = read_host_figures()
    assert found is not None
    assert found.links == {}


def test_streams_slow_each_other_down_and_what_a_core_keeps_does_not() -> None:
    streams = FIGURES.slowdown(0.01, 1e8)
    products = FIGURES.slowdown(1.0, 1e8)
    assert streams == pytest.approx(1.8)
    assert products == pytest.approx(1.1, abs=0.01)
    assert FIGURES.slowdown(1e-5, 1e5) == pytest.approx(1.1)
