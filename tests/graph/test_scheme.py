"""The scheme that a job names."""

from __future__ import annotations

import pytest

from netpart.errors import ConfigError
from netpart.families import SCHEMES
from netpart.graph.scheme import AS_WRITTEN, parse_scheme_name
from netpart.proto.job_pb2 import Scheme


def test_every_scheme_of_the_language_can_be_carried_out() -> None:
    assert {name for name, _ in Scheme.items()} - {AS_WRITTEN} == set(SCHEMES.names())


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("foo", "--scheme: expected a known scheme, got 'foo'; all 9: altsplit, column-row,"),
        ("colum-row", "got 'colum-row'; did you mean column-row? (all 9: altsplit, column-row,"),
        ("ddp", "got 'ddp'; it is data (all 9: "),
        ("megatron", "got 'megatron'; it is column-row (all 9: "),
    ],
)
def test_an_unknown_scheme_is_quoted_as_it_was_typed(typed: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_scheme_name(typed)
    assert said in str(raised.value)
