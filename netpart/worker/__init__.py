"""Execution of the Program of one worker."""

__all__ = [
    "actions",
    "bind",
    "ensemble",
    "flow_control",
    "group_averaging",
    "initial_values",
    "memory_limit",
    "player",
    "server_player",
    "trace",
    "wait_reasons",
]
