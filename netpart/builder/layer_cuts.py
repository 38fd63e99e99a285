"""The cuts of layers by patterns of their names, and the changes that cut the layers of instances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from netpart.proto.name_patterns import matching_names

Cuts = Mapping[str, Mapping[str, Any]]
"""The fields of the layers whose names match a pattern; of several patterns the first counts."""


def first_cut(name: str, cuts: Cuts) -> Mapping[str, Any]:
    """The fields of the first pattern that ``name`` matches; none without one."""
    return next((fields for pattern, fields in cuts.items() if matching_names(pattern, [name])), {})


def block_changes(use: str, made: Sequence[Sequence[str]], cuts: Cuts) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Patterns of names and the fields to change, for the layer kBlock ``use``: few that do what ``cuts`` say.

    ``made`` has the names of the layers in each instance. A pattern is taken if all that it matches are cut alike.
    """
    wanted = {name: first_cut(name, cuts) for names in made for name in names}
    alike = [f"{use}*-{column[0].partition('-')[2]}" for column in zip_longest(*made, fillvalue="")]
    done = {name for name, fields in wanted.items() if not fields}
    for pattern in [f"{use}*", *cuts, *alike, *wanted]:
        names = matching_names(pattern, wanted)
        if set(names) - done and all(wanted[name] == wanted[names[0]] for name in names):
            yield pattern, wanted[names[0]]
            done |= set(names)
