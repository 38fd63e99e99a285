"""Choices that were made by measurement, kept on disk: a folder for what they hold for, a small JSON file for each."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from threading import get_ident


class ChoiceCache:
    """Names by question, for as long as ``versions`` (of libraries and devices) stay as they are."""

    def __init__(self, kind: str, versions: Sequence[str]) -> None:
        self.folder = _cache_folder() / kind / _digest_name("\n".join(versions))

    def get(self, question: str) -> str | None:
        """What was chosen; None where nothing was, or what is there cannot be read."""
        with contextlib.suppress(OSError, ValueError):
            found = json.loads(self._file(question).read_text())
            if isinstance(found, dict) and found.get("question") == question and isinstance(found.get("chosen"), str):
                return str(found["chosen"])
        return None

    def put(self, question: str, chosen: str) -> None:
        """Keeps a choice, if the folder can be written to; the file is renamed when complete."""
        file = self._file(question)
        partial = file.with_suffix(f".{os.getpid()}-{get_ident()}")
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            partial.write_text(json.dumps({"question": question, "chosen": chosen}))
            partial.replace(file)

    def _file(self, question: str) -> Path:
        return self.folder / f"{_digest_name(question)}.json"

    def __repr__(self) -> str:
        return f"Choices({self.folder})"


def _cache_folder() -> Path:
    """Where the user keeps what can be computed again: $XDG_CACHE_HOME/netpart."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "netpart")


def _digest_name(text: str) -> str:
    """A name for ``text`` that a file can have."""
    return blake2b(text.encode(), digest_size=12).hexdigest()
