"""The code blocks of a page, and a package of them that is tried without being installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import text_format

from netpart.layers import layer_class
from netpart.layers.inputs.rows import RowInput
from netpart.proto.job_pb2 import LayerType, NetProto
from netpart.spec import FLOAT, INT
from tests.house.tree import ROOT

SECONDS = 120


def page_blocks(page: str, section: str = "") -> dict[str, list[str]]:
    """The blocks of ``docs/PAGE``, or of one ``section``, by their language, "" where a block names none."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    text = text.split(f"\n## {section}\n", 1)[1].split("\n## ", 1)[0] if section else text
    found: dict[str, list[str]] = {}
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
        found.setdefault(language, []).append(block)
    return found


def write_entry_points(folder: Path, name: str, entry_points: str) -> None:
    """What pip writes of the package ``name``, so that Python finds its entry points in ``folder``."""
    (folder / f"{name}-1.dist-info").mkdir()
    (folder / f"{name}-1.dist-info" / "entry_points.txt").write_text(entry_points)


def run_python(folder: Path, *arguments: str) -> str:
    """Runs Python with the packages of ``folder``; returns what it prints. A failure is an AssertionError."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    result = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def first_rows(block: str, folder: Path) -> list[Any]:
    """The data and the labels of the first mini-batch of an input layer of a page, with files of ``folder``."""
    (proto,) = text_format.Parse(block, NetProto()).layer
    layer = layer_class(LayerType.Name(proto.type))(proto, (), folder=folder)
    assert isinstance(layer, RowInput)
    layer.check_data()
    kinds = {FLOAT: np.float32, INT: np.int32}
    found = [np.full(spec.shape, -9, kinds[spec.dtype]) for spec in layer.outputs]
    layer.open(layer.output.shape[0], 0, 1).read(0, 0, layer.output.shape[0], found[0], found[1])
    return found
