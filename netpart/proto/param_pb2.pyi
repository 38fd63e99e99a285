# mypy: ignore-errors
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf.internal import python_message as _python_message
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class InitMethod(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    kConstant: _ClassVar[InitMethod]
    kGaussian: _ClassVar[InitMethod]
    kUniform: _ClassVar[InitMethod]
    kGaussianSqrtFanIn: _ClassVar[InitMethod]
    kUniformSqrtFanIn: _ClassVar[InitMethod]
    kUniformSqrtFanInOut: _ClassVar[InitMethod]
    kUserInit: _ClassVar[InitMethod]

class ParamType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    kParam: _ClassVar[ParamType]
    kUser: _ClassVar[ParamType]
kConstant: InitMethod
kGaussian: InitMethod
kUniform: InitMethod
kGaussianSqrtFanIn: InitMethod
kUniformSqrtFanIn: InitMethod
kUniformSqrtFanInOut: InitMethod
kUserInit: InitMethod
kParam: ParamType
kUser: ParamType

class ParamGenProto(_message.Message):
    __slots__ = ("type", "user_type", "value", "mean", "std", "low", "high")
    Extensions: _python_message._ExtensionDict
    TYPE_FIELD_NUMBER: _ClassVar[int]
    USER_TYPE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    MEAN_FIELD_NUMBER: _ClassVar[int]
    STD_FIELD_NUMBER: _ClassVar[int]
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    type: InitMethod
    user_type: str
    value: float
    mean: float
    std: float
    low: float
    high: float
    def __init__(self, type: _Optional[_Union[InitMethod, str]] = ..., user_type: _Optional[str] = ..., value: _Optional[float] = ..., mean: _Optional[float] = ..., std: _Optional[float] = ..., low: _Optional[float] = ..., high: _Optional[float] = ...) -> None: ...

class ParamProto(_message.Message):
    __slots__ = ("name", "type", "user_type", "init", "lr_scale", "wd_scale", "share_from", "id", "owner", "partition_dim", "shape")
    Extensions: _python_message._ExtensionDict
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    USER_TYPE_FIELD_NUMBER: _ClassVar[int]
    INIT_FIELD_NUMBER: _ClassVar[int]
    LR_SCALE_FIELD_NUMBER: _ClassVar[int]
    WD_SCALE_FIELD_NUMBER: _ClassVar[int]
    SHARE_FROM_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    PARTITION_DIM_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: ParamType
    user_type: str
    init: ParamGenProto
    lr_scale: float
    wd_scale: float
    share_from: str
    id: int
    owner: int
    partition_dim: int
    shape: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, name: _Optional[str] = ..., type: _Optional[_Union[ParamType, str]] = ..., user_type: _Optional[str] = ..., init: _Optional[_Union[ParamGenProto, _Mapping]] = ..., lr_scale: _Optional[float] = ..., wd_scale: _Optional[float] = ..., share_from: _Optional[str] = ..., id: _Optional[int] = ..., owner: _Optional[int] = ..., partition_dim: _Optional[int] = ..., shape: _Optional[_Iterable[int]] = ...) -> None: ...

class UniformProto(_message.Message):
    __slots__ = ("low", "high")
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    low: float
    high: float
    def __init__(self, low: _Optional[float] = ..., high: _Optional[float] = ...) -> None: ...

class GaussianProto(_message.Message):
    __slots__ = ("mean", "std")
    MEAN_FIELD_NUMBER: _ClassVar[int]
    STD_FIELD_NUMBER: _ClassVar[int]
    mean: float
    std: float
    def __init__(self, mean: _Optional[float] = ..., std: _Optional[float] = ...) -> None: ...
