"""netpart.sample: text that a trained net generates."""

from __future__ import annotations

from math import isfinite
from os import PathLike

from netpart.api.job_argument import JobOrPath, explained_job, read_job_argument, step_number
from netpart.api.trained_job import find_trained_job
from netpart.errors import ConfigError
from netpart.trained.sampling import SamplingStyle, TextWriter, find_predictor


def sample(
    job: JobOrPath, checkpoint: str | PathLike[str] | None = None, prompt: bytes = b"\n", *, size: int = 500,
    temperature: float = 0.8, top_k: int = 0,
) -> bytes:  # fmt: skip
    """The ``size`` bytes with which the net of ``checkpoint`` (default: the newest of the workspace) goes on.

    ``prompt`` is its beginning, of one byte or more. Logits are divided by ``temperature``; 0 takes the likeliest byte.
    ``top_k`` chooses among so many (0: all). The random numbers are those of the job's seed. Raises ConfigError for an
    argument, and for a net that does not predict bytes; DataError for a checkpoint that does not fit.
    """
    if not prompt:
        raise ConfigError("prompt", "one byte or more", "none", "begin with a new line")
    if not (isfinite(temperature) and temperature >= 0):
        raise ConfigError("temperature", "a number of 0 or more", str(temperature), "pass another number")
    read = read_job_argument(job)
    with explained_job(read):
        find_predictor(read.proto)  # a job that cannot generate text is an error before a missing checkpoint is one
        writer = TextWriter(read, find_trained_job(read, checkpoint, "threads", None).checkpoint)
        style = SamplingStyle(temperature, step_number(top_k))
        return bytes(writer.write(prompt, step_number(size), style, read.proto.seed))
