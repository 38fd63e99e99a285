"""How processes end, in words."""

from __future__ import annotations

from netpart.launch.teams.exit_status import describe_exit


def test_an_exit_status_says_which_signal_it_was() -> None:
    assert [describe_exit(3), describe_exit(-15), describe_exit(-77)] == [
        "exit code 3",
        "signal 15, SIGTERM",
        "signal 77",
    ]
