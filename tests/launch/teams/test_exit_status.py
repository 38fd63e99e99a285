"""How processes end, in words."""

from __future__ import annotations

from netpart.launch.teams.exit_status import how


def test_an_exit_status_says_which_signal_it_was() -> None:
    assert [how(3), how(-15), how(-77)] == ["exit code 3", "signal 15, SIGTERM", "signal 77"]
