"""Counts that cannot be are refused when a job is read, with their place."""

from __future__ import annotations

import pytest

from netpart.errors import ConfigError, Position
from netpart.proto.counts import LEAST
from netpart.proto.reader import loads


@pytest.mark.parametrize("at", LEAST, ids=".".join)
def test_a_count_below_its_least_is_refused_and_the_least_is_not(at: tuple[str, ...]) -> None:
    path, least = ".".join(at), LEAST[at]
    loads("", overrides=[f"{path}={least}"])
    with pytest.raises(ConfigError, match=f"{path}: expected {least} or more, got {least - 1}; write"):
        loads("", overrides=[f"{path}={least - 1}"])


def test_a_wrong_count_is_located() -> None:
    with pytest.raises(ConfigError) as raised:
        loads("train_steps: 3\n  test_freq: -2", "job.conf")
    assert raised.value.position == Position("job.conf", 2, 3)
