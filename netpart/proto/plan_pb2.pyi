# mypy: ignore-errors
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FeedProto(_message.Message):
    __slots__ = ("part", "k", "output", "region", "gradient")
    PART_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    GRADIENT_FIELD_NUMBER: _ClassVar[int]
    part: int
    k: int
    output: int
    region: _containers.RepeatedScalarFieldContainer[int]
    gradient: bool
    def __init__(self, part: _Optional[int] = ..., k: _Optional[int] = ..., output: _Optional[int] = ..., region: _Optional[_Iterable[int]] = ..., gradient: bool = ...) -> None: ...

class PeerProto(_message.Message):
    __slots__ = ("index", "worker")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    index: int
    worker: int
    def __init__(self, index: _Optional[int] = ..., worker: _Optional[int] = ...) -> None: ...

class PartProto(_message.Message):
    __slots__ = ("index", "kind", "name", "node", "output", "shard", "region", "has_term", "term", "has_owned", "owned", "reports", "live", "trains", "members", "peer", "feed", "collective")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    HAS_TERM_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    HAS_OWNED_FIELD_NUMBER: _ClassVar[int]
    OWNED_FIELD_NUMBER: _ClassVar[int]
    REPORTS_FIELD_NUMBER: _ClassVar[int]
    LIVE_FIELD_NUMBER: _ClassVar[int]
    TRAINS_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    PEER_FIELD_NUMBER: _ClassVar[int]
    FEED_FIELD_NUMBER: _ClassVar[int]
    COLLECTIVE_FIELD_NUMBER: _ClassVar[int]
    index: int
    kind: str
    name: str
    node: int
    output: int
    shard: int
    region: _containers.RepeatedScalarFieldContainer[int]
    has_term: bool
    term: _containers.RepeatedScalarFieldContainer[int]
    has_owned: bool
    owned: _containers.RepeatedScalarFieldContainer[int]
    reports: bool
    live: bool
    trains: _containers.RepeatedScalarFieldContainer[bool]
    members: _containers.RepeatedCompositeFieldContainer[PeerProto]
    peer: PeerProto
    feed: _containers.RepeatedCompositeFieldContainer[FeedProto]
    collective: int
    def __init__(self, index: _Optional[int] = ..., kind: _Optional[str] = ..., name: _Optional[str] = ..., node: _Optional[int] = ..., output: _Optional[int] = ..., shard: _Optional[int] = ..., region: _Optional[_Iterable[int]] = ..., has_term: bool = ..., term: _Optional[_Iterable[int]] = ..., has_owned: bool = ..., owned: _Optional[_Iterable[int]] = ..., reports: bool = ..., live: bool = ..., trains: _Optional[_Iterable[bool]] = ..., members: _Optional[_Iterable[_Union[PeerProto, _Mapping]]] = ..., peer: _Optional[_Union[PeerProto, _Mapping]] = ..., feed: _Optional[_Iterable[_Union[FeedProto, _Mapping]]] = ..., collective: _Optional[int] = ...) -> None: ...

class BlockProto(_message.Message):
    __slots__ = ("region",)
    REGION_FIELD_NUMBER: _ClassVar[int]
    region: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, region: _Optional[_Iterable[int]] = ...) -> None: ...

class CollectiveProto(_message.Message):
    __slots__ = ("kind", "name", "dtype", "member", "block", "region", "backward", "first", "last")
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    BACKWARD_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    kind: str
    name: str
    dtype: str
    member: _containers.RepeatedScalarFieldContainer[int]
    block: _containers.RepeatedCompositeFieldContainer[BlockProto]
    region: _containers.RepeatedScalarFieldContainer[int]
    backward: bool
    first: int
    last: int
    def __init__(self, kind: _Optional[str] = ..., name: _Optional[str] = ..., dtype: _Optional[str] = ..., member: _Optional[_Iterable[int]] = ..., block: _Optional[_Iterable[_Union[BlockProto, _Mapping]]] = ..., region: _Optional[_Iterable[int]] = ..., backward: bool = ..., first: _Optional[int] = ..., last: _Optional[int] = ...) -> None: ...

class GraphProto(_message.Message):
    __slots__ = ("phase", "rows", "part", "collective", "total", "expanded", "team_of_worker", "team_of_node")
    PHASE_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    COLLECTIVE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    EXPANDED_FIELD_NUMBER: _ClassVar[int]
    TEAM_OF_WORKER_FIELD_NUMBER: _ClassVar[int]
    TEAM_OF_NODE_FIELD_NUMBER: _ClassVar[int]
    phase: str
    rows: int
    part: _containers.RepeatedCompositeFieldContainer[PartProto]
    collective: _containers.RepeatedCompositeFieldContainer[CollectiveProto]
    total: _containers.RepeatedScalarFieldContainer[int]
    expanded: _containers.RepeatedScalarFieldContainer[int]
    team_of_worker: _containers.RepeatedScalarFieldContainer[int]
    team_of_node: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, phase: _Optional[str] = ..., rows: _Optional[int] = ..., part: _Optional[_Iterable[_Union[PartProto, _Mapping]]] = ..., collective: _Optional[_Iterable[_Union[CollectiveProto, _Mapping]]] = ..., total: _Optional[_Iterable[int]] = ..., expanded: _Optional[_Iterable[int]] = ..., team_of_worker: _Optional[_Iterable[int]] = ..., team_of_node: _Optional[_Iterable[int]] = ...) -> None: ...

class MicroProto(_message.Message):
    __slots__ = ("graph", "lo", "hi")
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    LO_FIELD_NUMBER: _ClassVar[int]
    HI_FIELD_NUMBER: _ClassVar[int]
    graph: int
    lo: int
    hi: int
    def __init__(self, graph: _Optional[int] = ..., lo: _Optional[int] = ..., hi: _Optional[int] = ...) -> None: ...

class PhaseProto(_message.Message):
    __slots__ = ("phase", "micro")
    PHASE_FIELD_NUMBER: _ClassVar[int]
    MICRO_FIELD_NUMBER: _ClassVar[int]
    phase: str
    micro: _containers.RepeatedCompositeFieldContainer[MicroProto]
    def __init__(self, phase: _Optional[str] = ..., micro: _Optional[_Iterable[_Union[MicroProto, _Mapping]]] = ...) -> None: ...

class BoxProto(_message.Message):
    __slots__ = ("parameter", "box", "part")
    PARAMETER_FIELD_NUMBER: _ClassVar[int]
    BOX_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    parameter: str
    box: _containers.RepeatedScalarFieldContainer[int]
    part: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, parameter: _Optional[str] = ..., box: _Optional[_Iterable[int]] = ..., part: _Optional[_Iterable[int]] = ...) -> None: ...

class BucketProto(_message.Message):
    __slots__ = ("worker", "cell", "sharded")
    WORKER_FIELD_NUMBER: _ClassVar[int]
    CELL_FIELD_NUMBER: _ClassVar[int]
    SHARDED_FIELD_NUMBER: _ClassVar[int]
    worker: _containers.RepeatedScalarFieldContainer[int]
    cell: _containers.RepeatedCompositeFieldContainer[BoxProto]
    sharded: bool
    def __init__(self, worker: _Optional[_Iterable[int]] = ..., cell: _Optional[_Iterable[_Union[BoxProto, _Mapping]]] = ..., sharded: bool = ...) -> None: ...

class PieceProto(_message.Message):
    __slots__ = ("box", "number", "server", "pusher", "puller")
    BOX_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    SERVER_FIELD_NUMBER: _ClassVar[int]
    PUSHER_FIELD_NUMBER: _ClassVar[int]
    PULLER_FIELD_NUMBER: _ClassVar[int]
    box: BoxProto
    number: int
    server: int
    pusher: int
    puller: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, box: _Optional[_Union[BoxProto, _Mapping]] = ..., number: _Optional[int] = ..., server: _Optional[int] = ..., pusher: _Optional[int] = ..., puller: _Optional[_Iterable[int]] = ...) -> None: ...

class PlanProto(_message.Message):
    __slots__ = ("job", "workers", "worker", "graph", "phase", "holding", "bucket", "trained", "norm", "counted", "servers", "piece")
    JOB_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    HOLDING_FIELD_NUMBER: _ClassVar[int]
    BUCKET_FIELD_NUMBER: _ClassVar[int]
    TRAINED_FIELD_NUMBER: _ClassVar[int]
    NORM_FIELD_NUMBER: _ClassVar[int]
    COUNTED_FIELD_NUMBER: _ClassVar[int]
    SERVERS_FIELD_NUMBER: _ClassVar[int]
    PIECE_FIELD_NUMBER: _ClassVar[int]
    job: bytes
    workers: int
    worker: int
    graph: _containers.RepeatedCompositeFieldContainer[GraphProto]
    phase: _containers.RepeatedCompositeFieldContainer[PhaseProto]
    holding: _containers.RepeatedCompositeFieldContainer[BoxProto]
    bucket: _containers.RepeatedCompositeFieldContainer[BucketProto]
    trained: _containers.RepeatedScalarFieldContainer[str]
    norm: _containers.RepeatedScalarFieldContainer[int]
    counted: _containers.RepeatedCompositeFieldContainer[BoxProto]
    servers: int
    piece: _containers.RepeatedCompositeFieldContainer[PieceProto]
    def __init__(self, job: _Optional[bytes] = ..., workers: _Optional[int] = ..., worker: _Optional[int] = ..., graph: _Optional[_Iterable[_Union[GraphProto, _Mapping]]] = ..., phase: _Optional[_Iterable[_Union[PhaseProto, _Mapping]]] = ..., holding: _Optional[_Iterable[_Union[BoxProto, _Mapping]]] = ..., bucket: _Optional[_Iterable[_Union[BucketProto, _Mapping]]] = ..., trained: _Optional[_Iterable[str]] = ..., norm: _Optional[_Iterable[int]] = ..., counted: _Optional[_Iterable[_Union[BoxProto, _Mapping]]] = ..., servers: _Optional[int] = ..., piece: _Optional[_Iterable[_Union[PieceProto, _Mapping]]] = ...) -> None: ...
