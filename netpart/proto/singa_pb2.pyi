# mypy: ignore-errors
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class ConnectionType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    kOneToOne: _ClassVar[ConnectionType]
    kOneToAll: _ClassVar[ConnectionType]
    kOneToMany: _ClassVar[ConnectionType]

class MsgType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    kGet: _ClassVar[MsgType]
    kPut: _ClassVar[MsgType]
    kSync: _ClassVar[MsgType]
    kUpdate: _ClassVar[MsgType]
    kSyncRequest: _ClassVar[MsgType]
    kSyncResponse: _ClassVar[MsgType]
    kStop: _ClassVar[MsgType]
    kData: _ClassVar[MsgType]
    kRGet: _ClassVar[MsgType]
    kRUpdate: _ClassVar[MsgType]
    kConnect: _ClassVar[MsgType]
    kMetric: _ClassVar[MsgType]

class EntityType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    kWorkerParam: _ClassVar[EntityType]
    kWorkerLayer: _ClassVar[EntityType]
    kServer: _ClassVar[EntityType]
    kStub: _ClassVar[EntityType]
    kRuntime: _ClassVar[EntityType]
kOneToOne: ConnectionType
kOneToAll: ConnectionType
kOneToMany: ConnectionType
kGet: MsgType
kPut: MsgType
kSync: MsgType
kUpdate: MsgType
kSyncRequest: MsgType
kSyncResponse: MsgType
kStop: MsgType
kData: MsgType
kRGet: MsgType
kRUpdate: MsgType
kConnect: MsgType
kMetric: MsgType
kWorkerParam: EntityType
kWorkerLayer: EntityType
kServer: EntityType
kStub: EntityType
kRuntime: EntityType

class SingaProto(_message.Message):
    __slots__ = ("zookeeper_host", "log_dir")
    ZOOKEEPER_HOST_FIELD_NUMBER: _ClassVar[int]
    LOG_DIR_FIELD_NUMBER: _ClassVar[int]
    zookeeper_host: str
    log_dir: str
    def __init__(self, zookeeper_host: _Optional[str] = ..., log_dir: _Optional[str] = ...) -> None: ...
