"""Sampling: a net that predicts the next byte writes a text, byte by byte."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from netpart.errors import ConfigError
from netpart.kernels import philox
from netpart.proto.layer_pb2 import LayerType
from netpart.proto.phase import in_phase
from netpart.trained.session import PHASE, Session, Values

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import JobProto, LayerProto
    from netpart.proto.reader import Job

BYTES = 256
UNIFORM_BITS = 53


@dataclass(frozen=True)
class SamplingStyle:
    """How the next byte is chosen: among the ``top_k`` most probable (0: all), with probabilities p^(1/temperature)."""

    temperature: float = 1.0
    top_k: int = 0


class PredictorLayers(NamedTuple):
    """The two ends of a predictor: the layer of its text and the layer of the next byte's logits."""

    text: str
    logits: str


class TextWriter:
    """Predictor with the job's test net on batches of one row. ``window`` is the number of bytes that the net sees."""

    def __init__(self, job: Job, checkpoint: Path | None = None, device: str = "cpu") -> None:
        self.ends = find_predictor(job.proto)
        self.session = Session(job, [self.ends.logits], checkpoint, device=device)
        self.window = self.session.nodes[self.ends.text].layer.output.shape[1]

    def logits(self, text: bytes) -> Values:
        """Scores (up to 256,) of the byte after ``text``, of which only the last ``window`` bytes count.

        A shorter text is padded at its end. The padding has no effect, as the net only looks back.
        """
        seen = np.frombuffer(text[-self.window :], np.uint8)
        self.session.run({self.ends.text: np.pad(seen, (0, self.window - len(seen)))[None]})
        return self.session.value(self.ends.logits)[0, len(seen) - 1, :BYTES]

    def write(self, prompt: bytes, count: int, style: SamplingStyle, seed: int) -> Iterator[int]:
        """``count`` bytes that continue ``prompt`` (at least one byte). They depend on ``seed`` alone."""
        key = philox.stream_key(seed, self.ends.logits, "sample")
        text = bytearray(prompt)
        for step in range(count):
            (draw,) = philox.draw_integers(key, step, 0, (0, 1), 1 << UNIFORM_BITS)
            text.append(sample_byte(self.logits(bytes(text[-self.window :])), style, draw / (1 << UNIFORM_BITS)))
            yield text[-1]


def sample_byte(logits: Values, style: SamplingStyle, uniform: float) -> int:
    """The class on which ``uniform``, in [0, 1), falls; the most probable one at temperature 0."""
    scores = logits.astype(np.float64)
    if style.temperature == 0:
        return int(scores.argmax())
    if 0 < style.top_k < len(scores):
        scores[scores < np.partition(scores, -style.top_k)[-style.top_k]] = -np.inf
    # Unnormalised cumulative sums: ``uniform`` is scaled by the total instead, which saves a division and a rounding.
    sums = np.exp((scores - scores.max()) / style.temperature).cumsum()
    return int(np.searchsorted(sums, uniform * sums[-1], side="right"))


def find_predictor(job: JobProto) -> PredictorLayers:
    """Find the one kSoftmaxLoss of the test net whose labels are those of a kTextInput. Raises ConfigError."""
    confs = {conf.name: conf for conf in job.neuralnet.layer if in_phase(conf, PHASE)}
    found = [
        PredictorLayers(conf.srclayers[1], conf.srclayers[0]) for conf in confs.values() if _is_text_loss(conf, confs)
    ]
    if len(found) != 1:
        got = f"{len(found)} of them"
        hint = "only a net that predicts text can write some"
        raise ConfigError("sample", "a job with one kSoftmaxLoss whose labels are those of a kTextInput", got, hint)
    return found[0]


def _is_text_loss(conf: LayerProto, confs: dict[str, LayerProto]) -> bool:
    """True if ``conf`` is a softmax loss over the labels of a text input."""
    losses = LayerType.kSoftmaxLoss, LayerType.kCudnnSoftmaxLoss
    if conf.type not in losses or len(conf.srclayers) != 2:
        return False
    labels = confs.get(conf.srclayers[1])
    return labels is not None and labels.type == LayerType.kTextInput
