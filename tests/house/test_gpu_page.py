"""docs/gpu-results.md: its tables say what the benchmarks found, and its commands are there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.house.tree import ROOT
from tools.gpu_page import PAGE, filled, main
from tools.results_page import RESULTS

PLACE = {
    "date": "2026-01-02", "gpu": "G", "driver": "5", "machine": {"processor": "P", "cores": 2},
    "versions": {"python": "3", "system": "L"},
}  # fmt: skip
NET = {
    "title": "LeNet", "batch": 64, "date": "2026-01-02", "steps": 10, "flops": 1000, "bytes": 100,
    "ceilings": {"product": 1e7, "copy": 1e6}, "failed": {"compiled": "Traceback\nno compiler"},
    "contenders": {
        "netpart": {"layout": "plain", "loss": 1.0, "seconds": [2e-4, 1e-4, 3e-4]},
        "eager": {"layout": "plain", "loss": 1.0, "seconds": [1.2e-3]},
        "CUDA graph": {"layout": "plain", "loss": 1.0, "seconds": [3e-4]},
    },
}  # fmt: skip


def page(root: Path, **files: dict[str, Any]) -> str:
    """The page of a root that has these results."""
    for folder in ("docs", RESULTS):
        (root / folder).mkdir(parents=True)
    names = "gpu-tf32", "gpu-bridges"
    marks = "".join(f"before\n<!-- results: {name} -->\nold\n<!-- end -->\n" for name in names)
    (root / PAGE).write_text(marks, encoding="utf-8")
    for name, found in files.items():
        (root / RESULTS / f"gpu-{name}.json").write_text(json.dumps(PLACE | found), encoding="utf-8")
    return filled(root)


@pytest.mark.skipif(not (ROOT / PAGE).exists(), reason=f"{PAGE} is not there")
def test_the_page_says_what_was_measured() -> None:
    assert main(["--check"]) == 0


def test_what_was_not_measured_has_its_command(tmp_path: Path) -> None:
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = re.findall(r"`make ([\w-]+)", page(tmp_path))
    assert commands == ["bench-gpu", "bench-gpu-bridges"]
    assert all(f"\n{command}: " in rules for command in commands)


def test_tables_are_made_of_files(tmp_path: Path) -> None:
    row = {"work": "w", "against": "a", "netpart": 2.0, "peer": 1.8, "unit": "s", "goal": 0.8, "ratio": 0.9}
    found = page(
        tmp_path, tf32={"nets": {"lenet": NET}},
        bridges={"bridges": {"streamed": {"bytes": 1 << 20, "seconds": 1e-3}}, "rows": [row]},
    )  # fmt: skip
    assert "2026-01-02, G, driver 5; python 3.\n" in found
    assert "| LeNet, batch 64 | 200.0 µs | 1.2 ms | 300.0 µs | – | 50% | 50% |" in found
    assert "- LeNet, compiled: could not be measured: no compiler" in found
    assert "| LeNet, batch 64 | PyTorch CUDA graph | 200.0 µs | 300.0 µs | 1.50 | 1.00 |" in found
    assert "| LeNet, batch 64 | PyTorch eager | 200.0 µs | 1.2 ms | 6.00 | 5.00 |" in found
    assert "| streamed | 1.0 MiB | 1.0 ms | 1.0 |" in found
    assert "| w | a | 2.0 s | 1.8 s | 0.90 | 0.80 |" in found
    assert "old" not in found
