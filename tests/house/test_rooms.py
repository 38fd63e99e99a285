"""Each room says in one sentence what it is, and names in ``__all__`` its modules that others may import."""

from __future__ import annotations

import ast

import pytest

from tests.house.rooms import declared_doors, room_doors
from tests.house.tree import ROOT

LARGE = {"netpart/layers", "netpart/kernels", "netpart/kernels/cuda", "netpart/kernels/cuda/source", "netpart/proto"}
"""Rooms that may have more than ENTRIES: a file per layer type, verb or kernel, and what protoc makes."""
ENTRIES = 40


@pytest.mark.parametrize("room", room_doors())
def test_a_room_names_what_others_import(room: str) -> None:
    """A module that no other room imports is the room's own, and may change without a look around."""
    assert declared_doors(room) == room_doors()[room], f"write it in {room}/__init__.py"


@pytest.mark.parametrize("room", room_doors())
def test_a_room_says_what_it_is(room: str) -> None:
    assert ast.get_docstring(ast.parse((ROOT / room / "__init__.py").read_text(encoding="utf-8")))


def test_no_room_is_overfull() -> None:
    folders = [path.parent for path in (ROOT / "netpart").rglob("__init__.py")]
    counts = {
        str(folder.relative_to(ROOT)): len([p for p in folder.iterdir() if p.name != "__pycache__"])
        for folder in folders
    }
    assert {room: count for room, count in counts.items() if count > ENTRIES and room not in LARGE} == {}
