"""Files from outside are opened by ``netpart.files`` and nowhere else: there it is known what a regular file is, and
how much of it is read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import name, parsed, python_files

OPENS = {"read_text", "read_bytes", "memmap", "fromfile", "mmap"}
MODES = ("r", "rb", "r+b", "w", "wb", "a", "xb")
OWN = {
    "files": "the rule itself",
    "cli/zoo": "its own folders, and a file that was opened by the rule before",
    "proto/declarations": "its own folders",
    "kernels/cuda/choice_cache": "what it wrote itself",
    "kernels/cuda/device": "its own sources",
    "draw/page/page_file": "its own sources",
    "live/run_page": "its own sources",
    "worker/memory_limit": "the kernel's files",
    "processor": "the kernel's files",
    "measure/other_load": "the kernel's files",
    "transport/mpi_world": "the kernel's files",
    "launch/control/cores": "the kernel's files",
    "launch/coordinator/file_room": "the root folder, to see if a file can be opened",
    "launch/teams/mpi": "the kernel's files, and logs that it writes",
    "transport/host_memory": "memory of this run",
    "transport/shm": "memory of this run",
    "transport/cuda_ipc": "memory of this run",
    "checkpoint/gathered_writes": "a file that was opened by the rule, once more",
    "launch/teams/processes": "logs that it writes",
    "launch/report/run_record": "what it writes",
    "launch/control/token": "what it writes",
    "launch/teams/exit_status": "logs that it wrote",
    "launch/coordinator/coordinator": "the root, to see whether there is room",
    "data/atomic_file": "what it writes",
    "checkpoint/safetensors_file": "what it writes",
    "data/remote/block_cache": "what it wrote itself",
    "data/make/python_source": "Python's own files",
    "launch/report/event_lines": "what it writes",
    "launch/snapshots/region_memory": "memory without a file",
    "launch/supervisor": "its own pipe",
    "cli/main": "what it writes",
    "cli/run": "what it writes",
}
"""Modules that open files by themselves, and which."""


def opened(module: ast.Module) -> Iterator[int]:
    """The lines on which something is opened."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            *owner, word = ast.unparse(node.func).split(".")
            opens = word == "open" and (not owner or owner[0] in ("os", "io", "gzip") or mode(node) in MODES)
            if opens or (owner and word in OPENS):
                yield node.lineno


def mode(call: ast.Call) -> str:
    """What a call has in the place of a mode."""
    return str(getattr(call.args[0], "value", "")) if call.args else ""


@pytest.mark.parametrize("path", python_files("netpart"), ids=name)
def test_files_from_outside_are_opened_by_the_rule(path: Path) -> None:
    where = name(path).removeprefix("netpart/").removesuffix(".py")
    lines = list(opened(parsed(path)))
    assert not lines or where in OWN, f"lines {lines}: use netpart.files, or say in OWN what is opened"


def test_it_sees_what_it_looks_for() -> None:
    text = "open(p)\np.open('rb')\np.read_text()\nos.open(p, 0)\nnp.memmap(p)\nlayer.open(3)\nmmap.mmap(3, 4)"
    assert list(opened(ast.parse(text))) == [1, 2, 3, 4, 5, 7]
