# mypy: ignore-errors
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class ConcateProto(_message.Message):
    __slots__ = ("concate_dim", "num_concates")
    CONCATE_DIM_FIELD_NUMBER: _ClassVar[int]
    NUM_CONCATES_FIELD_NUMBER: _ClassVar[int]
    concate_dim: int
    num_concates: int
    def __init__(self, concate_dim: _Optional[int] = ..., num_concates: _Optional[int] = ...) -> None: ...

class SliceProto(_message.Message):
    __slots__ = ("slice_dim", "num_slices")
    SLICE_DIM_FIELD_NUMBER: _ClassVar[int]
    NUM_SLICES_FIELD_NUMBER: _ClassVar[int]
    slice_dim: int
    num_slices: int
    def __init__(self, slice_dim: _Optional[int] = ..., num_slices: _Optional[int] = ...) -> None: ...

class SplitProto(_message.Message):
    __slots__ = ("num_splits",)
    NUM_SPLITS_FIELD_NUMBER: _ClassVar[int]
    num_splits: int
    def __init__(self, num_splits: _Optional[int] = ...) -> None: ...

class RNNDummyProto(_message.Message):
    __slots__ = ("dynamic_srclayer", "shape", "integer", "low", "high")
    DYNAMIC_SRCLAYER_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    INTEGER_FIELD_NUMBER: _ClassVar[int]
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    dynamic_srclayer: str
    shape: _containers.RepeatedScalarFieldContainer[int]
    integer: bool
    low: float
    high: float
    def __init__(self, dynamic_srclayer: _Optional[str] = ..., shape: _Optional[_Iterable[int]] = ..., integer: bool = ..., low: _Optional[float] = ..., high: _Optional[float] = ...) -> None: ...
