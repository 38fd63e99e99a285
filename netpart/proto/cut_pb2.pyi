# mypy: ignore-errors
from netpart.proto import phase_pb2 as _phase_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf.internal import python_message as _python_message
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Remainder(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LAST: _ClassVar[Remainder]
    SPREAD: _ClassVar[Remainder]

class Scheme(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AS_WRITTEN: _ClassVar[Scheme]
    SEQUENTIAL: _ClassVar[Scheme]
    NAIVE: _ClassVar[Scheme]
    GATHER_SCATTER: _ClassVar[Scheme]
    ALTSPLIT: _ClassVar[Scheme]
    COLUMN_ROW: _ClassVar[Scheme]
    DATA: _ClassVar[Scheme]
    ONE_WEIRD_TRICK: _ClassVar[Scheme]
    PIPELINE: _ClassVar[Scheme]
    OPTIMAL: _ClassVar[Scheme]
LAST: Remainder
SPREAD: Remainder
AS_WRITTEN: Scheme
SEQUENTIAL: Scheme
NAIVE: Scheme
GATHER_SCATTER: Scheme
ALTSPLIT: Scheme
COLUMN_ROW: Scheme
DATA: Scheme
ONE_WEIRD_TRICK: Scheme
PIPELINE: Scheme
OPTIMAL: Scheme

class CutProto(_message.Message):
    __slots__ = ("axis", "over", "parts", "sizes", "location", "phase")
    Extensions: _python_message._ExtensionDict
    class Over(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        AXIS: _ClassVar[CutProto.Over]
        INPUT: _ClassVar[CutProto.Over]
        REPLICA: _ClassVar[CutProto.Over]
    AXIS: CutProto.Over
    INPUT: CutProto.Over
    REPLICA: CutProto.Over
    AXIS_FIELD_NUMBER: _ClassVar[int]
    OVER_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    SIZES_FIELD_NUMBER: _ClassVar[int]
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    axis: int
    over: CutProto.Over
    parts: int
    sizes: _containers.RepeatedScalarFieldContainer[int]
    location: _containers.RepeatedScalarFieldContainer[int]
    phase: _phase_pb2.Phase
    def __init__(self, axis: _Optional[int] = ..., over: _Optional[_Union[CutProto.Over, str]] = ..., parts: _Optional[int] = ..., sizes: _Optional[_Iterable[int]] = ..., location: _Optional[_Iterable[int]] = ..., phase: _Optional[_Union[_phase_pb2.Phase, str]] = ...) -> None: ...
