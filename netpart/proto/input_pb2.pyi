# mypy: ignore-errors
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StoreProto(_message.Message):
    __slots__ = ("backend", "path", "separator", "mean_file", "std_file", "mean_value", "std_value", "batchsize", "shape", "encoded", "random_skip", "has_label", "prefetching", "shuffle", "header", "label_column", "skip_column", "classes_file", "target")
    BACKEND_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    SEPARATOR_FIELD_NUMBER: _ClassVar[int]
    MEAN_FILE_FIELD_NUMBER: _ClassVar[int]
    STD_FILE_FIELD_NUMBER: _ClassVar[int]
    MEAN_VALUE_FIELD_NUMBER: _ClassVar[int]
    STD_VALUE_FIELD_NUMBER: _ClassVar[int]
    BATCHSIZE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    ENCODED_FIELD_NUMBER: _ClassVar[int]
    RANDOM_SKIP_FIELD_NUMBER: _ClassVar[int]
    HAS_LABEL_FIELD_NUMBER: _ClassVar[int]
    PREFETCHING_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    HEADER_FIELD_NUMBER: _ClassVar[int]
    LABEL_COLUMN_FIELD_NUMBER: _ClassVar[int]
    SKIP_COLUMN_FIELD_NUMBER: _ClassVar[int]
    CLASSES_FILE_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    backend: str
    path: str
    separator: str
    mean_file: str
    std_file: str
    mean_value: float
    std_value: float
    batchsize: _containers.RepeatedScalarFieldContainer[int]
    shape: _containers.RepeatedScalarFieldContainer[int]
    encoded: bool
    random_skip: int
    has_label: bool
    prefetching: bool
    shuffle: bool
    header: bool
    label_column: _containers.RepeatedScalarFieldContainer[str]
    skip_column: _containers.RepeatedScalarFieldContainer[str]
    classes_file: str
    target: bool
    def __init__(self, backend: _Optional[str] = ..., path: _Optional[str] = ..., separator: _Optional[str] = ..., mean_file: _Optional[str] = ..., std_file: _Optional[str] = ..., mean_value: _Optional[float] = ..., std_value: _Optional[float] = ..., batchsize: _Optional[_Iterable[int]] = ..., shape: _Optional[_Iterable[int]] = ..., encoded: bool = ..., random_skip: _Optional[int] = ..., has_label: bool = ..., prefetching: bool = ..., shuffle: bool = ..., header: bool = ..., label_column: _Optional[_Iterable[str]] = ..., skip_column: _Optional[_Iterable[str]] = ..., classes_file: _Optional[str] = ..., target: bool = ...) -> None: ...

class SyntheticProto(_message.Message):
    __slots__ = ("classes", "noise", "batches")
    CLASSES_FIELD_NUMBER: _ClassVar[int]
    NOISE_FIELD_NUMBER: _ClassVar[int]
    BATCHES_FIELD_NUMBER: _ClassVar[int]
    classes: int
    noise: float
    batches: int
    def __init__(self, classes: _Optional[int] = ..., noise: _Optional[float] = ..., batches: _Optional[int] = ...) -> None: ...

class TextProto(_message.Message):
    __slots__ = ("files", "suffix", "window", "batchsize", "held_out")
    FILES_FIELD_NUMBER: _ClassVar[int]
    SUFFIX_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    BATCHSIZE_FIELD_NUMBER: _ClassVar[int]
    HELD_OUT_FIELD_NUMBER: _ClassVar[int]
    files: _containers.RepeatedScalarFieldContainer[str]
    suffix: str
    window: int
    batchsize: _containers.RepeatedScalarFieldContainer[int]
    held_out: float
    def __init__(self, files: _Optional[_Iterable[str]] = ..., suffix: _Optional[str] = ..., window: _Optional[int] = ..., batchsize: _Optional[_Iterable[int]] = ..., held_out: _Optional[float] = ...) -> None: ...

class NiftiProto(_message.Message):
    __slots__ = ("path", "batchsize", "shape", "normalise", "flip", "shuffle", "prefetching", "drift", "cache_mib")
    PATH_FIELD_NUMBER: _ClassVar[int]
    BATCHSIZE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    NORMALISE_FIELD_NUMBER: _ClassVar[int]
    FLIP_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    PREFETCHING_FIELD_NUMBER: _ClassVar[int]
    DRIFT_FIELD_NUMBER: _ClassVar[int]
    CACHE_MIB_FIELD_NUMBER: _ClassVar[int]
    path: str
    batchsize: _containers.RepeatedScalarFieldContainer[int]
    shape: _containers.RepeatedScalarFieldContainer[int]
    normalise: bool
    flip: bool
    shuffle: bool
    prefetching: bool
    drift: float
    cache_mib: int
    def __init__(self, path: _Optional[str] = ..., batchsize: _Optional[_Iterable[int]] = ..., shape: _Optional[_Iterable[int]] = ..., normalise: bool = ..., flip: bool = ..., shuffle: bool = ..., prefetching: bool = ..., drift: _Optional[float] = ..., cache_mib: _Optional[int] = ...) -> None: ...

class ImageProto(_message.Message):
    __slots__ = ("path", "batchsize", "shape", "masks", "classes", "resize", "least_area", "mirror", "brightness", "contrast", "saturation", "mean", "std", "shuffle", "prefetching")
    PATH_FIELD_NUMBER: _ClassVar[int]
    BATCHSIZE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    MASKS_FIELD_NUMBER: _ClassVar[int]
    CLASSES_FIELD_NUMBER: _ClassVar[int]
    RESIZE_FIELD_NUMBER: _ClassVar[int]
    LEAST_AREA_FIELD_NUMBER: _ClassVar[int]
    MIRROR_FIELD_NUMBER: _ClassVar[int]
    BRIGHTNESS_FIELD_NUMBER: _ClassVar[int]
    CONTRAST_FIELD_NUMBER: _ClassVar[int]
    SATURATION_FIELD_NUMBER: _ClassVar[int]
    MEAN_FIELD_NUMBER: _ClassVar[int]
    STD_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    PREFETCHING_FIELD_NUMBER: _ClassVar[int]
    path: str
    batchsize: _containers.RepeatedScalarFieldContainer[int]
    shape: _containers.RepeatedScalarFieldContainer[int]
    masks: str
    classes: _containers.RepeatedScalarFieldContainer[str]
    resize: int
    least_area: float
    mirror: bool
    brightness: float
    contrast: float
    saturation: float
    mean: _containers.RepeatedScalarFieldContainer[float]
    std: _containers.RepeatedScalarFieldContainer[float]
    shuffle: bool
    prefetching: bool
    def __init__(self, path: _Optional[str] = ..., batchsize: _Optional[_Iterable[int]] = ..., shape: _Optional[_Iterable[int]] = ..., masks: _Optional[str] = ..., classes: _Optional[_Iterable[str]] = ..., resize: _Optional[int] = ..., least_area: _Optional[float] = ..., mirror: bool = ..., brightness: _Optional[float] = ..., contrast: _Optional[float] = ..., saturation: _Optional[float] = ..., mean: _Optional[_Iterable[float]] = ..., std: _Optional[_Iterable[float]] = ..., shuffle: bool = ..., prefetching: bool = ...) -> None: ...

class TarProto(_message.Message):
    __slots__ = ("path", "label", "json_field", "mask")
    PATH_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_FIELD_NUMBER: _ClassVar[int]
    MASK_FIELD_NUMBER: _ClassVar[int]
    path: _containers.RepeatedScalarFieldContainer[str]
    label: str
    json_field: str
    mask: str
    def __init__(self, path: _Optional[_Iterable[str]] = ..., label: _Optional[str] = ..., json_field: _Optional[str] = ..., mask: _Optional[str] = ...) -> None: ...

class ArrayProto(_message.Message):
    __slots__ = ("path", "data", "label_path", "label", "batchsize", "shuffle", "prefetching", "random_skip", "mean_value", "std_value", "mean_file", "std_file", "shape", "labels", "target", "tokens")
    PATH_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    LABEL_PATH_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    BATCHSIZE_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    PREFETCHING_FIELD_NUMBER: _ClassVar[int]
    RANDOM_SKIP_FIELD_NUMBER: _ClassVar[int]
    MEAN_VALUE_FIELD_NUMBER: _ClassVar[int]
    STD_VALUE_FIELD_NUMBER: _ClassVar[int]
    MEAN_FILE_FIELD_NUMBER: _ClassVar[int]
    STD_FILE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    path: str
    data: str
    label_path: str
    label: str
    batchsize: _containers.RepeatedScalarFieldContainer[int]
    shuffle: bool
    prefetching: bool
    random_skip: int
    mean_value: float
    std_value: float
    mean_file: str
    std_file: str
    shape: _containers.RepeatedScalarFieldContainer[int]
    labels: int
    target: bool
    tokens: bool
    def __init__(self, path: _Optional[str] = ..., data: _Optional[str] = ..., label_path: _Optional[str] = ..., label: _Optional[str] = ..., batchsize: _Optional[_Iterable[int]] = ..., shuffle: bool = ..., prefetching: bool = ..., random_skip: _Optional[int] = ..., mean_value: _Optional[float] = ..., std_value: _Optional[float] = ..., mean_file: _Optional[str] = ..., std_file: _Optional[str] = ..., shape: _Optional[_Iterable[int]] = ..., labels: _Optional[int] = ..., target: bool = ..., tokens: bool = ...) -> None: ...

class TokenProto(_message.Message):
    __slots__ = ("files", "element", "window", "batchsize", "held_out")
    class TokenType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        UINT16: _ClassVar[TokenProto.TokenType]
        UINT32: _ClassVar[TokenProto.TokenType]
    UINT16: TokenProto.TokenType
    UINT32: TokenProto.TokenType
    FILES_FIELD_NUMBER: _ClassVar[int]
    ELEMENT_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    BATCHSIZE_FIELD_NUMBER: _ClassVar[int]
    HELD_OUT_FIELD_NUMBER: _ClassVar[int]
    files: _containers.RepeatedScalarFieldContainer[str]
    element: TokenProto.TokenType
    window: int
    batchsize: _containers.RepeatedScalarFieldContainer[int]
    held_out: float
    def __init__(self, files: _Optional[_Iterable[str]] = ..., element: _Optional[_Union[TokenProto.TokenType, str]] = ..., window: _Optional[int] = ..., batchsize: _Optional[_Iterable[int]] = ..., held_out: _Optional[float] = ...) -> None: ...

class CharRNNProto(_message.Message):
    __slots__ = ("path", "vocab_path", "unroll_len", "batchsize")
    PATH_FIELD_NUMBER: _ClassVar[int]
    VOCAB_PATH_FIELD_NUMBER: _ClassVar[int]
    UNROLL_LEN_FIELD_NUMBER: _ClassVar[int]
    BATCHSIZE_FIELD_NUMBER: _ClassVar[int]
    path: str
    vocab_path: str
    unroll_len: int
    batchsize: int
    def __init__(self, path: _Optional[str] = ..., vocab_path: _Optional[str] = ..., unroll_len: _Optional[int] = ..., batchsize: _Optional[int] = ...) -> None: ...

class OnehotProto(_message.Message):
    __slots__ = ("vocab_size",)
    VOCAB_SIZE_FIELD_NUMBER: _ClassVar[int]
    vocab_size: int
    def __init__(self, vocab_size: _Optional[int] = ...) -> None: ...

class DataProto(_message.Message):
    __slots__ = ("path", "batchsize", "random_skip")
    PATH_FIELD_NUMBER: _ClassVar[int]
    BATCHSIZE_FIELD_NUMBER: _ClassVar[int]
    RANDOM_SKIP_FIELD_NUMBER: _ClassVar[int]
    path: str
    batchsize: int
    random_skip: int
    def __init__(self, path: _Optional[str] = ..., batchsize: _Optional[int] = ..., random_skip: _Optional[int] = ...) -> None: ...

class MnistProto(_message.Message):
    __slots__ = ("norm_a", "norm_b", "kernel", "sigma", "alpha", "beta", "gamma", "resize", "elastic_freq")
    NORM_A_FIELD_NUMBER: _ClassVar[int]
    NORM_B_FIELD_NUMBER: _ClassVar[int]
    KERNEL_FIELD_NUMBER: _ClassVar[int]
    SIGMA_FIELD_NUMBER: _ClassVar[int]
    ALPHA_FIELD_NUMBER: _ClassVar[int]
    BETA_FIELD_NUMBER: _ClassVar[int]
    GAMMA_FIELD_NUMBER: _ClassVar[int]
    RESIZE_FIELD_NUMBER: _ClassVar[int]
    ELASTIC_FREQ_FIELD_NUMBER: _ClassVar[int]
    norm_a: float
    norm_b: float
    kernel: int
    sigma: float
    alpha: float
    beta: float
    gamma: float
    resize: int
    elastic_freq: int
    def __init__(self, norm_a: _Optional[float] = ..., norm_b: _Optional[float] = ..., kernel: _Optional[int] = ..., sigma: _Optional[float] = ..., alpha: _Optional[float] = ..., beta: _Optional[float] = ..., gamma: _Optional[float] = ..., resize: _Optional[int] = ..., elastic_freq: _Optional[int] = ...) -> None: ...

class RGBImageProto(_message.Message):
    __slots__ = ("scale", "cropsize", "mirror", "meanfile")
    SCALE_FIELD_NUMBER: _ClassVar[int]
    CROPSIZE_FIELD_NUMBER: _ClassVar[int]
    MIRROR_FIELD_NUMBER: _ClassVar[int]
    MEANFILE_FIELD_NUMBER: _ClassVar[int]
    scale: float
    cropsize: int
    mirror: bool
    meanfile: str
    def __init__(self, scale: _Optional[float] = ..., cropsize: _Optional[int] = ..., mirror: bool = ..., meanfile: _Optional[str] = ...) -> None: ...
