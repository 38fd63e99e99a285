"""kTextInput: windows of the bytes of text files, and the next byte at every position."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, final

import numpy as np
from numpy.typing import DTypeLike

from netpart.data.corpus import Corpus, find_text_files
from netpart.data.remote.url_path import url_settings
from netpart.data.row_source import RowSource
from netpart.data.text_windows import TextWindows, phase_spans
from netpart.errors import DataError
from netpart.kernels import philox
from netpart.layers.checks import at_least, fault
from netpart.layers.inputs.rows import RowInput
from netpart.spec import INT, Region, Shape, Spec

PHASES = {1: "training", 2: "validation", 4: "testing"}


@final
class TextInput(RowInput):
    """Outputs data and label (batch, window), int: tokens 0 to 255, and the token after each of them.

    A window starts anywhere in the phase's span of the text. Its start depends on (seed, name, phase, step, global row)
    only.
    """

    types: ClassVar[tuple[str, ...]] = ("kTextInput",)
    confs: ClassVar[tuple[str, ...]] = ("text_conf",)
    field = "text_conf"

    def infer(self) -> tuple[Spec, ...]:
        data, _ = super().infer()
        return Spec(data.shape, INT), Spec(data.shape, INT)

    def sample(self) -> Shape:
        conf = self.conf.text_conf
        if not conf.files:
            raise fault(self, "the files of its text", "none", 'write files: "..."', self.field, "files")
        if not 0 <= conf.held_out < 1:
            got = f"{conf.held_out:g}"
            hint = "write the share of the text that is not used for training"
            raise fault(self, "0 <= held_out < 1", got, hint, self.field, "held_out")
        return (at_least(self, 1, conf.window, self.field, "window"),)

    def cuts(self) -> tuple[int | str, ...]:
        return (0, 1)

    def outputs_of(self, region: Region) -> tuple[Region, ...]:
        return region, region

    def open(self, batch: int, seed: int, phase: int, dtype: DTypeLike = np.float32) -> RowSource:
        conf = self.conf.text_conf
        key = philox.stream_key(seed, self.name, "window")
        places = self.folder, Path()
        settings = url_settings(self.data_cache)
        corpus = Corpus([file for name in conf.files for file in find_text_files(name, conf.suffix, places, settings)])
        span = dict(zip(PHASES, phase_spans(len(corpus), conf.held_out), strict=True))[phase]
        if span[1] - span[0] <= conf.window:
            named = [str(path) for path in corpus.paths] or [*conf.files]
            who = named[0] if len(named) == 1 else f"{len(named)} files"
            expected = f"{conf.window + 1} bytes or more for {PHASES[phase]}"
            hint = "write a smaller window, or another held_out"
            raise DataError(f"{who}: expected {expected}, got {span[1] - span[0]} of {len(corpus)}; {hint}")

        def draw(step: int, lo: int, hi: int, bound: int) -> list[int]:
            return philox.draw_integers(key, step, phase, (lo, hi), bound)

        return TextWindows(corpus, span, conf.window, draw)
