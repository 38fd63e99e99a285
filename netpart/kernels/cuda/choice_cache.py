"""A cache on disk of choices made by measurement: a folder for each set of versions, a JSON file for each choice."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from threading import get_ident

from netpart.resources import user_cache_folder


class ChoiceCache:
    """Names by question, valid as long as ``versions`` (of libraries and devices) are the same."""

    def __init__(self, kind: str, versions: Sequence[str]) -> None:
        self.folder = user_cache_folder(kind) / _digest_name("\n".join(versions))

    def get(self, question: str) -> str | None:
        """The choice for ``question``; None if no choice was kept or its file cannot be read."""
        with contextlib.suppress(OSError, ValueError):
            found = json.loads(self._file(question).read_text())
            # The question itself is compared, too: its digest might be that of another.
            if isinstance(found, dict) and found.get("question") == question and isinstance(found.get("chosen"), str):
                return str(found["chosen"])
        return None

    def put(self, question: str, chosen: str) -> None:
        """Store a choice, if the folder can be written to."""
        file = self._file(question)
        # Renamed when complete, and under a name of its own before: processes and threads may write at the same time.
        partial = file.with_suffix(f".{os.getpid()}-{get_ident()}")
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            partial.write_text(json.dumps({"question": question, "chosen": chosen}))
            partial.replace(file)

    def _file(self, question: str) -> Path:
        return self.folder / f"{_digest_name(question)}.json"

    def __repr__(self) -> str:
        return f"Choices({self.folder})"


def _digest_name(text: str) -> str:
    """A file name for ``text``."""
    return blake2b(text.encode(), digest_size=12).hexdigest()
