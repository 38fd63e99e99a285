# mypy: ignore-errors
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ActivationProto(_message.Message):
    __slots__ = ("type", "alpha")
    class ActivationType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        RELU: _ClassVar[ActivationProto.ActivationType]
        SIGMOID: _ClassVar[ActivationProto.ActivationType]
        TANH: _ClassVar[ActivationProto.ActivationType]
        STANH: _ClassVar[ActivationProto.ActivationType]
        GELU: _ClassVar[ActivationProto.ActivationType]
        GELU_TANH: _ClassVar[ActivationProto.ActivationType]
        SILU: _ClassVar[ActivationProto.ActivationType]
        MISH: _ClassVar[ActivationProto.ActivationType]
        ELU: _ClassVar[ActivationProto.ActivationType]
        SOFTPLUS: _ClassVar[ActivationProto.ActivationType]
        RELU6: _ClassVar[ActivationProto.ActivationType]
    RELU: ActivationProto.ActivationType
    SIGMOID: ActivationProto.ActivationType
    TANH: ActivationProto.ActivationType
    STANH: ActivationProto.ActivationType
    GELU: ActivationProto.ActivationType
    GELU_TANH: ActivationProto.ActivationType
    SILU: ActivationProto.ActivationType
    MISH: ActivationProto.ActivationType
    ELU: ActivationProto.ActivationType
    SOFTPLUS: ActivationProto.ActivationType
    RELU6: ActivationProto.ActivationType
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ALPHA_FIELD_NUMBER: _ClassVar[int]
    type: ActivationProto.ActivationType
    alpha: float
    def __init__(self, type: _Optional[_Union[ActivationProto.ActivationType, str]] = ..., alpha: _Optional[float] = ...) -> None: ...

class ConvolutionProto(_message.Message):
    __slots__ = ("num_filters", "kernel", "pad", "stride", "kernel_x", "kernel_y", "pad_x", "pad_y", "stride_x", "stride_y", "workspace_byte_limit", "spatial_axes", "kernel_z", "pad_z", "stride_z", "dilation", "dilation_x", "dilation_y", "dilation_z", "groups", "output_pad", "pad_end_x", "pad_end_y", "pad_end_z", "pad_end")
    NUM_FILTERS_FIELD_NUMBER: _ClassVar[int]
    KERNEL_FIELD_NUMBER: _ClassVar[int]
    PAD_FIELD_NUMBER: _ClassVar[int]
    STRIDE_FIELD_NUMBER: _ClassVar[int]
    KERNEL_X_FIELD_NUMBER: _ClassVar[int]
    KERNEL_Y_FIELD_NUMBER: _ClassVar[int]
    PAD_X_FIELD_NUMBER: _ClassVar[int]
    PAD_Y_FIELD_NUMBER: _ClassVar[int]
    STRIDE_X_FIELD_NUMBER: _ClassVar[int]
    STRIDE_Y_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_BYTE_LIMIT_FIELD_NUMBER: _ClassVar[int]
    SPATIAL_AXES_FIELD_NUMBER: _ClassVar[int]
    KERNEL_Z_FIELD_NUMBER: _ClassVar[int]
    PAD_Z_FIELD_NUMBER: _ClassVar[int]
    STRIDE_Z_FIELD_NUMBER: _ClassVar[int]
    DILATION_FIELD_NUMBER: _ClassVar[int]
    DILATION_X_FIELD_NUMBER: _ClassVar[int]
    DILATION_Y_FIELD_NUMBER: _ClassVar[int]
    DILATION_Z_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_PAD_FIELD_NUMBER: _ClassVar[int]
    PAD_END_X_FIELD_NUMBER: _ClassVar[int]
    PAD_END_Y_FIELD_NUMBER: _ClassVar[int]
    PAD_END_Z_FIELD_NUMBER: _ClassVar[int]
    PAD_END_FIELD_NUMBER: _ClassVar[int]
    num_filters: int
    kernel: int
    pad: int
    stride: int
    kernel_x: int
    kernel_y: int
    pad_x: int
    pad_y: int
    stride_x: int
    stride_y: int
    workspace_byte_limit: int
    spatial_axes: int
    kernel_z: int
    pad_z: int
    stride_z: int
    dilation: int
    dilation_x: int
    dilation_y: int
    dilation_z: int
    groups: int
    output_pad: int
    pad_end_x: int
    pad_end_y: int
    pad_end_z: int
    pad_end: int
    def __init__(self, num_filters: _Optional[int] = ..., kernel: _Optional[int] = ..., pad: _Optional[int] = ..., stride: _Optional[int] = ..., kernel_x: _Optional[int] = ..., kernel_y: _Optional[int] = ..., pad_x: _Optional[int] = ..., pad_y: _Optional[int] = ..., stride_x: _Optional[int] = ..., stride_y: _Optional[int] = ..., workspace_byte_limit: _Optional[int] = ..., spatial_axes: _Optional[int] = ..., kernel_z: _Optional[int] = ..., pad_z: _Optional[int] = ..., stride_z: _Optional[int] = ..., dilation: _Optional[int] = ..., dilation_x: _Optional[int] = ..., dilation_y: _Optional[int] = ..., dilation_z: _Optional[int] = ..., groups: _Optional[int] = ..., output_pad: _Optional[int] = ..., pad_end_x: _Optional[int] = ..., pad_end_y: _Optional[int] = ..., pad_end_z: _Optional[int] = ..., pad_end: _Optional[int] = ...) -> None: ...

class PoolingProto(_message.Message):
    __slots__ = ("kernel", "pool", "pad", "stride", "kernel_x", "kernel_y", "pad_x", "pad_y", "stride_x", "stride_y", "spatial_axes", "kernel_z", "pad_z", "stride_z", "ceil_mode", "count_include_pad", "pad_end", "pad_end_x", "pad_end_y", "pad_end_z")
    class PoolMethod(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        MAX: _ClassVar[PoolingProto.PoolMethod]
        AVG: _ClassVar[PoolingProto.PoolMethod]
    MAX: PoolingProto.PoolMethod
    AVG: PoolingProto.PoolMethod
    KERNEL_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    PAD_FIELD_NUMBER: _ClassVar[int]
    STRIDE_FIELD_NUMBER: _ClassVar[int]
    KERNEL_X_FIELD_NUMBER: _ClassVar[int]
    KERNEL_Y_FIELD_NUMBER: _ClassVar[int]
    PAD_X_FIELD_NUMBER: _ClassVar[int]
    PAD_Y_FIELD_NUMBER: _ClassVar[int]
    STRIDE_X_FIELD_NUMBER: _ClassVar[int]
    STRIDE_Y_FIELD_NUMBER: _ClassVar[int]
    SPATIAL_AXES_FIELD_NUMBER: _ClassVar[int]
    KERNEL_Z_FIELD_NUMBER: _ClassVar[int]
    PAD_Z_FIELD_NUMBER: _ClassVar[int]
    STRIDE_Z_FIELD_NUMBER: _ClassVar[int]
    CEIL_MODE_FIELD_NUMBER: _ClassVar[int]
    COUNT_INCLUDE_PAD_FIELD_NUMBER: _ClassVar[int]
    PAD_END_FIELD_NUMBER: _ClassVar[int]
    PAD_END_X_FIELD_NUMBER: _ClassVar[int]
    PAD_END_Y_FIELD_NUMBER: _ClassVar[int]
    PAD_END_Z_FIELD_NUMBER: _ClassVar[int]
    kernel: int
    pool: PoolingProto.PoolMethod
    pad: int
    stride: int
    kernel_x: int
    kernel_y: int
    pad_x: int
    pad_y: int
    stride_x: int
    stride_y: int
    spatial_axes: int
    kernel_z: int
    pad_z: int
    stride_z: int
    ceil_mode: bool
    count_include_pad: bool
    pad_end: int
    pad_end_x: int
    pad_end_y: int
    pad_end_z: int
    def __init__(self, kernel: _Optional[int] = ..., pool: _Optional[_Union[PoolingProto.PoolMethod, str]] = ..., pad: _Optional[int] = ..., stride: _Optional[int] = ..., kernel_x: _Optional[int] = ..., kernel_y: _Optional[int] = ..., pad_x: _Optional[int] = ..., pad_y: _Optional[int] = ..., stride_x: _Optional[int] = ..., stride_y: _Optional[int] = ..., spatial_axes: _Optional[int] = ..., kernel_z: _Optional[int] = ..., pad_z: _Optional[int] = ..., stride_z: _Optional[int] = ..., ceil_mode: bool = ..., count_include_pad: bool = ..., pad_end: _Optional[int] = ..., pad_end_x: _Optional[int] = ..., pad_end_y: _Optional[int] = ..., pad_end_z: _Optional[int] = ...) -> None: ...

class GlobalPoolingProto(_message.Message):
    __slots__ = ("pool",)
    POOL_FIELD_NUMBER: _ClassVar[int]
    pool: PoolingProto.PoolMethod
    def __init__(self, pool: _Optional[_Union[PoolingProto.PoolMethod, str]] = ...) -> None: ...

class UpsamplingProto(_message.Message):
    __slots__ = ("factor", "method")
    class Method(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        NEAREST: _ClassVar[UpsamplingProto.Method]
        LINEAR: _ClassVar[UpsamplingProto.Method]
    NEAREST: UpsamplingProto.Method
    LINEAR: UpsamplingProto.Method
    FACTOR_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    factor: int
    method: UpsamplingProto.Method
    def __init__(self, factor: _Optional[int] = ..., method: _Optional[_Union[UpsamplingProto.Method, str]] = ...) -> None: ...

class NormProto(_message.Message):
    __slots__ = ("axis", "groups", "epsilon")
    AXIS_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    axis: int
    groups: int
    epsilon: float
    def __init__(self, axis: _Optional[int] = ..., groups: _Optional[int] = ..., epsilon: _Optional[float] = ...) -> None: ...

class MatmulProto(_message.Message):
    __slots__ = ("transpose_a", "transpose_b")
    TRANSPOSE_A_FIELD_NUMBER: _ClassVar[int]
    TRANSPOSE_B_FIELD_NUMBER: _ClassVar[int]
    transpose_a: bool
    transpose_b: bool
    def __init__(self, transpose_a: bool = ..., transpose_b: bool = ...) -> None: ...

class AttentionProto(_message.Message):
    __slots__ = ("causal", "scale", "dropout_ratio", "pad_value")
    CAUSAL_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    DROPOUT_RATIO_FIELD_NUMBER: _ClassVar[int]
    PAD_VALUE_FIELD_NUMBER: _ClassVar[int]
    causal: bool
    scale: float
    dropout_ratio: float
    pad_value: int
    def __init__(self, causal: bool = ..., scale: _Optional[float] = ..., dropout_ratio: _Optional[float] = ..., pad_value: _Optional[int] = ...) -> None: ...

class RotaryProto(_message.Message):
    __slots__ = ("base",)
    BASE_FIELD_NUMBER: _ClassVar[int]
    base: float
    def __init__(self, base: _Optional[float] = ...) -> None: ...

class ReshapeProto(_message.Message):
    __slots__ = ("shape",)
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    shape: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, shape: _Optional[_Iterable[int]] = ...) -> None: ...

class TransposeProto(_message.Message):
    __slots__ = ("axis",)
    AXIS_FIELD_NUMBER: _ClassVar[int]
    axis: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, axis: _Optional[_Iterable[int]] = ...) -> None: ...

class CropProto(_message.Message):
    __slots__ = ("shape", "start")
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    shape: _containers.RepeatedScalarFieldContainer[int]
    start: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, shape: _Optional[_Iterable[int]] = ..., start: _Optional[_Iterable[int]] = ...) -> None: ...

class InnerProductProto(_message.Message):
    __slots__ = ("num_output", "bias_term", "transpose", "axis")
    NUM_OUTPUT_FIELD_NUMBER: _ClassVar[int]
    BIAS_TERM_FIELD_NUMBER: _ClassVar[int]
    TRANSPOSE_FIELD_NUMBER: _ClassVar[int]
    AXIS_FIELD_NUMBER: _ClassVar[int]
    num_output: int
    bias_term: bool
    transpose: bool
    axis: int
    def __init__(self, num_output: _Optional[int] = ..., bias_term: bool = ..., transpose: bool = ..., axis: _Optional[int] = ...) -> None: ...

class LRNProto(_message.Message):
    __slots__ = ("local_size", "alpha", "beta", "knorm")
    LOCAL_SIZE_FIELD_NUMBER: _ClassVar[int]
    ALPHA_FIELD_NUMBER: _ClassVar[int]
    BETA_FIELD_NUMBER: _ClassVar[int]
    KNORM_FIELD_NUMBER: _ClassVar[int]
    local_size: int
    alpha: float
    beta: float
    knorm: float
    def __init__(self, local_size: _Optional[int] = ..., alpha: _Optional[float] = ..., beta: _Optional[float] = ..., knorm: _Optional[float] = ...) -> None: ...

class ReLUProto(_message.Message):
    __slots__ = ("negative_slope",)
    NEGATIVE_SLOPE_FIELD_NUMBER: _ClassVar[int]
    negative_slope: float
    def __init__(self, negative_slope: _Optional[float] = ...) -> None: ...

class DropoutProto(_message.Message):
    __slots__ = ("dropout_ratio",)
    DROPOUT_RATIO_FIELD_NUMBER: _ClassVar[int]
    dropout_ratio: float
    def __init__(self, dropout_ratio: _Optional[float] = ...) -> None: ...

class BMProto(_message.Message):
    __slots__ = ("bn_mode", "epsilon", "momentum", "frozen")
    class Mode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        SYNC: _ClassVar[BMProto.Mode]
        LOCAL: _ClassVar[BMProto.Mode]
    SYNC: BMProto.Mode
    LOCAL: BMProto.Mode
    BN_MODE_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    MOMENTUM_FIELD_NUMBER: _ClassVar[int]
    FROZEN_FIELD_NUMBER: _ClassVar[int]
    bn_mode: BMProto.Mode
    epsilon: float
    momentum: float
    frozen: bool
    def __init__(self, bn_mode: _Optional[_Union[BMProto.Mode, str]] = ..., epsilon: _Optional[float] = ..., momentum: _Optional[float] = ..., frozen: bool = ...) -> None: ...

class SoftmaxProto(_message.Message):
    __slots__ = ("num_softmax_per_instance", "axis")
    NUM_SOFTMAX_PER_INSTANCE_FIELD_NUMBER: _ClassVar[int]
    AXIS_FIELD_NUMBER: _ClassVar[int]
    num_softmax_per_instance: int
    axis: int
    def __init__(self, num_softmax_per_instance: _Optional[int] = ..., axis: _Optional[int] = ...) -> None: ...

class EmbeddingProto(_message.Message):
    __slots__ = ("vocab_size", "feature_dim")
    VOCAB_SIZE_FIELD_NUMBER: _ClassVar[int]
    FEATURE_DIM_FIELD_NUMBER: _ClassVar[int]
    vocab_size: int
    feature_dim: int
    def __init__(self, vocab_size: _Optional[int] = ..., feature_dim: _Optional[int] = ...) -> None: ...

class GRUProto(_message.Message):
    __slots__ = ("dim_hidden", "bias_term")
    DIM_HIDDEN_FIELD_NUMBER: _ClassVar[int]
    BIAS_TERM_FIELD_NUMBER: _ClassVar[int]
    dim_hidden: int
    bias_term: bool
    def __init__(self, dim_hidden: _Optional[int] = ..., bias_term: bool = ...) -> None: ...

class RBMProto(_message.Message):
    __slots__ = ("hdim", "bias_term", "gaussian")
    HDIM_FIELD_NUMBER: _ClassVar[int]
    BIAS_TERM_FIELD_NUMBER: _ClassVar[int]
    GAUSSIAN_FIELD_NUMBER: _ClassVar[int]
    hdim: int
    bias_term: bool
    gaussian: bool
    def __init__(self, hdim: _Optional[int] = ..., bias_term: bool = ..., gaussian: bool = ...) -> None: ...

class DummyProto(_message.Message):
    __slots__ = ("input", "output", "shape")
    INPUT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    input: bool
    output: bool
    shape: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, input: bool = ..., output: bool = ..., shape: _Optional[_Iterable[int]] = ...) -> None: ...

class SoftmaxLossProto(_message.Message):
    __slots__ = ("topk", "scale", "label_smoothing", "bits", "class_weight", "ignore_index", "normalisation")
    class Normalisation(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        ROWS: _ClassVar[SoftmaxLossProto.Normalisation]
        WEIGHTS: _ClassVar[SoftmaxLossProto.Normalisation]
    ROWS: SoftmaxLossProto.Normalisation
    WEIGHTS: SoftmaxLossProto.Normalisation
    TOPK_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    LABEL_SMOOTHING_FIELD_NUMBER: _ClassVar[int]
    BITS_FIELD_NUMBER: _ClassVar[int]
    CLASS_WEIGHT_FIELD_NUMBER: _ClassVar[int]
    IGNORE_INDEX_FIELD_NUMBER: _ClassVar[int]
    NORMALISATION_FIELD_NUMBER: _ClassVar[int]
    topk: int
    scale: float
    label_smoothing: float
    bits: bool
    class_weight: _containers.RepeatedScalarFieldContainer[float]
    ignore_index: int
    normalisation: SoftmaxLossProto.Normalisation
    def __init__(self, topk: _Optional[int] = ..., scale: _Optional[float] = ..., label_smoothing: _Optional[float] = ..., bits: bool = ..., class_weight: _Optional[_Iterable[float]] = ..., ignore_index: _Optional[int] = ..., normalisation: _Optional[_Union[SoftmaxLossProto.Normalisation, str]] = ...) -> None: ...

class LossProto(_message.Message):
    __slots__ = ("scale", "positive_weight", "delta")
    SCALE_FIELD_NUMBER: _ClassVar[int]
    POSITIVE_WEIGHT_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    scale: float
    positive_weight: _containers.RepeatedScalarFieldContainer[float]
    delta: float
    def __init__(self, scale: _Optional[float] = ..., positive_weight: _Optional[_Iterable[float]] = ..., delta: _Optional[float] = ...) -> None: ...

class ArgSortProto(_message.Message):
    __slots__ = ("topk", "ignore_index")
    TOPK_FIELD_NUMBER: _ClassVar[int]
    IGNORE_INDEX_FIELD_NUMBER: _ClassVar[int]
    topk: int
    ignore_index: int
    def __init__(self, topk: _Optional[int] = ..., ignore_index: _Optional[int] = ...) -> None: ...
