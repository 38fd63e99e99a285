"""Base class of inputs whose rows are windows of a sequence of tokens, with the next token at every position."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import DTypeLike

from netpart.data.remote.url_path import DataPath
from netpart.data.row_source import RowSource
from netpart.data.token_windows import TokenSequence, TokenWindows, phase_spans
from netpart.errors import DataError
from netpart.kernels import philox
from netpart.layers.checks import at_least, fault
from netpart.layers.inputs.rows import RowInput
from netpart.spec import INT, Region, Shape, Spec

PHASES = {1: "training", 2: "validation", 4: "testing"}


class FileTokens(Protocol):
    """Tokens of files: their number, and the paths of the files."""

    paths: list[DataPath]

    def __len__(self) -> int: ...


class WindowInput(RowInput):
    """Outputs data and label (batch, window), int: tokens, and the token after each of them.

    A window starts anywhere in the phase's span of the sequence. Its start depends on (seed, name, phase, step, global
    row) only. The conf of a subclass has files, window and held_out.
    """

    reads_tokens: ClassVar[bool] = True
    unit: ClassVar[str]
    """What a token is in a file, in the plural."""

    @abstractmethod
    def tokens(self) -> tuple[TokenSequence, str]:
        """The tokens of all files, and a name of the files for errors. Raises DataError if one cannot be read."""

    def infer(self) -> tuple[Spec, ...]:
        data, _ = super().infer()
        return Spec(data.shape, INT), Spec(data.shape, INT)

    def sample(self) -> Shape:
        conf = self.block()
        if not conf.files:
            raise fault(self, f"the files of its {self.unit}", "none", 'write files: "..."', self.field, "files")
        if not 0 <= conf.held_out < 1:
            got = f"{conf.held_out:g}"
            hint = f"write the share of the {self.unit} that is not used for training"
            raise fault(self, "0 <= held_out < 1", got, hint, self.field, "held_out")
        return (at_least(self, 1, conf.window, self.field, "window"),)

    @abstractmethod
    def corpus(self) -> FileTokens:
        """The tokens of all files. Raises DataError if one cannot be read."""

    def data_files(self) -> Sequence[DataPath]:
        return list(dict.fromkeys(self.corpus().paths))

    def rows_per_pass(self, phase: int) -> int:
        """Windows with as many tokens as the phase has."""
        first, last = self._span(phase, len(self.corpus()))
        window: int = self.block().window
        return (last - first) // window

    def block(self) -> Any:
        """The conf of the type."""
        return getattr(self.conf, self.field)

    def cuts(self) -> tuple[int | str, ...]:
        return (0, 1)

    def outputs_of(self, region: Region) -> tuple[Region, ...]:
        return region, region

    def open(self, batch: int, seed: int, phase: int, dtype: DTypeLike = np.float32) -> RowSource:
        conf = self.block()
        key = philox.stream_key(seed, self.name, "window")
        tokens, who = self.tokens()
        span = self._span(phase, len(tokens))
        if span[1] - span[0] <= conf.window:
            expected = f"{conf.window + 1} {self.unit} or more for {PHASES[phase]}"
            hint = "write a smaller window, or another held_out"
            raise DataError(f"{who}: expected {expected}, got {span[1] - span[0]} of {len(tokens)}; {hint}")

        def draw(step: int, lo: int, hi: int, bound: int) -> list[int]:
            return philox.draw_integers(key, step, phase, (lo, hi), bound)

        return TokenWindows(tokens, span, conf.window, draw)

    def _span(self, phase: int, size: int) -> tuple[int, int]:
        """The first token of ``phase``, and the one after its last, of ``size`` tokens."""
        return dict(zip(PHASES, phase_spans(size, self.block().held_out), strict=True))[phase]
