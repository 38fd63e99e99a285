# mypy: ignore-errors
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class JoinProto(_message.Message):
    __slots__ = ("rank", "host", "version", "seal")
    RANK_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SEAL_FIELD_NUMBER: _ClassVar[int]
    rank: int
    host: str
    version: str
    seal: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, rank: _Optional[int] = ..., host: _Optional[str] = ..., version: _Optional[str] = ..., seal: _Optional[_Iterable[str]] = ...) -> None: ...

class JoinedProto(_message.Message):
    __slots__ = ("rank", "refused", "ticket")
    RANK_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    TICKET_FIELD_NUMBER: _ClassVar[int]
    rank: int
    refused: str
    ticket: bytes
    def __init__(self, rank: _Optional[int] = ..., refused: _Optional[str] = ..., ticket: _Optional[bytes] = ...) -> None: ...

class HelloProto(_message.Message):
    __slots__ = ("rank", "pid", "token", "version")
    RANK_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    rank: int
    pid: int
    token: bytes
    version: str
    def __init__(self, rank: _Optional[int] = ..., pid: _Optional[int] = ..., token: _Optional[bytes] = ..., version: _Optional[str] = ...) -> None: ...

class ReadyProto(_message.Message):
    __slots__ = ("rank", "address", "memory_bytes", "device", "spoken", "threads", "communicator", "host", "core", "seal", "region_address")
    RANK_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    SPOKEN_FIELD_NUMBER: _ClassVar[int]
    THREADS_FIELD_NUMBER: _ClassVar[int]
    COMMUNICATOR_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    CORE_FIELD_NUMBER: _ClassVar[int]
    SEAL_FIELD_NUMBER: _ClassVar[int]
    REGION_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    rank: int
    address: str
    memory_bytes: int
    device: str
    spoken: _containers.RepeatedCompositeFieldContainer[SpokenProto]
    threads: int
    communicator: _containers.RepeatedCompositeFieldContainer[CommunicatorProto]
    host: str
    core: _containers.RepeatedScalarFieldContainer[int]
    seal: str
    region_address: str
    def __init__(self, rank: _Optional[int] = ..., address: _Optional[str] = ..., memory_bytes: _Optional[int] = ..., device: _Optional[str] = ..., spoken: _Optional[_Iterable[_Union[SpokenProto, _Mapping]]] = ..., threads: _Optional[int] = ..., communicator: _Optional[_Iterable[_Union[CommunicatorProto, _Mapping]]] = ..., host: _Optional[str] = ..., core: _Optional[_Iterable[int]] = ..., seal: _Optional[str] = ..., region_address: _Optional[str] = ...) -> None: ...

class CommunicatorProto(_message.Message):
    __slots__ = ("rank", "id")
    RANK_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    rank: _containers.RepeatedScalarFieldContainer[int]
    id: bytes
    def __init__(self, rank: _Optional[_Iterable[int]] = ..., id: _Optional[bytes] = ...) -> None: ...

class SpokenProto(_message.Message):
    __slots__ = ("phase", "communication", "legs")
    PHASE_FIELD_NUMBER: _ClassVar[int]
    COMMUNICATION_FIELD_NUMBER: _ClassVar[int]
    LEGS_FIELD_NUMBER: _ClassVar[int]
    phase: str
    communication: _containers.RepeatedCompositeFieldContainer[CommunicationProto]
    legs: _containers.RepeatedCompositeFieldContainer[LegsProto]
    def __init__(self, phase: _Optional[str] = ..., communication: _Optional[_Iterable[_Union[CommunicationProto, _Mapping]]] = ..., legs: _Optional[_Iterable[_Union[LegsProto, _Mapping]]] = ...) -> None: ...

class CommunicationProto(_message.Message):
    __slots__ = ("verb", "name", "channel", "peer", "shape", "dtype", "legs", "lag")
    VERB_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    PEER_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    LEGS_FIELD_NUMBER: _ClassVar[int]
    LAG_FIELD_NUMBER: _ClassVar[int]
    verb: int
    name: str
    channel: _containers.RepeatedScalarFieldContainer[int]
    peer: int
    shape: _containers.RepeatedScalarFieldContainer[int]
    dtype: str
    legs: int
    lag: int
    def __init__(self, verb: _Optional[int] = ..., name: _Optional[str] = ..., channel: _Optional[_Iterable[int]] = ..., peer: _Optional[int] = ..., shape: _Optional[_Iterable[int]] = ..., dtype: _Optional[str] = ..., legs: _Optional[int] = ..., lag: _Optional[int] = ...) -> None: ...

class LegsProto(_message.Message):
    __slots__ = ("number",)
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    number: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, number: _Optional[_Iterable[int]] = ...) -> None: ...

class GoProto(_message.Message):
    __slots__ = ("address", "communicator", "snapshot")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    COMMUNICATOR_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    address: _containers.RepeatedCompositeFieldContainer[AddressProto]
    communicator: _containers.RepeatedCompositeFieldContainer[CommunicatorProto]
    snapshot: SnapshotDutyProto
    def __init__(self, address: _Optional[_Iterable[_Union[AddressProto, _Mapping]]] = ..., communicator: _Optional[_Iterable[_Union[CommunicatorProto, _Mapping]]] = ..., snapshot: _Optional[_Union[SnapshotDutyProto, _Mapping]] = ...) -> None: ...

class AddressProto(_message.Message):
    __slots__ = ("rank", "address")
    RANK_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    rank: int
    address: str
    def __init__(self, rank: _Optional[int] = ..., address: _Optional[str] = ...) -> None: ...

class SnapshotDutyProto(_message.Message):
    __slots__ = ("copied", "taken", "buddy", "buddy_address")
    COPIED_FIELD_NUMBER: _ClassVar[int]
    TAKEN_FIELD_NUMBER: _ClassVar[int]
    BUDDY_FIELD_NUMBER: _ClassVar[int]
    BUDDY_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    copied: _containers.RepeatedCompositeFieldContainer[CopiedRegionProto]
    taken: _containers.RepeatedCompositeFieldContainer[KeptRegionProto]
    buddy: int
    buddy_address: str
    def __init__(self, copied: _Optional[_Iterable[_Union[CopiedRegionProto, _Mapping]]] = ..., taken: _Optional[_Iterable[_Union[KeptRegionProto, _Mapping]]] = ..., buddy: _Optional[int] = ..., buddy_address: _Optional[str] = ...) -> None: ...

class CopiedRegionProto(_message.Message):
    __slots__ = ("holding", "low", "high", "updater", "sent")
    HOLDING_FIELD_NUMBER: _ClassVar[int]
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    UPDATER_FIELD_NUMBER: _ClassVar[int]
    SENT_FIELD_NUMBER: _ClassVar[int]
    holding: int
    low: _containers.RepeatedScalarFieldContainer[int]
    high: _containers.RepeatedScalarFieldContainer[int]
    updater: bool
    sent: bool
    def __init__(self, holding: _Optional[int] = ..., low: _Optional[_Iterable[int]] = ..., high: _Optional[_Iterable[int]] = ..., updater: bool = ..., sent: bool = ...) -> None: ...

class KeptRegionProto(_message.Message):
    __slots__ = ("kind", "name", "low", "high", "dtype", "holder")
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    kind: str
    name: str
    low: _containers.RepeatedScalarFieldContainer[int]
    high: _containers.RepeatedScalarFieldContainer[int]
    dtype: str
    holder: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, kind: _Optional[str] = ..., name: _Optional[str] = ..., low: _Optional[_Iterable[int]] = ..., high: _Optional[_Iterable[int]] = ..., dtype: _Optional[str] = ..., holder: _Optional[_Iterable[int]] = ...) -> None: ...

class RegionMapProto(_message.Message):
    __slots__ = ("team", "step", "address", "region")
    TEAM_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    team: int
    step: int
    address: _containers.RepeatedScalarFieldContainer[str]
    region: _containers.RepeatedCompositeFieldContainer[KeptRegionProto]
    def __init__(self, team: _Optional[int] = ..., step: _Optional[int] = ..., address: _Optional[_Iterable[str]] = ..., region: _Optional[_Iterable[_Union[KeptRegionProto, _Mapping]]] = ...) -> None: ...

class SnapshotProto(_message.Message):
    __slots__ = ("rank", "step", "outcome", "reason", "batches", "sum")
    class Outcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STORED: _ClassVar[SnapshotProto.Outcome]
        SKIPPED: _ClassVar[SnapshotProto.Outcome]
        FAILED: _ClassVar[SnapshotProto.Outcome]
        COMMITTED: _ClassVar[SnapshotProto.Outcome]
        DROPPED: _ClassVar[SnapshotProto.Outcome]
    STORED: SnapshotProto.Outcome
    SKIPPED: SnapshotProto.Outcome
    FAILED: SnapshotProto.Outcome
    COMMITTED: SnapshotProto.Outcome
    DROPPED: SnapshotProto.Outcome
    RANK_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    BATCHES_FIELD_NUMBER: _ClassVar[int]
    SUM_FIELD_NUMBER: _ClassVar[int]
    rank: int
    step: int
    outcome: SnapshotProto.Outcome
    reason: str
    batches: int
    sum: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, rank: _Optional[int] = ..., step: _Optional[int] = ..., outcome: _Optional[_Union[SnapshotProto.Outcome, str]] = ..., reason: _Optional[str] = ..., batches: _Optional[int] = ..., sum: _Optional[_Iterable[float]] = ...) -> None: ...

class RegroupProto(_message.Message):
    __slots__ = ("team",)
    TEAM_FIELD_NUMBER: _ClassVar[int]
    team: int
    def __init__(self, team: _Optional[int] = ...) -> None: ...

class StandbyProto(_message.Message):
    __slots__ = ("team",)
    TEAM_FIELD_NUMBER: _ClassVar[int]
    team: int
    def __init__(self, team: _Optional[int] = ...) -> None: ...

class RegionHeadProto(_message.Message):
    __slots__ = ("verb", "number", "team", "step", "sender", "bytes", "box", "taken", "reason", "committed")
    class Verb(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        PUT: _ClassVar[RegionHeadProto.Verb]
        TAKEN: _ClassVar[RegionHeadProto.Verb]
        GET: _ClassVar[RegionHeadProto.Verb]
        GIVEN: _ClassVar[RegionHeadProto.Verb]
        REFUSED: _ClassVar[RegionHeadProto.Verb]
        LATER: _ClassVar[RegionHeadProto.Verb]
    PUT: RegionHeadProto.Verb
    TAKEN: RegionHeadProto.Verb
    GET: RegionHeadProto.Verb
    GIVEN: RegionHeadProto.Verb
    REFUSED: RegionHeadProto.Verb
    LATER: RegionHeadProto.Verb
    VERB_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    TEAM_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    SENDER_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    BOX_FIELD_NUMBER: _ClassVar[int]
    TAKEN_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_FIELD_NUMBER: _ClassVar[int]
    verb: RegionHeadProto.Verb
    number: int
    team: int
    step: int
    sender: int
    bytes: _containers.RepeatedCompositeFieldContainer[BytesProto]
    box: _containers.RepeatedCompositeFieldContainer[KeptRegionProto]
    taken: int
    reason: str
    committed: int
    def __init__(self, verb: _Optional[_Union[RegionHeadProto.Verb, str]] = ..., number: _Optional[int] = ..., team: _Optional[int] = ..., step: _Optional[int] = ..., sender: _Optional[int] = ..., bytes: _Optional[_Iterable[_Union[BytesProto, _Mapping]]] = ..., box: _Optional[_Iterable[_Union[KeptRegionProto, _Mapping]]] = ..., taken: _Optional[int] = ..., reason: _Optional[str] = ..., committed: _Optional[int] = ...) -> None: ...

class BytesProto(_message.Message):
    __slots__ = ("region", "start", "count")
    REGION_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    region: int
    start: int
    count: int
    def __init__(self, region: _Optional[int] = ..., start: _Optional[int] = ..., count: _Optional[int] = ...) -> None: ...

class WelcomeProto(_message.Message):
    __slots__ = ("plan", "run_id", "folder", "seed", "device", "deadline", "restore", "first_step", "writes", "report_every", "restore_updater", "transport", "workers", "restore_suffix", "trace", "seal", "seal_secret", "seal_generation", "seal_everywhere", "watched", "judged", "base_lr", "region_secret", "team", "regions", "rank", "returns")
    PLAN_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    FOLDER_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    RESTORE_FIELD_NUMBER: _ClassVar[int]
    FIRST_STEP_FIELD_NUMBER: _ClassVar[int]
    WRITES_FIELD_NUMBER: _ClassVar[int]
    REPORT_EVERY_FIELD_NUMBER: _ClassVar[int]
    RESTORE_UPDATER_FIELD_NUMBER: _ClassVar[int]
    TRANSPORT_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    RESTORE_SUFFIX_FIELD_NUMBER: _ClassVar[int]
    TRACE_FIELD_NUMBER: _ClassVar[int]
    SEAL_FIELD_NUMBER: _ClassVar[int]
    SEAL_SECRET_FIELD_NUMBER: _ClassVar[int]
    SEAL_GENERATION_FIELD_NUMBER: _ClassVar[int]
    SEAL_EVERYWHERE_FIELD_NUMBER: _ClassVar[int]
    WATCHED_FIELD_NUMBER: _ClassVar[int]
    JUDGED_FIELD_NUMBER: _ClassVar[int]
    BASE_LR_FIELD_NUMBER: _ClassVar[int]
    REGION_SECRET_FIELD_NUMBER: _ClassVar[int]
    TEAM_FIELD_NUMBER: _ClassVar[int]
    REGIONS_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    RETURNS_FIELD_NUMBER: _ClassVar[int]
    plan: bytes
    run_id: bytes
    folder: str
    seed: int
    device: str
    deadline: float
    restore: str
    first_step: int
    writes: _containers.RepeatedScalarFieldContainer[int]
    report_every: int
    restore_updater: str
    transport: str
    workers: int
    restore_suffix: str
    trace: bool
    seal: str
    seal_secret: bytes
    seal_generation: int
    seal_everywhere: bool
    watched: bool
    judged: _containers.RepeatedScalarFieldContainer[str]
    base_lr: float
    region_secret: bytes
    team: int
    regions: RegionMapProto
    rank: int
    returns: bool
    def __init__(self, plan: _Optional[bytes] = ..., run_id: _Optional[bytes] = ..., folder: _Optional[str] = ..., seed: _Optional[int] = ..., device: _Optional[str] = ..., deadline: _Optional[float] = ..., restore: _Optional[str] = ..., first_step: _Optional[int] = ..., writes: _Optional[_Iterable[int]] = ..., report_every: _Optional[int] = ..., restore_updater: _Optional[str] = ..., transport: _Optional[str] = ..., workers: _Optional[int] = ..., restore_suffix: _Optional[str] = ..., trace: bool = ..., seal: _Optional[str] = ..., seal_secret: _Optional[bytes] = ..., seal_generation: _Optional[int] = ..., seal_everywhere: bool = ..., watched: bool = ..., judged: _Optional[_Iterable[str]] = ..., base_lr: _Optional[float] = ..., region_secret: _Optional[bytes] = ..., team: _Optional[int] = ..., regions: _Optional[_Union[RegionMapProto, _Mapping]] = ..., rank: _Optional[int] = ..., returns: bool = ...) -> None: ...

class BeatProto(_message.Message):
    __slots__ = ("rank", "phase", "step", "doing", "refused")
    RANK_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    DOING_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    rank: int
    phase: str
    step: int
    doing: str
    refused: _containers.RepeatedCompositeFieldContainer[RefusedProto]
    def __init__(self, rank: _Optional[int] = ..., phase: _Optional[str] = ..., step: _Optional[int] = ..., doing: _Optional[str] = ..., refused: _Optional[_Iterable[_Union[RefusedProto, _Mapping]]] = ...) -> None: ...

class RefusedProto(_message.Message):
    __slots__ = ("peer", "count", "reason")
    PEER_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    peer: int
    count: int
    reason: str
    def __init__(self, peer: _Optional[int] = ..., count: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class ReportProto(_message.Message):
    __slots__ = ("rank", "phase", "step", "batches", "sum")
    RANK_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    BATCHES_FIELD_NUMBER: _ClassVar[int]
    SUM_FIELD_NUMBER: _ClassVar[int]
    rank: int
    phase: str
    step: int
    batches: int
    sum: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, rank: _Optional[int] = ..., phase: _Optional[str] = ..., step: _Optional[int] = ..., batches: _Optional[int] = ..., sum: _Optional[_Iterable[float]] = ...) -> None: ...

class CheckpointProto(_message.Message):
    __slots__ = ("rank", "step", "path", "updater_path", "best", "announced", "written")
    RANK_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    UPDATER_PATH_FIELD_NUMBER: _ClassVar[int]
    BEST_FIELD_NUMBER: _ClassVar[int]
    ANNOUNCED_FIELD_NUMBER: _ClassVar[int]
    WRITTEN_FIELD_NUMBER: _ClassVar[int]
    rank: int
    step: int
    path: str
    updater_path: str
    best: bool
    announced: bool
    written: _containers.RepeatedCompositeFieldContainer[WrittenProto]
    def __init__(self, rank: _Optional[int] = ..., step: _Optional[int] = ..., path: _Optional[str] = ..., updater_path: _Optional[str] = ..., best: bool = ..., announced: bool = ..., written: _Optional[_Iterable[_Union[WrittenProto, _Mapping]]] = ...) -> None: ...

class WrittenProto(_message.Message):
    __slots__ = ("name", "updater", "start", "count", "crc32", "finite")
    NAME_FIELD_NUMBER: _ClassVar[int]
    UPDATER_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    CRC32_FIELD_NUMBER: _ClassVar[int]
    FINITE_FIELD_NUMBER: _ClassVar[int]
    name: str
    updater: bool
    start: int
    count: int
    crc32: int
    finite: bool
    def __init__(self, name: _Optional[str] = ..., updater: bool = ..., start: _Optional[int] = ..., count: _Optional[int] = ..., crc32: _Optional[int] = ..., finite: bool = ...) -> None: ...

class RegionProto(_message.Message):
    __slots__ = ("path", "name", "low", "high", "shape", "dtype", "data")
    PATH_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    path: str
    name: str
    low: _containers.RepeatedScalarFieldContainer[int]
    high: _containers.RepeatedScalarFieldContainer[int]
    shape: _containers.RepeatedScalarFieldContainer[int]
    dtype: str
    data: bytes
    def __init__(self, path: _Optional[str] = ..., name: _Optional[str] = ..., low: _Optional[_Iterable[int]] = ..., high: _Optional[_Iterable[int]] = ..., shape: _Optional[_Iterable[int]] = ..., dtype: _Optional[str] = ..., data: _Optional[bytes] = ...) -> None: ...

class VerdictProto(_message.Message):
    __slots__ = ("step", "phase", "stop", "best", "base_lr")
    STEP_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    BEST_FIELD_NUMBER: _ClassVar[int]
    BASE_LR_FIELD_NUMBER: _ClassVar[int]
    step: int
    phase: str
    stop: bool
    best: bool
    base_lr: float
    def __init__(self, step: _Optional[int] = ..., phase: _Optional[str] = ..., stop: bool = ..., best: bool = ..., base_lr: _Optional[float] = ...) -> None: ...

class CountProto(_message.Message):
    __slots__ = ("channel", "bytes")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    channel: _containers.RepeatedScalarFieldContainer[int]
    bytes: int
    def __init__(self, channel: _Optional[_Iterable[int]] = ..., bytes: _Optional[int] = ...) -> None: ...

class HaltProto(_message.Message):
    __slots__ = ("rank", "step", "reached", "final")
    RANK_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    REACHED_FIELD_NUMBER: _ClassVar[int]
    FINAL_FIELD_NUMBER: _ClassVar[int]
    rank: int
    step: int
    reached: int
    final: bool
    def __init__(self, rank: _Optional[int] = ..., step: _Optional[int] = ..., reached: _Optional[int] = ..., final: bool = ...) -> None: ...

class FinishedProto(_message.Message):
    __slots__ = ("rank", "count", "header_bytes", "train_seconds", "step_seconds", "refused")
    RANK_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    HEADER_BYTES_FIELD_NUMBER: _ClassVar[int]
    TRAIN_SECONDS_FIELD_NUMBER: _ClassVar[int]
    STEP_SECONDS_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    rank: int
    count: _containers.RepeatedCompositeFieldContainer[CountProto]
    header_bytes: int
    train_seconds: float
    step_seconds: _containers.RepeatedScalarFieldContainer[float]
    refused: _containers.RepeatedCompositeFieldContainer[RefusedProto]
    def __init__(self, rank: _Optional[int] = ..., count: _Optional[_Iterable[_Union[CountProto, _Mapping]]] = ..., header_bytes: _Optional[int] = ..., train_seconds: _Optional[float] = ..., step_seconds: _Optional[_Iterable[float]] = ..., refused: _Optional[_Iterable[_Union[RefusedProto, _Mapping]]] = ...) -> None: ...

class ClockProto(_message.Message):
    __slots__ = ("seconds",)
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    seconds: float
    def __init__(self, seconds: _Optional[float] = ...) -> None: ...

class UpdatesProto(_message.Message):
    __slots__ = ("rank", "number")
    RANK_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    rank: int
    number: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, rank: _Optional[int] = ..., number: _Optional[_Iterable[int]] = ...) -> None: ...

class TraceProto(_message.Message):
    __slots__ = ("rank", "what", "index", "start", "end", "memory", "peak", "peak_at", "load", "step", "sent", "resident_bytes", "grown_bytes")
    RANK_FIELD_NUMBER: _ClassVar[int]
    WHAT_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    PEAK_FIELD_NUMBER: _ClassVar[int]
    PEAK_AT_FIELD_NUMBER: _ClassVar[int]
    LOAD_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    SENT_FIELD_NUMBER: _ClassVar[int]
    RESIDENT_BYTES_FIELD_NUMBER: _ClassVar[int]
    GROWN_BYTES_FIELD_NUMBER: _ClassVar[int]
    rank: int
    what: _containers.RepeatedCompositeFieldContainer[TracedProto]
    index: _containers.RepeatedScalarFieldContainer[int]
    start: _containers.RepeatedScalarFieldContainer[float]
    end: _containers.RepeatedScalarFieldContainer[float]
    memory: _containers.RepeatedCompositeFieldContainer[HeldProto]
    peak: _containers.RepeatedCompositeFieldContainer[HeldProto]
    peak_at: str
    load: _containers.RepeatedCompositeFieldContainer[HeldProto]
    step: int
    sent: _containers.RepeatedCompositeFieldContainer[CountProto]
    resident_bytes: int
    grown_bytes: int
    def __init__(self, rank: _Optional[int] = ..., what: _Optional[_Iterable[_Union[TracedProto, _Mapping]]] = ..., index: _Optional[_Iterable[int]] = ..., start: _Optional[_Iterable[float]] = ..., end: _Optional[_Iterable[float]] = ..., memory: _Optional[_Iterable[_Union[HeldProto, _Mapping]]] = ..., peak: _Optional[_Iterable[_Union[HeldProto, _Mapping]]] = ..., peak_at: _Optional[str] = ..., load: _Optional[_Iterable[_Union[HeldProto, _Mapping]]] = ..., step: _Optional[int] = ..., sent: _Optional[_Iterable[_Union[CountProto, _Mapping]]] = ..., resident_bytes: _Optional[int] = ..., grown_bytes: _Optional[int] = ...) -> None: ...

class LookProto(_message.Message):
    __slots__ = ("step",)
    STEP_FIELD_NUMBER: _ClassVar[int]
    step: int
    def __init__(self, step: _Optional[int] = ...) -> None: ...

class TracedProto(_message.Message):
    __slots__ = ("name", "channel", "delay", "micro")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    DELAY_FIELD_NUMBER: _ClassVar[int]
    MICRO_FIELD_NUMBER: _ClassVar[int]
    name: str
    channel: _containers.RepeatedScalarFieldContainer[int]
    delay: int
    micro: int
    def __init__(self, name: _Optional[str] = ..., channel: _Optional[_Iterable[int]] = ..., delay: _Optional[int] = ..., micro: _Optional[int] = ...) -> None: ...

class HeldProto(_message.Message):
    __slots__ = ("name", "bytes")
    NAME_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    name: str
    bytes: int
    def __init__(self, name: _Optional[str] = ..., bytes: _Optional[int] = ...) -> None: ...

class FailedProto(_message.Message):
    __slots__ = ("rank", "phase", "step", "doing", "kind", "message", "peer", "unreached")
    RANK_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    DOING_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    PEER_FIELD_NUMBER: _ClassVar[int]
    UNREACHED_FIELD_NUMBER: _ClassVar[int]
    rank: int
    phase: str
    step: int
    doing: str
    kind: str
    message: str
    peer: int
    unreached: bool
    def __init__(self, rank: _Optional[int] = ..., phase: _Optional[str] = ..., step: _Optional[int] = ..., doing: _Optional[str] = ..., kind: _Optional[str] = ..., message: _Optional[str] = ..., peer: _Optional[int] = ..., unreached: bool = ...) -> None: ...

class ControlProto(_message.Message):
    __slots__ = ("hello", "welcome", "ready", "go", "beat", "report", "checkpoint_due", "checkpoint_open", "checkpoint_written", "finished", "failed", "stop", "join", "joined", "region_write", "region_read", "region", "clock", "trace", "updates", "verdict", "halt", "snapshot", "regroup", "standby", "rejoin", "look")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    WELCOME_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    GO_FIELD_NUMBER: _ClassVar[int]
    BEAT_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_DUE_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_OPEN_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_WRITTEN_FIELD_NUMBER: _ClassVar[int]
    FINISHED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    JOIN_FIELD_NUMBER: _ClassVar[int]
    JOINED_FIELD_NUMBER: _ClassVar[int]
    REGION_WRITE_FIELD_NUMBER: _ClassVar[int]
    REGION_READ_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    TRACE_FIELD_NUMBER: _ClassVar[int]
    UPDATES_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    HALT_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    REGROUP_FIELD_NUMBER: _ClassVar[int]
    STANDBY_FIELD_NUMBER: _ClassVar[int]
    REJOIN_FIELD_NUMBER: _ClassVar[int]
    LOOK_FIELD_NUMBER: _ClassVar[int]
    hello: HelloProto
    welcome: WelcomeProto
    ready: ReadyProto
    go: GoProto
    beat: BeatProto
    report: ReportProto
    checkpoint_due: CheckpointProto
    checkpoint_open: CheckpointProto
    checkpoint_written: CheckpointProto
    finished: FinishedProto
    failed: FailedProto
    stop: bool
    join: JoinProto
    joined: JoinedProto
    region_write: RegionProto
    region_read: RegionProto
    region: RegionProto
    clock: ClockProto
    trace: TraceProto
    updates: UpdatesProto
    verdict: VerdictProto
    halt: HaltProto
    snapshot: SnapshotProto
    regroup: RegroupProto
    standby: StandbyProto
    rejoin: bool
    look: LookProto
    def __init__(self, hello: _Optional[_Union[HelloProto, _Mapping]] = ..., welcome: _Optional[_Union[WelcomeProto, _Mapping]] = ..., ready: _Optional[_Union[ReadyProto, _Mapping]] = ..., go: _Optional[_Union[GoProto, _Mapping]] = ..., beat: _Optional[_Union[BeatProto, _Mapping]] = ..., report: _Optional[_Union[ReportProto, _Mapping]] = ..., checkpoint_due: _Optional[_Union[CheckpointProto, _Mapping]] = ..., checkpoint_open: _Optional[_Union[CheckpointProto, _Mapping]] = ..., checkpoint_written: _Optional[_Union[CheckpointProto, _Mapping]] = ..., finished: _Optional[_Union[FinishedProto, _Mapping]] = ..., failed: _Optional[_Union[FailedProto, _Mapping]] = ..., stop: bool = ..., join: _Optional[_Union[JoinProto, _Mapping]] = ..., joined: _Optional[_Union[JoinedProto, _Mapping]] = ..., region_write: _Optional[_Union[RegionProto, _Mapping]] = ..., region_read: _Optional[_Union[RegionProto, _Mapping]] = ..., region: _Optional[_Union[RegionProto, _Mapping]] = ..., clock: _Optional[_Union[ClockProto, _Mapping]] = ..., trace: _Optional[_Union[TraceProto, _Mapping]] = ..., updates: _Optional[_Union[UpdatesProto, _Mapping]] = ..., verdict: _Optional[_Union[VerdictProto, _Mapping]] = ..., halt: _Optional[_Union[HaltProto, _Mapping]] = ..., snapshot: _Optional[_Union[SnapshotProto, _Mapping]] = ..., regroup: _Optional[_Union[RegroupProto, _Mapping]] = ..., standby: _Optional[_Union[StandbyProto, _Mapping]] = ..., rejoin: bool = ..., look: _Optional[_Union[LookProto, _Mapping]] = ...) -> None: ...
