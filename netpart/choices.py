"""Choices: the words that options and jobs choose from, where netpart alone says which there are.

What packages may add to is in ``netpart.families``. Nothing is imported here: the command line reads it at once.
"""

from __future__ import annotations

AUTO = "auto"
TRAIN, VALIDATION, TEST = PHASES = "train", "val", "test"
"""Phases of a job, by the names of the nets that they compute."""
PROFIT, MAKESPAN = OBJECTIVES = "profit", "makespan"
"""Of an allocation to devices: equation 5 of Akintoye et al., 2022, to be large; or the time until the last device is
done, to be small."""
SECONDS = "seconds"
"""The objective of a plan that is none of an allocation: the predicted time of a step."""
LOCAL_LAUNCHERS = "local", "threads"
"""Launchers whose workers are all on this host, and need nothing but netpart."""
ENV_LAUNCHER = "env"
"""This process is one of many that another program has started: no team of netpart's."""
REFERENCE, ONEDNN, CUDA = "reference", "onednn", "cuda"
KERNELS = AUTO, REFERENCE, ONEDNN, CUDA
"""Sets of kernels, as options and, in capitals, jobs name them."""
PRECISIONS = "float32", "tf32", "bfloat16"
"""What products of float32 numbers compute with."""
DTYPES = "float32", "float64"
SCHEDULES = "1f1b", "gpipe", "delayed"
"""Orders of forward and backward passes, in the order of the language's values."""
SHARDING = AUTO, "yes", "no"
DIRECT, DOUBLING, RING, TREE = ALGORITHMS = "direct", "doubling", "ring", "tree"
"""How workers carry out a collective among themselves, in the order of preference where they cost the same."""
NCCL = "nccl"
"""One call of NCCL, where a GPU makes it. What it moves is counted as if it went directly, and does so elsewhere."""
COLLECTIVES = AUTO, RING, DOUBLING, TREE, DIRECT, NCCL
DRAWING_FORMATS = "dot", "json", "svg", "txt"
CAM_METHODS = "gradcam", "hirescam"
"""Class activation maps."""
