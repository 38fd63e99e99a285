"""Token: the secret that the workers of a run share, and the coordinator's public key, as text.

    5f0c…32 hexadecimal digits             made by the user: the coordinator's keys are derived from it
    5f0c…32 digits:91ab…64 digits          made by netpart: the random public key for this run follows the colon

A process gets it through its environment or a file that only its user can read. It is never on a command line, which
every user of a host can see.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from shlex import quote

from netpart.errors import ConfigError, os_error_text
from netpart.files import open_file

VARIABLE = "NETPART_TOKEN"
BYTES, KEY_BYTES = 16, 32
LONGEST = 4096
"""Maximum number of bytes read from a token file."""
HINT = "make one with `openssl rand -hex 16`"
RUN_HINT = "use the token of the run: all of the file that it wrote, or a copy of the file that it was given"
"""The next step for a worker that joins: a new token can never be that of its run."""
COPY = "copy the whole token, with the part after the colon, from the file that the run wrote it to"


@dataclass(frozen=True, repr=False)
class RunToken:
    """``secret`` (16 bytes) is shown to the coordinator. ``key`` (32 bytes) is the coordinator's public key.

    ``key`` is b"" if the coordinator's keys are derived from the secret.
    """

    secret: bytes
    key: bytes = b""

    @property
    def text(self) -> str:
        """The text that ``parse_token`` reads."""
        return f"{self.secret.hex()}:{self.key.hex()}" if self.key else self.secret.hex()

    def ticket(self, rank: int, turn: int = 0) -> RunToken:
        """The token of worker ``rank``, derived from this shared one. Each ``turn``, for the next process in that seat,
        has its own."""
        place = rank.to_bytes(4, "big") + turn.to_bytes(4, "big")
        return RunToken(blake2b(place, key=self.secret, digest_size=BYTES).digest(), self.key)


def find_token(environment: Mapping[str, str], file: Path | None = None, hint: str = HINT) -> RunToken | None:
    """The token in ``file``, or else in the environment; None if neither has one.

    Raises ConfigError, with ``hint`` as the next step.
    """
    if file is not None:
        return parse_token(_read_token_file(file, hint), str(file), hint)
    text = environment.get(VARIABLE)
    return None if text is None else parse_token(text, VARIABLE, hint)


def parse_token(text: str, who: str, hint: str = HINT) -> RunToken:
    """Parse a token from ``text``. Raises ConfigError, which does not repeat ``text``, as that may be a secret."""
    if not text.strip():
        raise ConfigError(who, "the run's token", "an empty text", f"did the command that prints it fail? {hint}")
    secret, colon, key = text.strip().partition(":")
    found = _parse_hex_bytes(secret, BYTES, who, hint)
    return RunToken(found, _parse_hex_bytes(key, KEY_BYTES, who, COPY) if colon else b"")


def _parse_hex_bytes(text: str, count: int, who: str, hint: str) -> bytes:
    """``count`` bytes from hexadecimal digits. Raises ConfigError."""
    expected = f"{2 * count} hexadecimal digits{' after the colon' if hint == COPY else ''}"
    try:
        found = bytes.fromhex(text)
    except ValueError:
        raise ConfigError(who, expected, "other characters", hint) from None
    if len(found) != count:
        raise ConfigError(who, expected, str(2 * len(found)), hint)
    return found


def refuse_pinned_token(token: RunToken | None, who: str) -> None:
    """Raise ConfigError for a token that another coordinator made: only that one has the secret half of its key."""
    if token is not None and token.key:
        raise ConfigError(who, f"{2 * BYTES} hexadecimal digits", "the token that netpart made for another run", HINT)


def _read_token_file(file: Path, hint: str) -> str:
    """The contents of a token file. Raises ConfigError if other users can read it too."""
    try:
        with open_file(file) as opened:
            # fstat of the open file, not stat of the path: the file cannot be replaced between check and read.
            mode = os.fstat(opened.fileno()).st_mode
            if mode & (stat.S_IRWXG | stat.S_IRWXO):
                got = f"mode {stat.S_IMODE(mode):o}"
                closing = "chmod 600 it, and use another token if others have seen this one"
                raise ConfigError(str(file), "a file that only its owner can read", got, closing)
            return (opened.read(LONGEST) or b"").decode("ascii", errors="replace")
    except OSError as error:
        name = quote(str(file))
        step = f"make one: `openssl rand -hex 16 > {name} && chmod 600 {name}`" if hint == HINT else hint
        raise ConfigError(str(file), "a file with the run's token", os_error_text(error), step) from None


def write_token_file(file: Path, token: RunToken) -> Path:
    """Write ``token`` to ``file``, readable only by its owner; return its absolute path."""
    file.parent.mkdir(parents=True, exist_ok=True)
    # A new file with O_EXCL: mode 600 holds from the start, and no other process can have it open
    file.unlink(missing_ok=True)
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as out:
        out.write(token.text + "\n")
    return file.absolute()
