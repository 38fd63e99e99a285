"""Fixed choices: the words that options and jobs choose from, where netpart alone defines the set.

Sets that other packages may extend are in ``netpart.families``. This module imports nothing, because every command
line imports it at start.
"""

from __future__ import annotations

AUTO = "auto"
TRAIN, VALIDATION, TEST = PHASES = "train", "val", "test"
"""Phases of a job, by the names used on the command line."""
PROFIT, MAKESPAN = OBJECTIVES = "profit", "makespan"
"""Objectives of an allocation to devices. ``profit``: equation 5 of Akintoye et al., 2022, to be maximised.
``makespan``: the time until the last device has finished, to be minimised."""
SECONDS = "seconds"
"""The objective of a whole plan, as opposed to an allocation: the predicted time of a step."""
ENV_LAUNCHER = "env"
"""The launcher value for processes that another program (mpirun, srun) has started: netpart starts none."""
REFERENCE, ONEDNN, CUDA = "reference", "onednn", "cuda"
KERNELS = AUTO, REFERENCE, ONEDNN, CUDA
"""Sets of kernels. Options write them in small letters, jobs in capitals."""
BFLOAT16 = "bfloat16"
PRECISIONS = "float32", "tf32", BFLOAT16
"""Formats to which the factors of float32 products are rounded; on CPUs, the activations that are stored, too."""
DTYPES = "float32", "float64"
ONE_F_ONE_B, GPIPE, DELAYED = "ONE_F_ONE_B", "GPIPE", "DELAYED"
SCHEDULES = {"1f1b": ONE_F_ONE_B, "gpipe": GPIPE, "delayed": DELAYED}
"""Orders of forward and backward passes: the option -> its name in the language. Backward first, with as many
micro-batches in flight as keep a team busy; all forward passes first; forward of a mini-batch together with backward of
an earlier one."""
YES, NO = "yes", "no"
SHARDING = AUTO, YES, NO
DIRECT, DOUBLING, RING, TREE, HIERARCHICAL = ALGORITHMS = "direct", "doubling", "ring", "tree", "hierarchical"
"""Algorithms of collectives, in order of preference: of two with the same predicted cost the earlier one is used."""
NCCL = "nccl"
"""One NCCL call, between workers on GPUs. Its bytes are counted as those of ``direct``, which replaces it elsewhere."""
COLLECTIVES = AUTO, RING, DOUBLING, TREE, DIRECT, HIERARCHICAL, NCCL
RESULT = "result of netpart predict"
"""The layer that `netpart predict` appends to a net. Its values leave the workers, one mini-batch after another."""
DRAWING_FORMATS = "dot", "json", "svg", "txt"
PAGE = "html"
JOB_FORMATS = *DRAWING_FORMATS, PAGE
"""Formats of the drawing of a job: that of any net, or a page, which also explains and prices the training net."""
NONE, BLOCKS = "none", "blocks"
FOLDS = AUTO, NONE, BLOCKS
"""What a drawing folds: the blocks of a net with many parts, nothing, or the blocks of any net."""
DOWN, RIGHT = DIRECTIONS = "TB", "LR"
"""Directions of a drawing's arrows, by Graphviz's names: top to bottom, left to right."""
LOOK_FORMATS = {
    "fold": ("dot", "svg", "txt"), "helpers": ("dot", "svg", "txt"), "direction": ("dot", "svg"),
    "phase": DRAWING_FORMATS,
}  # fmt: skip
"""What may be chosen about the drawing of a net, and the formats that have it."""
CAM_METHODS = "gradcam", "hirescam"
"""Methods that compute class activation maps."""
CPU = "cpu"
DEVICES = AUTO, CPU, CUDA
"""Kinds of devices; a GPU is also chosen by its number, cuda:N."""
LOCAL, THREADS, MPI, JOIN, RAY = "local", "threads", "mpi", "join", "ray"
"""The launchers of netpart; netpart.families has where they live."""
PACK, SPREAD, STRICT_SPREAD = PLACES = "pack", "spread", "strict-spread"
"""How Ray places workers: on few nodes; on many nodes; each on a node of its own."""
MEMORY, ZEROMQ, SHM, CUDA_IPC = "memory", "zeromq", "shm", "cuda-ipc"
"""The transports of netpart, with "mpi". The launchers threads and mpi have one each, which no option chooses."""
AES_GCM, CURVE = CIPHERS = "aes-256-gcm", "curve"
"""How tensors are sealed: each frame by netpart, or connections by ZeroMQ, which is slow and needs no package."""
PLAIN = "plain"
"""What a run reports if tensors leave this host and are not sealed."""
SEALS = AUTO, YES, NO
"""Which links are sealed: those that leave loopback; all that go through a socket; none."""
LOCAL_LAUNCHERS = LOCAL, THREADS
"""Launchers whose workers are all on this host, and that need no other program."""
