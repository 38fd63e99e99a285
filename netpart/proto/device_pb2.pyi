# mypy: ignore-errors
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import python_message as _python_message
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class DeviceProto(_message.Message):
    __slots__ = ("name", "count", "flops", "memory")
    Extensions: _python_message._ExtensionDict
    NAME_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    FLOPS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    name: str
    count: int
    flops: float
    memory: float
    def __init__(self, name: _Optional[str] = ..., count: _Optional[int] = ..., flops: _Optional[float] = ..., memory: _Optional[float] = ...) -> None: ...

class LinkProto(_message.Message):
    __slots__ = ("between", "latency", "overhead", "bandwidth")
    Extensions: _python_message._ExtensionDict
    BETWEEN_FIELD_NUMBER: _ClassVar[int]
    LATENCY_FIELD_NUMBER: _ClassVar[int]
    OVERHEAD_FIELD_NUMBER: _ClassVar[int]
    BANDWIDTH_FIELD_NUMBER: _ClassVar[int]
    between: _containers.RepeatedScalarFieldContainer[str]
    latency: float
    overhead: float
    bandwidth: float
    def __init__(self, between: _Optional[_Iterable[str]] = ..., latency: _Optional[float] = ..., overhead: _Optional[float] = ..., bandwidth: _Optional[float] = ...) -> None: ...

class HostProto(_message.Message):
    __slots__ = ("name", "count", "workers", "level", "latency", "overhead", "bandwidth")
    Extensions: _python_message._ExtensionDict
    NAME_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    LATENCY_FIELD_NUMBER: _ClassVar[int]
    OVERHEAD_FIELD_NUMBER: _ClassVar[int]
    BANDWIDTH_FIELD_NUMBER: _ClassVar[int]
    name: str
    count: int
    workers: int
    level: int
    latency: float
    overhead: float
    bandwidth: float
    def __init__(self, name: _Optional[str] = ..., count: _Optional[int] = ..., workers: _Optional[int] = ..., level: _Optional[int] = ..., latency: _Optional[float] = ..., overhead: _Optional[float] = ..., bandwidth: _Optional[float] = ...) -> None: ...
