"""docs/text.md tells the truth: its example of sequences of different lengths is made, trains and agrees."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.house.page_package import page_blocks, run_python

SECTION = "Sequences of different lengths"


@pytest.mark.thorough
def test_its_example_trains_and_agrees_with_one_worker(tmp_path: Path) -> None:
    found = page_blocks("text.md", SECTION)
    for name, language in (("make.py", "python"), ("job.conf", "protobuf")):
        (text,) = found[language]
        (tmp_path / name).write_text(text)
    make, run, verify = (shlex.split(line) for line in found[""][0].splitlines())
    run_python(tmp_path, *make[1:])
    accuracy = re.findall(r"train  .*accuracy = ([\d.]+)", run_python(tmp_path, "-m", *run))
    assert float(accuracy[-1]) > 0.95
    assert "They agree: " in run_python(tmp_path, "-m", *verify)
