# mypy: ignore-errors
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from typing import ClassVar as _ClassVar

DESCRIPTOR: _descriptor.FileDescriptor

class Phase(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    kUnknown: _ClassVar[Phase]
    kTrain: _ClassVar[Phase]
    kVal: _ClassVar[Phase]
    kTest: _ClassVar[Phase]
    kPositive: _ClassVar[Phase]
    kNegative: _ClassVar[Phase]
    kForward: _ClassVar[Phase]
    kBackward: _ClassVar[Phase]
    kLoss: _ClassVar[Phase]
    kDeploy: _ClassVar[Phase]
    kAggGrad: _ClassVar[Phase]
kUnknown: Phase
kTrain: Phase
kVal: Phase
kTest: Phase
kPositive: Phase
kNegative: Phase
kForward: Phase
kBackward: Phase
kLoss: Phase
kDeploy: Phase
kAggGrad: Phase
