"""A file of another format that is taken for a job gets one answer, and a job with mistakes is not taken for one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from netpart.errors import ConfigError
from netpart.proto.formats import other_format_error
from netpart.proto.reader import read_job_text

ROOT = Path(__file__).parents[2]
JOBS = sorted((ROOT / "graphs").rglob("*.conf"))
TEXTS = {
    "JSON": ['{\n "layers": []}', "[[1, 2]]", "{}"],
    "an SVG drawing": ['<?xml version="1.0"?>\n<!-- made -->\n<svg width="1">', "<svg>"],
    "HTML or XML": ["<!DOCTYPE html><html>", '<?xml version="1.0"?><net/>'],
    "a Graphviz graph": ["digraph net {\n a -> b }", "strict graph {"],
    "a Python program": ["#!/usr/bin/python3\nx", "# a net\nimport numpy\n", "from numpy import array", '"""A net."""'],
    "YAML": ["---\nname: x\n", "layers:\n  - name: conv1\n", "- name: x\n"],
}


@pytest.mark.parametrize(("format", "text"), [(name, text) for name, texts in TEXTS.items() for text in texts])
def test_another_format_is_named(format: str, text: str) -> None:
    message = f"a.conf:1:1: a.conf: expected a job in protobuf text, got {format}; give the job itself"
    with pytest.raises(ConfigError, match=re.escape(message)) as caught:
        read_job_text(text, "a.conf")
    assert len(caught.value.faults) == 1


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.stem)
def test_jobs_are_not_taken_for_another_format(path: Path) -> None:
    text = path.read_text()
    assert other_format_error(text, path.name) is None
    assert other_format_error(text[text.index("neuralnet") :], path.name) is None


@pytest.mark.parametrize("text", ["name: [", "neuralnet {", "{ layer { } }", "import: 3", "<a>", "name:\n-3"])
def test_a_job_with_a_mistake_keeps_its_own_message(text: str) -> None:
    assert other_format_error(text, "a.conf") is None
