"""Limits of the language: the ranges of numbers, in one table that docs/language.md shows.

They are far above the values of any sensible job. They exist so that a typing error gets an error message with its
position, instead of filling the memory.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

WORKERS = 4096
"""Members of a run: the workers of all groups, and servers."""
LEVELS = 16
"""Levels of hosts, racks and so on."""
MICRO_BATCHES = 1024
"""Micro-batches of a mini-batch. The length of every worker's schedule grows with them."""
ROWS = 1 << 24
"""Rows of a mini-batch."""
WINDOW = 1 << 20
"""Elements of a kernel, a pad, a stride or a dilation along one axis."""
EXTENT = (1 << 31) - 1
"""Elements of a tensor along one axis."""
ELEMENTS = 1 << 40
"""Elements of one tensor."""
AXES = 8
"""Axes of a tensor: the maximum that a message between processes can describe."""
BUCKET = 1 << 30
"""Bytes of the first all-reduce bucket."""
THREADS = 4096
"""Threads of one worker's kernels."""
SECONDS = 1e9
"""Seconds of any wait."""
CHARACTERS = 4096
"""Characters of a string: a name, or the path of a file."""
VALUES = 1 << 16
"""Values of a list."""
JOB = 16 << 20
"""Bytes of a job's file."""
BLOCK_DEPTH = 8
"""Instances of blocks within one another, and files that include one another."""
INCLUDED_FILES = 64
"""Files that a job includes, directly or not."""
EXPANDED_LAYERS = 100_000
"""Layers of a net whose blocks are written out."""
EXPANDED_BYTES = 64 << 20
"""Bytes of the message of such a net."""


class Range(NamedTuple):
    """The allowed values of a number: from ``low`` to ``high``, inclusive. Infinity and nan are never allowed."""

    low: float
    high: float

    def holds(self, value: float) -> bool:
        """True for a finite value within the range."""
        # Every comparison with nan is False, so nan is refused too.
        return self.low <= value <= self.high and abs(value) < inf

    def __str__(self) -> str:
        if self.high < inf:
            return f"from {self.low:g} to {self.high:.10g}"
        return "a finite number" if self.low == -inf else f"{self.low:g} or more"


ANY, NOT_NEGATIVE, COUNT, FROM_1 = Range(-inf, inf), Range(0, inf), Range(0, EXTENT), Range(1, EXTENT)
PLACE, PARTS = Range(0, WORKERS - 1), Range(1, WORKERS)

_WINDOWS = [f"{name}{axis}" for name in ("kernel", "pad", "pad_end", "stride") for axis in ("", "_x", "_y", "_z")]
_DILATIONS = [f"dilation{axis}" for axis in ("", "_x", "_y", "_z")]
_LENGTH = Range(0, WINDOW)

BATCHES = ("StoreProto", "TextProto", "NiftiProto", "DataProto", "ImageProto", "ArrayProto", "TokenProto")
"""Messages with the rows of a mini-batch."""

RANGES: dict[str, dict[str, Range]] = {
    "JobProto": {
        **dict.fromkeys(("train_steps", "step", "warmup_steps"), COUNT),
        **dict.fromkeys(("disp_freq", "test_freq", "validate_freq", "checkpoint_freq", "checkpoint_keep"), COUNT),
        **dict.fromkeys(("disp_after", "test_after", "validate_after", "checkpoint_after"), COUNT),
        **dict.fromkeys(("test_steps", "validate_steps"), COUNT),
        "num_openblas_threads": Range(0, THREADS),
        "deadline": Range(0, SECONDS),
        "bucket_bytes": Range(1, BUCKET),
    },
    "EarlyStopProto": {"patience": FROM_1, "least_change": NOT_NEGATIVE},
    "PlateauProto": {"patience": FROM_1, "least_change": NOT_NEGATIVE, "least_lr": NOT_NEGATIVE, "cooldown": COUNT},
    "NetProto": {"micro_batches": Range(1, MICRO_BATCHES), "replicas": PARTS, "stages": PARTS},
    "ClusterProto": {
        **dict.fromkeys(("nworker_groups", "nworkers_per_group", "nservers_per_group"), PARTS),
        "nserver_groups": Range(0, WORKERS),
        "sync_freq": FROM_1,
        "staleness": COUNT,
    },
    "LayerProto": {"location": PLACE, "unroll_len": FROM_1},
    "CutProto": {"parts": PARTS, "sizes": FROM_1, "location": PLACE},
    "ShardProto": {"worker": PLACE, "rows": Range(1, ROWS)},
    "ConvolutionProto": dict.fromkeys((*_WINDOWS, *_DILATIONS, "output_pad"), _LENGTH),
    "PoolingProto": dict.fromkeys(_WINDOWS, _LENGTH),
    "UpsamplingProto": {"factor": _LENGTH},
    **{block: {"batchsize": Range(1, ROWS)} for block in BATCHES},
    "DeviceProto": {"count": PARTS},
    "LinkProto": {"latency": NOT_NEGATIVE, "overhead": NOT_NEGATIVE},
    "HostProto": {
        "count": PARTS, "workers": PARTS, "level": Range(1, LEVELS), "latency": NOT_NEGATIVE, "overhead": NOT_NEGATIVE,
    },
}  # fmt: skip
"""Ranges by message and field. A field that is not here may have any finite number: layers and updaters check their own
fields, as their ranges depend on other fields."""
