# mypy: ignore-errors
from google.protobuf.internal import containers as _containers
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
    __slots__ = ("rank", "address", "memory_bytes", "device", "spoken", "threads", "communicator", "host", "core", "seal")
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
    def __init__(self, rank: _Optional[int] = ..., address: _Optional[str] = ..., memory_bytes: _Optional[int] = ..., device: _Optional[str] = ..., spoken: _Optional[_Iterable[_Union[SpokenProto, _Mapping]]] = ..., threads: _Optional[int] = ..., communicator: _Optional[_Iterable[_Union[CommunicatorProto, _Mapping]]] = ..., host: _Optional[str] = ..., core: _Optional[_Iterable[int]] = ..., seal: _Optional[str] = ...) -> None: ...

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
    __slots__ = ("address", "communicator")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    COMMUNICATOR_FIELD_NUMBER: _ClassVar[int]
    address: _containers.RepeatedCompositeFieldContainer[AddressProto]
    communicator: _containers.RepeatedCompositeFieldContainer[CommunicatorProto]
    def __init__(self, address: _Optional[_Iterable[_Union[AddressProto, _Mapping]]] = ..., communicator: _Optional[_Iterable[_Union[CommunicatorProto, _Mapping]]] = ...) -> None: ...

class AddressProto(_message.Message):
    __slots__ = ("rank", "address")
    RANK_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    rank: int
    address: str
    def __init__(self, rank: _Optional[int] = ..., address: _Optional[str] = ...) -> None: ...

class WelcomeProto(_message.Message):
    __slots__ = ("plan", "run_id", "folder", "seed", "device", "deadline", "restore", "first_step", "writes", "report_every", "restore_updater", "transport", "workers", "restore_suffix", "trace", "seal", "seal_secret", "seal_generation", "seal_everywhere", "watched", "judged", "base_lr")
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
    def __init__(self, plan: _Optional[bytes] = ..., run_id: _Optional[bytes] = ..., folder: _Optional[str] = ..., seed: _Optional[int] = ..., device: _Optional[str] = ..., deadline: _Optional[float] = ..., restore: _Optional[str] = ..., first_step: _Optional[int] = ..., writes: _Optional[_Iterable[int]] = ..., report_every: _Optional[int] = ..., restore_updater: _Optional[str] = ..., transport: _Optional[str] = ..., workers: _Optional[int] = ..., restore_suffix: _Optional[str] = ..., trace: bool = ..., seal: _Optional[str] = ..., seal_secret: _Optional[bytes] = ..., seal_generation: _Optional[int] = ..., seal_everywhere: bool = ..., watched: bool = ..., judged: _Optional[_Iterable[str]] = ..., base_lr: _Optional[float] = ...) -> None: ...

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
    __slots__ = ("rank", "step", "path", "updater_path", "best")
    RANK_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    UPDATER_PATH_FIELD_NUMBER: _ClassVar[int]
    BEST_FIELD_NUMBER: _ClassVar[int]
    rank: int
    step: int
    path: str
    updater_path: str
    best: bool
    def __init__(self, rank: _Optional[int] = ..., step: _Optional[int] = ..., path: _Optional[str] = ..., updater_path: _Optional[str] = ..., best: bool = ...) -> None: ...

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
    __slots__ = ("rank", "phase", "step", "doing", "kind", "message")
    RANK_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    DOING_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    rank: int
    phase: str
    step: int
    doing: str
    kind: str
    message: str
    def __init__(self, rank: _Optional[int] = ..., phase: _Optional[str] = ..., step: _Optional[int] = ..., doing: _Optional[str] = ..., kind: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class ControlProto(_message.Message):
    __slots__ = ("hello", "welcome", "ready", "go", "beat", "report", "checkpoint_due", "checkpoint_open", "checkpoint_written", "finished", "failed", "stop", "join", "joined", "region_write", "region_read", "region", "clock", "trace", "updates", "verdict", "halt", "look")
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
    look: LookProto
    def __init__(self, hello: _Optional[_Union[HelloProto, _Mapping]] = ..., welcome: _Optional[_Union[WelcomeProto, _Mapping]] = ..., ready: _Optional[_Union[ReadyProto, _Mapping]] = ..., go: _Optional[_Union[GoProto, _Mapping]] = ..., beat: _Optional[_Union[BeatProto, _Mapping]] = ..., report: _Optional[_Union[ReportProto, _Mapping]] = ..., checkpoint_due: _Optional[_Union[CheckpointProto, _Mapping]] = ..., checkpoint_open: _Optional[_Union[CheckpointProto, _Mapping]] = ..., checkpoint_written: _Optional[_Union[CheckpointProto, _Mapping]] = ..., finished: _Optional[_Union[FinishedProto, _Mapping]] = ..., failed: _Optional[_Union[FailedProto, _Mapping]] = ..., stop: bool = ..., join: _Optional[_Union[JoinProto, _Mapping]] = ..., joined: _Optional[_Union[JoinedProto, _Mapping]] = ..., region_write: _Optional[_Union[RegionProto, _Mapping]] = ..., region_read: _Optional[_Union[RegionProto, _Mapping]] = ..., region: _Optional[_Union[RegionProto, _Mapping]] = ..., clock: _Optional[_Union[ClockProto, _Mapping]] = ..., trace: _Optional[_Union[TraceProto, _Mapping]] = ..., updates: _Optional[_Union[UpdatesProto, _Mapping]] = ..., verdict: _Optional[_Union[VerdictProto, _Mapping]] = ..., halt: _Optional[_Union[HaltProto, _Mapping]] = ..., look: _Optional[_Union[LookProto, _Mapping]] = ...) -> None: ...
