"""The run's token: the secret that its workers share, as text of 32 hexadecimal digits.

It reaches a process through its environment or a file that nobody else can read, never through a command line, which
every user of a host can see.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from netpart.errors import ConfigError, came
from netpart.files import open_file

VARIABLE = "NETPART_TOKEN"
BYTES = 16
LONGEST = 4096
"""Bytes of a token file that are looked at."""
HINT = "make one with `openssl rand -hex 16`"


def given(environment: Mapping[str, str], file: Path | None = None) -> bytes | None:
    """The token in ``file``, or else in the environment; None where there is none. Raises ConfigError."""
    if file is not None:
        return parse(read(file), str(file))
    text = environment.get(VARIABLE)
    return None if text is None else parse(text, VARIABLE)


def parse(text: str, who: str) -> bytes:
    """The bytes of a token. Raises ConfigError, which does not repeat ``text``."""
    expected = f"{2 * BYTES} hexadecimal digits"
    try:
        token = bytes.fromhex(text.strip())
    except ValueError:
        raise ConfigError(who, expected, "other characters", HINT) from None
    if len(token) != BYTES:
        raise ConfigError(who, expected, str(2 * len(token)), HINT)
    return token


def read(file: Path) -> str:
    """What a token file holds. Raises ConfigError if others can read it, too."""
    try:
        with open_file(file) as opened:
            mode = os.fstat(opened.fileno()).st_mode
            if mode & (stat.S_IRWXG | stat.S_IRWXO):
                got, hint = (
                    f"mode {stat.S_IMODE(mode):o}",
                    "chmod 600 it, and use another token if others have seen this one",
                )
                raise ConfigError(str(file), "a file that only its owner can read", got, hint)
            return (opened.read(LONGEST) or b"").decode("ascii", errors="replace")
    except OSError as error:
        got, hint = came(error), "the run says where it is"
        raise ConfigError(str(file), "a file with the run's token", got, hint) from None


def keep(file: Path, token: bytes) -> Path:
    """Writes ``token`` to ``file``, which only its owner can read; returns its absolute path."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as out:
        out.write(token.hex() + "\n")
    return file.absolute()
