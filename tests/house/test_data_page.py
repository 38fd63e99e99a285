"""What docs/data.md has on images works: its files are made, its layers read them, its commands and its job run."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.house.page_package import first_rows, page_blocks, run_python
from tests.thorough import sampled

BLOCKS = page_blocks("data.md", "Images")
INPUTS = [block for block in BLOCKS["protobuf"] if block.startswith("layer")]
JOBS = [block for block in BLOCKS["protobuf"] if not block.startswith("layer")]
COMMANDS = [line for block in BLOCKS[""] for line in block.splitlines() if line.startswith("netpart ")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the page is followed, with the files that it makes."""
    path = tmp_path_factory.mktemp("page")
    for block in BLOCKS["python"]:
        (path / "block.py").write_text(block)
        run_python(path, "block.py")
    return path


@pytest.mark.parametrize("block", INPUTS)
def test_a_layer_of_the_page_reads_the_files_of_the_page(block: str, folder: Path) -> None:
    data, label = first_rows(block, folder)
    assert len(data) == 10
    assert np.isfinite(data).all()
    assert data.std() > 0.1
    assert {*np.unique(label)} == {0, 1}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_runs(command: str, folder: Path) -> None:
    assert re.search("made (1 tar file of )?20 images", run_python(folder, "-m", *shlex.split(command)))


@pytest.mark.parametrize("workers", sampled([2, 1], 2))
def test_the_job_of_the_page_learns(workers: int, folder: Path) -> None:
    summary = run_job_of_page(JOBS[0], folder, workers)
    assert summary["classes"] == {"data": ["stripes", "waves"]}
    assert summary["best"]["metric"] == "loss/accuracy"
    assert summary["best"]["value"] >= 0.9
    assert summary["test"]["loss/accuracy"] >= 0.8


@pytest.mark.thorough
def test_the_segmentation_of_the_page_learns(folder: Path) -> None:
    summary = run_job_of_page(JOBS[1], folder, 2)
    assert summary["best"]["value"] > 0.9
    assert summary["test"]["loss/accuracy"] > 0.9


def run_job_of_page(job: str, folder: Path, workers: int) -> dict[str, Any]:
    """The summary of a run of ``job`` in a workspace of its own."""
    (folder / "job.conf").write_text(job)
    options = "--workers", str(workers), "--workspace", f"out/{workers}{len(job)}", "--summary", "summary.json"
    run_python(folder, "-m", "netpart", "run", "job.conf", *options)
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found
