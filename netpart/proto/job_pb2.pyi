# mypy: ignore-errors
from netpart.proto import connection_pb2 as _connection_pb2
from netpart.proto import cut_pb2 as _cut_pb2
from netpart.proto import device_pb2 as _device_pb2
from netpart.proto import input_pb2 as _input_pb2
from netpart.proto import layer_pb2 as _layer_pb2
from netpart.proto import neuron_pb2 as _neuron_pb2
from netpart.proto import param_pb2 as _param_pb2
from netpart.proto import phase_pb2 as _phase_pb2
from netpart.proto import record_pb2 as _record_pb2
from netpart.proto import updater_pb2 as _updater_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf.internal import python_message as _python_message
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union
from netpart.proto.connection_pb2 import ConcateProto as ConcateProto
from netpart.proto.connection_pb2 import SliceProto as SliceProto
from netpart.proto.connection_pb2 import SplitProto as SplitProto
from netpart.proto.connection_pb2 import RNNDummyProto as RNNDummyProto
from netpart.proto.cut_pb2 import CutProto as CutProto
from netpart.proto.cut_pb2 import Remainder as Remainder
from netpart.proto.cut_pb2 import Scheme as Scheme
from netpart.proto.device_pb2 import DeviceProto as DeviceProto
from netpart.proto.device_pb2 import LinkProto as LinkProto
from netpart.proto.device_pb2 import HostProto as HostProto
from netpart.proto.input_pb2 import StoreProto as StoreProto
from netpart.proto.input_pb2 import SyntheticProto as SyntheticProto
from netpart.proto.input_pb2 import TextProto as TextProto
from netpart.proto.input_pb2 import NiftiProto as NiftiProto
from netpart.proto.input_pb2 import ImageProto as ImageProto
from netpart.proto.input_pb2 import TarProto as TarProto
from netpart.proto.input_pb2 import ArrayProto as ArrayProto
from netpart.proto.input_pb2 import TokenProto as TokenProto
from netpart.proto.input_pb2 import CharRNNProto as CharRNNProto
from netpart.proto.input_pb2 import OnehotProto as OnehotProto
from netpart.proto.input_pb2 import DataProto as DataProto
from netpart.proto.input_pb2 import MnistProto as MnistProto
from netpart.proto.input_pb2 import RGBImageProto as RGBImageProto
from netpart.proto.layer_pb2 import ShardProto as ShardProto
from netpart.proto.layer_pb2 import LayerProto as LayerProto
from netpart.proto.layer_pb2 import LetProto as LetProto
from netpart.proto.layer_pb2 import LayerBlockProto as LayerBlockProto
from netpart.proto.layer_pb2 import BlockUseProto as BlockUseProto
from netpart.proto.layer_pb2 import UnrollConnType as UnrollConnType
from netpart.proto.layer_pb2 import LayerType as LayerType
from netpart.proto.neuron_pb2 import ActivationProto as ActivationProto
from netpart.proto.neuron_pb2 import ConvolutionProto as ConvolutionProto
from netpart.proto.neuron_pb2 import PoolingProto as PoolingProto
from netpart.proto.neuron_pb2 import GlobalPoolingProto as GlobalPoolingProto
from netpart.proto.neuron_pb2 import UpsamplingProto as UpsamplingProto
from netpart.proto.neuron_pb2 import NormProto as NormProto
from netpart.proto.neuron_pb2 import MatmulProto as MatmulProto
from netpart.proto.neuron_pb2 import AttentionProto as AttentionProto
from netpart.proto.neuron_pb2 import RotaryProto as RotaryProto
from netpart.proto.neuron_pb2 import ReshapeProto as ReshapeProto
from netpart.proto.neuron_pb2 import TransposeProto as TransposeProto
from netpart.proto.neuron_pb2 import CropProto as CropProto
from netpart.proto.neuron_pb2 import InnerProductProto as InnerProductProto
from netpart.proto.neuron_pb2 import LRNProto as LRNProto
from netpart.proto.neuron_pb2 import ReLUProto as ReLUProto
from netpart.proto.neuron_pb2 import DropoutProto as DropoutProto
from netpart.proto.neuron_pb2 import BMProto as BMProto
from netpart.proto.neuron_pb2 import SoftmaxProto as SoftmaxProto
from netpart.proto.neuron_pb2 import EmbeddingProto as EmbeddingProto
from netpart.proto.neuron_pb2 import GRUProto as GRUProto
from netpart.proto.neuron_pb2 import RBMProto as RBMProto
from netpart.proto.neuron_pb2 import DummyProto as DummyProto
from netpart.proto.neuron_pb2 import SoftmaxLossProto as SoftmaxLossProto
from netpart.proto.neuron_pb2 import LossProto as LossProto
from netpart.proto.neuron_pb2 import ArgSortProto as ArgSortProto
from netpart.proto.param_pb2 import ParamGenProto as ParamGenProto
from netpart.proto.param_pb2 import ParamProto as ParamProto
from netpart.proto.param_pb2 import UniformProto as UniformProto
from netpart.proto.param_pb2 import GaussianProto as GaussianProto
from netpart.proto.param_pb2 import InitMethod as InitMethod
from netpart.proto.param_pb2 import ParamType as ParamType
from netpart.proto.phase_pb2 import Phase as Phase
from netpart.proto.record_pb2 import RecordProto as RecordProto
from netpart.proto.record_pb2 import Record as Record
from netpart.proto.record_pb2 import Datum as Datum
from netpart.proto.record_pb2 import BlobProto as BlobProto
from netpart.proto.record_pb2 import BlobProtos as BlobProtos
from netpart.proto.updater_pb2 import UpdaterProto as UpdaterProto
from netpart.proto.updater_pb2 import RMSPropProto as RMSPropProto
from netpart.proto.updater_pb2 import AdaDeltaProto as AdaDeltaProto
from netpart.proto.updater_pb2 import AdamProto as AdamProto
from netpart.proto.updater_pb2 import AdamWProto as AdamWProto
from netpart.proto.updater_pb2 import AdamMaxProto as AdamMaxProto
from netpart.proto.updater_pb2 import LRGenProto as LRGenProto
from netpart.proto.updater_pb2 import FixedStepProto as FixedStepProto
from netpart.proto.updater_pb2 import StepProto as StepProto
from netpart.proto.updater_pb2 import LinearProto as LinearProto
from netpart.proto.updater_pb2 import ExponentialProto as ExponentialProto
from netpart.proto.updater_pb2 import InverseTProto as InverseTProto
from netpart.proto.updater_pb2 import InverseProto as InverseProto
from netpart.proto.updater_pb2 import CosineProto as CosineProto
from netpart.proto.updater_pb2 import OneCycleProto as OneCycleProto
from netpart.proto.updater_pb2 import Improvement as Improvement
from netpart.proto.updater_pb2 import PlateauProto as PlateauProto
from netpart.proto.updater_pb2 import UpdaterType as UpdaterType
from netpart.proto.updater_pb2 import ChangeMethod as ChangeMethod

DESCRIPTOR: _descriptor.FileDescriptor
LAST: _cut_pb2.Remainder
SPREAD: _cut_pb2.Remainder
AS_WRITTEN: _cut_pb2.Scheme
SEQUENTIAL: _cut_pb2.Scheme
NAIVE: _cut_pb2.Scheme
GATHER_SCATTER: _cut_pb2.Scheme
ALTSPLIT: _cut_pb2.Scheme
COLUMN_ROW: _cut_pb2.Scheme
DATA: _cut_pb2.Scheme
ONE_WEIRD_TRICK: _cut_pb2.Scheme
PIPELINE: _cut_pb2.Scheme
OPTIMAL: _cut_pb2.Scheme
kUnrollOneToOne: _layer_pb2.UnrollConnType
kUnrollOneToAll: _layer_pb2.UnrollConnType
kUnrollFirstToLast: _layer_pb2.UnrollConnType
kUnrollCustomized: _layer_pb2.UnrollConnType
kCSVInput: _layer_pb2.LayerType
kImagePreprocess: _layer_pb2.LayerType
kRecordInput: _layer_pb2.LayerType
kLMDBData: _layer_pb2.LayerType
kLabel: _layer_pb2.LayerType
kMnist: _layer_pb2.LayerType
kRGBImage: _layer_pb2.LayerType
kShardData: _layer_pb2.LayerType
kCharRNN: _layer_pb2.LayerType
kRNNLabel: _layer_pb2.LayerType
kOneHot: _layer_pb2.LayerType
kSyntheticInput: _layer_pb2.LayerType
kSyntheticMasks: _layer_pb2.LayerType
kSyntheticTokens: _layer_pb2.LayerType
kTextInput: _layer_pb2.LayerType
kNiftiInput: _layer_pb2.LayerType
kImageInput: _layer_pb2.LayerType
kTarInput: _layer_pb2.LayerType
kArrayInput: _layer_pb2.LayerType
kTokenInput: _layer_pb2.LayerType
kConvolution: _layer_pb2.LayerType
kCConvolution: _layer_pb2.LayerType
kDropout: _layer_pb2.LayerType
kDummy: _layer_pb2.LayerType
kInnerProduct: _layer_pb2.LayerType
kLRN: _layer_pb2.LayerType
kPooling: _layer_pb2.LayerType
kCPooling: _layer_pb2.LayerType
kRBMHid: _layer_pb2.LayerType
kRBMVis: _layer_pb2.LayerType
kReLU: _layer_pb2.LayerType
kSTanh: _layer_pb2.LayerType
kSigmoid: _layer_pb2.LayerType
kSoftmax: _layer_pb2.LayerType
kGRU: _layer_pb2.LayerType
kEmbedding: _layer_pb2.LayerType
kActivation: _layer_pb2.LayerType
kBM: _layer_pb2.LayerType
kAdd: _layer_pb2.LayerType
kMul: _layer_pb2.LayerType
kMax: _layer_pb2.LayerType
kFlatten: _layer_pb2.LayerType
kReshape: _layer_pb2.LayerType
kTranspose: _layer_pb2.LayerType
kGlobalPooling: _layer_pb2.LayerType
kTransposedConvolution: _layer_pb2.LayerType
kUpsampling: _layer_pb2.LayerType
kLayerNorm: _layer_pb2.LayerType
kRMSNorm: _layer_pb2.LayerType
kGroupNorm: _layer_pb2.LayerType
kMatmul: _layer_pb2.LayerType
kAttention: _layer_pb2.LayerType
kPositions: _layer_pb2.LayerType
kRotary: _layer_pb2.LayerType
kCrop: _layer_pb2.LayerType
kClassToken: _layer_pb2.LayerType
kGate: _layer_pb2.LayerType
kCudnnConv: _layer_pb2.LayerType
kCudnnPool: _layer_pb2.LayerType
kCudnnLRN: _layer_pb2.LayerType
kCudnnSoftmax: _layer_pb2.LayerType
kCudnnActivation: _layer_pb2.LayerType
kCudnnBM: _layer_pb2.LayerType
kCudnnSoftmaxLoss: _layer_pb2.LayerType
kEuclideanLoss: _layer_pb2.LayerType
kSoftmaxLoss: _layer_pb2.LayerType
kBinaryLoss: _layer_pb2.LayerType
kL1Loss: _layer_pb2.LayerType
kHuberLoss: _layer_pb2.LayerType
kAccuracy: _layer_pb2.LayerType
kConfusion: _layer_pb2.LayerType
kArgSort: _layer_pb2.LayerType
kCSVOutput: _layer_pb2.LayerType
kRecordOutput: _layer_pb2.LayerType
kCharRNNOutput: _layer_pb2.LayerType
kBridgeDst: _layer_pb2.LayerType
kBridgeSrc: _layer_pb2.LayerType
kConcate: _layer_pb2.LayerType
kSlice: _layer_pb2.LayerType
kSplit: _layer_pb2.LayerType
kRNNDummy: _layer_pb2.LayerType
kSum: _layer_pb2.LayerType
kBlock: _layer_pb2.LayerType
kUserLayer: _layer_pb2.LayerType
kConstant: _param_pb2.InitMethod
kGaussian: _param_pb2.InitMethod
kUniform: _param_pb2.InitMethod
kGaussianSqrtFanIn: _param_pb2.InitMethod
kUniformSqrtFanIn: _param_pb2.InitMethod
kUniformSqrtFanInOut: _param_pb2.InitMethod
kUserInit: _param_pb2.InitMethod
kParam: _param_pb2.ParamType
kUser: _param_pb2.ParamType
kUnknown: _phase_pb2.Phase
kTrain: _phase_pb2.Phase
kVal: _phase_pb2.Phase
kTest: _phase_pb2.Phase
kPositive: _phase_pb2.Phase
kNegative: _phase_pb2.Phase
kForward: _phase_pb2.Phase
kBackward: _phase_pb2.Phase
kLoss: _phase_pb2.Phase
kDeploy: _phase_pb2.Phase
kAggGrad: _phase_pb2.Phase
kSGD: _updater_pb2.UpdaterType
kAdaGrad: _updater_pb2.UpdaterType
kRMSProp: _updater_pb2.UpdaterType
kNesterov: _updater_pb2.UpdaterType
kAdaDelta: _updater_pb2.UpdaterType
kAdam: _updater_pb2.UpdaterType
kAdamMax: _updater_pb2.UpdaterType
kUserUpdater: _updater_pb2.UpdaterType
kAdamW: _updater_pb2.UpdaterType
kFixed: _updater_pb2.ChangeMethod
kInverseT: _updater_pb2.ChangeMethod
kInverse: _updater_pb2.ChangeMethod
kExponential: _updater_pb2.ChangeMethod
kLinear: _updater_pb2.ChangeMethod
kStep: _updater_pb2.ChangeMethod
kFixedStep: _updater_pb2.ChangeMethod
kUserChange: _updater_pb2.ChangeMethod
kCosine: _updater_pb2.ChangeMethod
kOneCycle: _updater_pb2.ChangeMethod
kPlateau: _updater_pb2.ChangeMethod

class AlgType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    kBP: _ClassVar[AlgType]
    kCD: _ClassVar[AlgType]
    kBPTT: _ClassVar[AlgType]
    kUserAlg: _ClassVar[AlgType]
kBP: AlgType
kCD: AlgType
kBPTT: AlgType
kUserAlg: AlgType

class JobProto(_message.Message):
    __slots__ = ("name", "neuralnet", "train_one_batch", "updater", "cluster", "train_steps", "disp_freq", "gpu", "test_freq", "test_steps", "validate_freq", "validate_steps", "checkpoint_freq", "checkpoint_path", "warmup_steps", "debug", "reset_param_version", "num_openblas_threads", "checkpoint_after", "disp_after", "test_after", "validate_after", "resume", "step", "id", "seed", "dtype", "device", "deadline", "bucket_bytes", "collectives", "kernels", "shard_updates", "precision", "checkpoint_keep", "data_cache", "early_stop", "checkpoint_best", "elastic")
    Extensions: _python_message._ExtensionDict
    class DType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        FLOAT32: _ClassVar[JobProto.DType]
        FLOAT64: _ClassVar[JobProto.DType]
    FLOAT32: JobProto.DType
    FLOAT64: JobProto.DType
    class Device(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        AUTO: _ClassVar[JobProto.Device]
        CPU: _ClassVar[JobProto.Device]
        CUDA: _ClassVar[JobProto.Device]
    AUTO: JobProto.Device
    CPU: JobProto.Device
    CUDA: JobProto.Device
    NAME_FIELD_NUMBER: _ClassVar[int]
    NEURALNET_FIELD_NUMBER: _ClassVar[int]
    TRAIN_ONE_BATCH_FIELD_NUMBER: _ClassVar[int]
    UPDATER_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    TRAIN_STEPS_FIELD_NUMBER: _ClassVar[int]
    DISP_FREQ_FIELD_NUMBER: _ClassVar[int]
    GPU_FIELD_NUMBER: _ClassVar[int]
    TEST_FREQ_FIELD_NUMBER: _ClassVar[int]
    TEST_STEPS_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_FREQ_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_STEPS_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FREQ_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_PATH_FIELD_NUMBER: _ClassVar[int]
    WARMUP_STEPS_FIELD_NUMBER: _ClassVar[int]
    DEBUG_FIELD_NUMBER: _ClassVar[int]
    RESET_PARAM_VERSION_FIELD_NUMBER: _ClassVar[int]
    NUM_OPENBLAS_THREADS_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_AFTER_FIELD_NUMBER: _ClassVar[int]
    DISP_AFTER_FIELD_NUMBER: _ClassVar[int]
    TEST_AFTER_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_AFTER_FIELD_NUMBER: _ClassVar[int]
    RESUME_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    BUCKET_BYTES_FIELD_NUMBER: _ClassVar[int]
    COLLECTIVES_FIELD_NUMBER: _ClassVar[int]
    KERNELS_FIELD_NUMBER: _ClassVar[int]
    SHARD_UPDATES_FIELD_NUMBER: _ClassVar[int]
    PRECISION_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_KEEP_FIELD_NUMBER: _ClassVar[int]
    DATA_CACHE_FIELD_NUMBER: _ClassVar[int]
    EARLY_STOP_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_BEST_FIELD_NUMBER: _ClassVar[int]
    ELASTIC_FIELD_NUMBER: _ClassVar[int]
    name: str
    neuralnet: NetProto
    train_one_batch: AlgProto
    updater: _updater_pb2.UpdaterProto
    cluster: ClusterProto
    train_steps: int
    disp_freq: int
    gpu: _containers.RepeatedScalarFieldContainer[int]
    test_freq: int
    test_steps: int
    validate_freq: int
    validate_steps: int
    checkpoint_freq: int
    checkpoint_path: _containers.RepeatedScalarFieldContainer[str]
    warmup_steps: int
    debug: bool
    reset_param_version: bool
    num_openblas_threads: int
    checkpoint_after: int
    disp_after: int
    test_after: int
    validate_after: int
    resume: bool
    step: int
    id: int
    seed: int
    dtype: JobProto.DType
    device: JobProto.Device
    deadline: float
    bucket_bytes: int
    collectives: Collectives.Algorithm
    kernels: KernelSet.Name
    shard_updates: Sharding.Updates
    precision: Products.Precision
    checkpoint_keep: int
    data_cache: DataCacheProto
    early_stop: EarlyStopProto
    checkpoint_best: str
    elastic: ElasticProto
    def __init__(self, name: _Optional[str] = ..., neuralnet: _Optional[_Union[NetProto, _Mapping]] = ..., train_one_batch: _Optional[_Union[AlgProto, _Mapping]] = ..., updater: _Optional[_Union[_updater_pb2.UpdaterProto, _Mapping]] = ..., cluster: _Optional[_Union[ClusterProto, _Mapping]] = ..., train_steps: _Optional[int] = ..., disp_freq: _Optional[int] = ..., gpu: _Optional[_Iterable[int]] = ..., test_freq: _Optional[int] = ..., test_steps: _Optional[int] = ..., validate_freq: _Optional[int] = ..., validate_steps: _Optional[int] = ..., checkpoint_freq: _Optional[int] = ..., checkpoint_path: _Optional[_Iterable[str]] = ..., warmup_steps: _Optional[int] = ..., debug: bool = ..., reset_param_version: bool = ..., num_openblas_threads: _Optional[int] = ..., checkpoint_after: _Optional[int] = ..., disp_after: _Optional[int] = ..., test_after: _Optional[int] = ..., validate_after: _Optional[int] = ..., resume: bool = ..., step: _Optional[int] = ..., id: _Optional[int] = ..., seed: _Optional[int] = ..., dtype: _Optional[_Union[JobProto.DType, str]] = ..., device: _Optional[_Union[JobProto.Device, str]] = ..., deadline: _Optional[float] = ..., bucket_bytes: _Optional[int] = ..., collectives: _Optional[_Union[Collectives.Algorithm, str]] = ..., kernels: _Optional[_Union[KernelSet.Name, str]] = ..., shard_updates: _Optional[_Union[Sharding.Updates, str]] = ..., precision: _Optional[_Union[Products.Precision, str]] = ..., checkpoint_keep: _Optional[int] = ..., data_cache: _Optional[_Union[DataCacheProto, _Mapping]] = ..., early_stop: _Optional[_Union[EarlyStopProto, _Mapping]] = ..., checkpoint_best: _Optional[str] = ..., elastic: _Optional[_Union[ElasticProto, _Mapping]] = ...) -> None: ...

class ElasticProto(_message.Message):
    __slots__ = ("min_workers", "max_workers", "snapshot_freq")
    MIN_WORKERS_FIELD_NUMBER: _ClassVar[int]
    MAX_WORKERS_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FREQ_FIELD_NUMBER: _ClassVar[int]
    min_workers: int
    max_workers: int
    snapshot_freq: int
    def __init__(self, min_workers: _Optional[int] = ..., max_workers: _Optional[int] = ..., snapshot_freq: _Optional[int] = ...) -> None: ...

class DataCacheProto(_message.Message):
    __slots__ = ("mib", "folder", "deadline")
    MIB_FIELD_NUMBER: _ClassVar[int]
    FOLDER_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    mib: int
    folder: str
    deadline: float
    def __init__(self, mib: _Optional[int] = ..., folder: _Optional[str] = ..., deadline: _Optional[float] = ...) -> None: ...

class EarlyStopProto(_message.Message):
    __slots__ = ("metric", "patience", "least_change", "mode", "phase")
    METRIC_FIELD_NUMBER: _ClassVar[int]
    PATIENCE_FIELD_NUMBER: _ClassVar[int]
    LEAST_CHANGE_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    metric: str
    patience: int
    least_change: float
    mode: _updater_pb2.Improvement.Mode
    phase: _phase_pb2.Phase
    def __init__(self, metric: _Optional[str] = ..., patience: _Optional[int] = ..., least_change: _Optional[float] = ..., mode: _Optional[_Union[_updater_pb2.Improvement.Mode, str]] = ..., phase: _Optional[_Union[_phase_pb2.Phase, str]] = ...) -> None: ...

class KernelSet(_message.Message):
    __slots__ = ()
    class Name(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        AUTO: _ClassVar[KernelSet.Name]
        REFERENCE: _ClassVar[KernelSet.Name]
        ONEDNN: _ClassVar[KernelSet.Name]
        CUDA: _ClassVar[KernelSet.Name]
    AUTO: KernelSet.Name
    REFERENCE: KernelSet.Name
    ONEDNN: KernelSet.Name
    CUDA: KernelSet.Name
    def __init__(self) -> None: ...

class Products(_message.Message):
    __slots__ = ()
    class Precision(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        FLOAT32: _ClassVar[Products.Precision]
        TF32: _ClassVar[Products.Precision]
        BFLOAT16: _ClassVar[Products.Precision]
    FLOAT32: Products.Precision
    TF32: Products.Precision
    BFLOAT16: Products.Precision
    def __init__(self) -> None: ...

class Collectives(_message.Message):
    __slots__ = ()
    class Algorithm(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        AUTO: _ClassVar[Collectives.Algorithm]
        RING: _ClassVar[Collectives.Algorithm]
        DOUBLING: _ClassVar[Collectives.Algorithm]
        TREE: _ClassVar[Collectives.Algorithm]
        DIRECT: _ClassVar[Collectives.Algorithm]
        NCCL: _ClassVar[Collectives.Algorithm]
        HIERARCHICAL: _ClassVar[Collectives.Algorithm]
    AUTO: Collectives.Algorithm
    RING: Collectives.Algorithm
    DOUBLING: Collectives.Algorithm
    TREE: Collectives.Algorithm
    DIRECT: Collectives.Algorithm
    NCCL: Collectives.Algorithm
    HIERARCHICAL: Collectives.Algorithm
    def __init__(self) -> None: ...

class Sharding(_message.Message):
    __slots__ = ()
    class Updates(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        AUTO: _ClassVar[Sharding.Updates]
        YES: _ClassVar[Sharding.Updates]
        NO: _ClassVar[Sharding.Updates]
    AUTO: Sharding.Updates
    YES: Sharding.Updates
    NO: Sharding.Updates
    def __init__(self) -> None: ...

class AlgProto(_message.Message):
    __slots__ = ("alg", "user_alg", "cd_conf")
    Extensions: _python_message._ExtensionDict
    ALG_FIELD_NUMBER: _ClassVar[int]
    USER_ALG_FIELD_NUMBER: _ClassVar[int]
    CD_CONF_FIELD_NUMBER: _ClassVar[int]
    alg: AlgType
    user_alg: str
    cd_conf: CDProto
    def __init__(self, alg: _Optional[_Union[AlgType, str]] = ..., user_alg: _Optional[str] = ..., cd_conf: _Optional[_Union[CDProto, _Mapping]] = ...) -> None: ...

class CDProto(_message.Message):
    __slots__ = ("cd_k",)
    Extensions: _python_message._ExtensionDict
    CD_K_FIELD_NUMBER: _ClassVar[int]
    cd_k: int
    def __init__(self, cd_k: _Optional[int] = ...) -> None: ...

class NetProto(_message.Message):
    __slots__ = ("layer", "partition_dim", "layer_group", "unroll_len", "scheme", "micro_batches", "remainder", "replicas", "schedule", "stages", "recompute", "user_scheme", "block", "let", "include")
    Extensions: _python_message._ExtensionDict
    LAYER_FIELD_NUMBER: _ClassVar[int]
    PARTITION_DIM_FIELD_NUMBER: _ClassVar[int]
    LAYER_GROUP_FIELD_NUMBER: _ClassVar[int]
    UNROLL_LEN_FIELD_NUMBER: _ClassVar[int]
    SCHEME_FIELD_NUMBER: _ClassVar[int]
    MICRO_BATCHES_FIELD_NUMBER: _ClassVar[int]
    REMAINDER_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    STAGES_FIELD_NUMBER: _ClassVar[int]
    RECOMPUTE_FIELD_NUMBER: _ClassVar[int]
    USER_SCHEME_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    LET_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_FIELD_NUMBER: _ClassVar[int]
    layer: _containers.RepeatedCompositeFieldContainer[_layer_pb2.LayerProto]
    partition_dim: int
    layer_group: _containers.RepeatedCompositeFieldContainer[LayerGroupProto]
    unroll_len: int
    scheme: _cut_pb2.Scheme
    micro_batches: int
    remainder: _cut_pb2.Remainder
    replicas: int
    schedule: Schedule.Order
    stages: int
    recompute: bool
    user_scheme: str
    block: _containers.RepeatedCompositeFieldContainer[_layer_pb2.LayerBlockProto]
    let: _containers.RepeatedCompositeFieldContainer[_layer_pb2.LetProto]
    include: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, layer: _Optional[_Iterable[_Union[_layer_pb2.LayerProto, _Mapping]]] = ..., partition_dim: _Optional[int] = ..., layer_group: _Optional[_Iterable[_Union[LayerGroupProto, _Mapping]]] = ..., unroll_len: _Optional[int] = ..., scheme: _Optional[_Union[_cut_pb2.Scheme, str]] = ..., micro_batches: _Optional[int] = ..., remainder: _Optional[_Union[_cut_pb2.Remainder, str]] = ..., replicas: _Optional[int] = ..., schedule: _Optional[_Union[Schedule.Order, str]] = ..., stages: _Optional[int] = ..., recompute: bool = ..., user_scheme: _Optional[str] = ..., block: _Optional[_Iterable[_Union[_layer_pb2.LayerBlockProto, _Mapping]]] = ..., let: _Optional[_Iterable[_Union[_layer_pb2.LetProto, _Mapping]]] = ..., include: _Optional[_Iterable[str]] = ...) -> None: ...

class Schedule(_message.Message):
    __slots__ = ()
    class Order(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        ONE_F_ONE_B: _ClassVar[Schedule.Order]
        GPIPE: _ClassVar[Schedule.Order]
        DELAYED: _ClassVar[Schedule.Order]
    ONE_F_ONE_B: Schedule.Order
    GPIPE: Schedule.Order
    DELAYED: Schedule.Order
    def __init__(self) -> None: ...

class LayerGroupProto(_message.Message):
    __slots__ = ("layer",)
    LAYER_FIELD_NUMBER: _ClassVar[int]
    layer: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, layer: _Optional[_Iterable[str]] = ...) -> None: ...

class ClusterProto(_message.Message):
    __slots__ = ("nworker_groups", "nserver_groups", "nworkers_per_group", "nservers_per_group", "nworkers_per_procs", "nservers_per_procs", "workspace", "server_worker_separate", "sync_freq", "start_port", "share_memory", "poll_time", "device", "link", "staleness", "in_turns", "host")
    Extensions: _python_message._ExtensionDict
    NWORKER_GROUPS_FIELD_NUMBER: _ClassVar[int]
    NSERVER_GROUPS_FIELD_NUMBER: _ClassVar[int]
    NWORKERS_PER_GROUP_FIELD_NUMBER: _ClassVar[int]
    NSERVERS_PER_GROUP_FIELD_NUMBER: _ClassVar[int]
    NWORKERS_PER_PROCS_FIELD_NUMBER: _ClassVar[int]
    NSERVERS_PER_PROCS_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_FIELD_NUMBER: _ClassVar[int]
    SERVER_WORKER_SEPARATE_FIELD_NUMBER: _ClassVar[int]
    SYNC_FREQ_FIELD_NUMBER: _ClassVar[int]
    START_PORT_FIELD_NUMBER: _ClassVar[int]
    SHARE_MEMORY_FIELD_NUMBER: _ClassVar[int]
    POLL_TIME_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    STALENESS_FIELD_NUMBER: _ClassVar[int]
    IN_TURNS_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    nworker_groups: int
    nserver_groups: int
    nworkers_per_group: int
    nservers_per_group: int
    nworkers_per_procs: int
    nservers_per_procs: int
    workspace: str
    server_worker_separate: bool
    sync_freq: int
    start_port: int
    share_memory: bool
    poll_time: int
    device: _containers.RepeatedCompositeFieldContainer[_device_pb2.DeviceProto]
    link: _containers.RepeatedCompositeFieldContainer[_device_pb2.LinkProto]
    staleness: int
    in_turns: bool
    host: _containers.RepeatedCompositeFieldContainer[_device_pb2.HostProto]
    def __init__(self, nworker_groups: _Optional[int] = ..., nserver_groups: _Optional[int] = ..., nworkers_per_group: _Optional[int] = ..., nservers_per_group: _Optional[int] = ..., nworkers_per_procs: _Optional[int] = ..., nservers_per_procs: _Optional[int] = ..., workspace: _Optional[str] = ..., server_worker_separate: bool = ..., sync_freq: _Optional[int] = ..., start_port: _Optional[int] = ..., share_memory: bool = ..., poll_time: _Optional[int] = ..., device: _Optional[_Iterable[_Union[_device_pb2.DeviceProto, _Mapping]]] = ..., link: _Optional[_Iterable[_Union[_device_pb2.LinkProto, _Mapping]]] = ..., staleness: _Optional[int] = ..., in_turns: bool = ..., host: _Optional[_Iterable[_Union[_device_pb2.HostProto, _Mapping]]] = ...) -> None: ...
