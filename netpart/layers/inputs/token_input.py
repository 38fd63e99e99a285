"""kTokenInput: windows of the token numbers of raw files and .npy files, and the next token at every position."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, final

import numpy as np

from netpart.data.arrays.token_corpus import HINT, TokenCorpus
from netpart.data.corpus import find_text_files
from netpart.data.remote.url_path import url_settings
from netpart.data.token_windows import TokenSequence
from netpart.layers.inputs.windows import WindowInput
from netpart.proto.input_pb2 import TokenProto

ELEMENTS: dict[int, np.dtype[Any]] = {TokenProto.UINT16: np.dtype("<u2"), TokenProto.UINT32: np.dtype("<u4")}


@final
class TokenInput(WindowInput):
    """Outputs data and label (batch, window), int: tokens, and the token after each of them.

    A window starts anywhere in the phase's span of the tokens. Its start depends on (seed, name, phase, step, global
    row) only. Before a run every token is compared with the size of the embedding.
    """

    types: ClassVar[tuple[str, ...]] = ("kTokenInput",)
    confs: ClassVar[tuple[str, ...]] = ("token_conf",)
    field = "token_conf"
    unit = "tokens"

    def tokens(self) -> tuple[TokenSequence, str]:
        corpus = self.corpus()
        return corpus, str(corpus.paths[0]) if len(corpus.paths) == 1 else f"{len(corpus.paths)} files"

    def corpus(self) -> TokenCorpus:
        """The tokens of all files. Raises DataError if one cannot be read."""
        conf = self.conf.token_conf
        places = self.folder, Path()
        settings = url_settings(self.data_cache)
        paths = [file for name in conf.files for file in find_text_files(name, "", places, HINT, settings)]
        return TokenCorpus(paths, ELEMENTS[conf.element])

    def check_labels(self, classes: int, ignored: int | None = None) -> None:
        self.corpus().check_below(classes, ignored)
