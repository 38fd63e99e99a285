"""kTextInput: windows of the bytes of text files, and the next byte at every position."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, final

from netpart.data.corpus import Corpus, find_text_files
from netpart.data.remote.url_path import url_settings
from netpart.data.token_windows import TextTokens, TokenSequence
from netpart.layers.inputs.windows import WindowInput


@final
class TextInput(WindowInput):
    """Outputs data and label (batch, window), int: tokens 0 to 255, and the token after each of them.

    A window starts anywhere in the phase's span of the text. Its start depends on (seed, name, phase, step, global row)
    only.
    """

    types: ClassVar[tuple[str, ...]] = ("kTextInput",)
    confs: ClassVar[tuple[str, ...]] = ("text_conf",)
    field = "text_conf"
    unit = "bytes"

    def tokens(self) -> tuple[TokenSequence, str]:
        corpus = self.corpus()
        named = [str(path) for path in corpus.paths] or [*self.conf.text_conf.files]
        return TextTokens(corpus), named[0] if len(named) == 1 else f"{len(named)} files"

    def corpus(self) -> Corpus:
        """The text of all files. Raises DataError if one cannot be read."""
        conf = self.conf.text_conf
        places = self.folder, Path()
        found = [
            find_text_files(name, conf.suffix, places, settings=url_settings(self.data_cache)) for name in conf.files
        ]
        return Corpus([file for files in found for file in files])
