"""The constants of oneDNN's C API v3 that netpart uses, as defined in dnnl_types.h."""

from __future__ import annotations

from enum import IntEnum


class DnnlStatus(IntEnum):
    """The status that a call returns."""

    SUCCESS = 0
    OUT_OF_MEMORY = 1
    INVALID_ARGUMENTS = 2
    UNIMPLEMENTED = 3
    LAST_IMPLEMENTATION = 4
    RUNTIME_ERROR = 5
    NOT_REQUIRED = 6


class ElementType(IntEnum):
    """Element types."""

    BF16 = 2
    F32 = 3
    S32 = 4
    U8 = 6


class PropKind(IntEnum):
    """Directions of propagation."""

    FORWARD_TRAINING = 64
    FORWARD_INFERENCE = 96
    BACKWARD = 128
    BACKWARD_DATA = 160


class Algorithm(IntEnum):
    """Variants of a primitive; the gradient of ``*_DST`` reads the output instead of the input."""

    CONVOLUTION_DIRECT = 0x1
    RELU = 0x20
    TANH = 0x21
    ELU = 0x22
    SQUARE = 0x23
    ABS = 0x24
    SQRT = 0x25
    LINEAR = 0x26
    SOFT_RELU = 0x27
    HARDSIGMOID = 0x28
    LOGISTIC = 0x29
    EXP = 0x2A
    GELU_TANH = 0x2B
    SWISH = 0x2C
    LOG = 0x2D
    CLIP = 0x2E
    CLIP_V2 = 0x2F
    POW = 0x30
    GELU_ERF = 0x31
    ROUND = 0x32
    MISH = 0x33
    HARDSWISH = 0x34
    RELU_DST = 0x100
    TANH_DST = 0x101
    ELU_DST = 0x102
    SQRT_DST = 0x103
    LOGISTIC_DST = 0x104
    EXP_DST = 0x105
    CLIP_V2_DST = 0x106
    POOLING_MAX = 0x1FF
    POOLING_AVG_INCLUDE_PADDING = 0x2FF
    POOLING_AVG_EXCLUDE_PADDING = 0x3FF
    LRN_ACROSS_CHANNELS = 0xAFF
    BINARY_ADD = 0x1FFF0
    BINARY_MUL = 0x1FFF1
    BINARY_MAX = 0x1FFF2
    BINARY_MIN = 0x1FFF3
    BINARY_DIV = 0x1FFF4
    BINARY_SUB = 0x1FFF5
    BINARY_GE = 0x1FFF6
    BINARY_GT = 0x1FFF7
    REDUCTION_MAX = 0x20000
    REDUCTION_MIN = 0x20001
    REDUCTION_SUM = 0x20002
    REDUCTION_MUL = 0x20003
    REDUCTION_MEAN = 0x20004
    SOFTMAX_ACCURATE = 0x30000


class NormFlag(IntEnum):
    """Flags of the normalisations."""

    GLOBAL_STATS = 1
    SCALE = 2
    SHIFT = 4
    FUSE_RELU = 8


class Arg(IntEnum):
    """Numbers of the arguments of an execution."""

    SRC = 1
    SRC_1 = 2
    DST = 17
    WEIGHTS = 33
    BIAS = 41
    MEAN = 49
    VARIANCE = 50
    SCALE = 51
    SHIFT = 52
    WORKSPACE = 64
    SCRATCHPAD = 80
    DIFF_SRC = 129
    DIFF_DST = 145
    DIFF_WEIGHTS = 161
    DIFF_BIAS = 169
    DIFF_SCALE = 255
    DIFF_SHIFT = 256
    MULTIPLE_SRC = 1024
    SCALES = 4096
    """Added to the number of an argument, this is the number of its scale."""
    POST_OP = 32768
    """Post-operation i, counted from 0, has (1 + i) times this number; its other operand has SRC_1 added."""


class Query(IntEnum):
    """Properties that a primitive descriptor can be queried for."""

    IMPLEMENTATION = 8
    ARGUMENT = 255
