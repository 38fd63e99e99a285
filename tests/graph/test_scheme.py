"""The scheme that a job names."""

from __future__ import annotations

from netpart.graph.scheme import NAMES
from netpart.plan.schemes import SCHEMES


def test_every_scheme_of_the_language_can_be_carried_out() -> None:
    assert NAMES.names() == SCHEMES.names()
