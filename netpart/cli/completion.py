"""netpart --completion SHELL: a script that completes verbs, options, choices, names, jobs and folders in a shell.

Written by shtab from the parser itself, so it never lags behind. Names of packages are those that are installed now.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SHELLS = "bash", "zsh", "fish"
JOBS = {
    "bash": "_netpart_jobs", "zsh": "_files -g '*.(conf|textproto|pbtxt)'",
    "fish": "(__fish_complete_suffix .conf)",
}  # fmt: skip
"""What completes a job in each shell: files with its endings, and folders on the way to them."""
PREAMBLE = {
    "bash": """_netpart_jobs() {
  compgen -d -- "$1"
  compgen -f -X '!*.@(conf|textproto|pbtxt)' -- "$1"
}
shopt -s extglob
"""
}
FOLDERS = ("DIR", "FOLDER")
"""The metavars of options and arguments that are folders."""


class CompletionAction(argparse.Action):
    """The option --completion: print the script for a shell and exit. Raises ConfigError without shtab."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: object, values: Any, *_: Any) -> None:
        print(completion_script(parser, values))
        parser.exit()


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script that completes the command line of ``parser`` in ``shell``. Changes ``parser``: shtab reads from its
    actions what completes them."""
    from netpart.errors import ConfigError

    try:
        import shtab
    except ImportError as error:
        hint = "`pip install 'netpart[completion]'`"
        raise ConfigError("--completion", "the package shtab", "none", hint) from error
    kinds = {"job": JOBS, "folder": shtab.DIRECTORY, "file": shtab.FILE}
    names = _option_names()
    for action in _all_actions(parser):
        if kind := _file_kind(action):
            action.complete = kinds[kind]  # type: ignore[attr-defined]  # shtab's own attribute
        elif action.choices is None and set(action.option_strings) & names.keys():
            action.choices = names[action.option_strings[-1]]
    return str(shtab.complete(parser, shell, preamble=PREAMBLE.get(shell, "")))


def _option_names() -> dict[str, tuple[str, ...]]:
    """The names that an option takes besides those of its parser: of members of families, packages' included."""
    from netpart import families
    from netpart.choices import AUTO

    schemes = tuple(name.lower().replace("_", "-") for name in families.SCHEMES.names())
    return {
        "--scheme": schemes, "--launcher": families.LAUNCHERS.names(), "--listener": families.LISTENERS.names(),
        "--transport": (AUTO, *families.TRANSPORTS.names()),
    }  # fmt: skip


def _all_actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """The actions of ``parser`` and of all verbs below it."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for verb in action.choices.values():
                yield from _all_actions(verb)


def _file_kind(action: argparse.Action) -> str:
    """What an action takes: "job", "folder", "file", or "" for something else."""
    if action.dest == "job" or action.dest == "files":
        return "job"
    if action.metavar in FOLDERS:
        return "folder"
    return "file" if action.type is Path or action.dest == "output" else ""
