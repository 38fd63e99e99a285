"""Runs: what recomputed instructions make for each other, with no way through a kept one between them."""

from __future__ import annotations

import pytest

from netpart.program.buffers import View
from netpart.program.instructions import Forward
from netpart.program.passes.recomputed_runs import find_recomputed_runs

TABLE = {
    "a chain": ("a: b:a c:b", "a b c", "abc"),
    "a kept layer between": ("a: K:a b:K", "a b", "a b"),
    "a kept layer of another branch": ("a: K: b:a", "a b", "ab"),
    "a kept layer and a way around it": ("a: K:a b:aK", "a b", "a b"),
    "two kept layers in a row": ("a: K:a L:K b:L", "a b", "a b"),
    "branches that meet": ("a: b:a c:a d:bc", "a b c d", "abcd"),
    "branches that meet in a kept layer": ("K: a:K b:a c:K d:c L:bd", "a b c d", "ab cd"),
    "readers of one kept layer": ("K: a:K b:K", "a b", "a b"),
    "a block and what goes around it": ("a: K:a b:K c:ab d:c", "a b c d", "a bcd"),
    "nothing": ("K: L:K", "", ""),
}


@pytest.mark.parametrize("case", TABLE)
def test_runs_are(case: str) -> None:
    """``b:aK`` reads what a and K make."""
    net, recomputed, expected = TABLE[case]
    names = {name: at for at, name in enumerate(each[0] for each in net.split())}
    calls = {each[0]: call(names[each[0]], [names[source] for source in each[2:]]) for each in net.split()}
    runs = find_recomputed_runs(list(calls.values()), [calls[name] for name in recomputed.split()])
    letters = {id(each): name for name, each in calls.items()}
    assert " ".join("".join(letters[id(i)] for i in run) for run in runs) == expected


def call(buffer: int, read: list[int]) -> Forward:
    """A part that makes one buffer of others."""
    x = tuple(View(b, ((0, 1),)) for b in read)
    return Forward(0, buffer, x, (), (View(buffer, ((0, 1),)),), (), None)
