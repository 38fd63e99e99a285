"""Options that several verbs share."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.cli.common import COLLECTIVES
from netpart.collectives import ALGORITHMS
from netpart.proto.job_pb2 import Collectives
from tests.cli.conftest import Netpart


def test_an_algorithm_has_one_name_everywhere() -> None:
    named = [name.lower() for name in Collectives.Algorithm.keys()]  # noqa: SIM118 - an enum is no dict
    assert sorted(COLLECTIVES) == sorted(named) == sorted(("auto", *ALGORITHMS))


@pytest.mark.parametrize("name", COLLECTIVES)
def test_the_algorithm_that_is_named_is_the_one_that_is_taken(name: str, job: Path, netpart: Netpart) -> None:
    assert f"collectives: {name.upper()}\n" in netpart("partition", job, "--collectives", name).out
