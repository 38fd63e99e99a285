# mypy: ignore-errors
from netpart.proto import connection_pb2 as _connection_pb2
from netpart.proto import cut_pb2 as _cut_pb2
from netpart.proto import input_pb2 as _input_pb2
from netpart.proto import neuron_pb2 as _neuron_pb2
from netpart.proto import param_pb2 as _param_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf.internal import python_message as _python_message
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

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

class UnrollConnType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    kUnrollOneToOne: _ClassVar[UnrollConnType]
    kUnrollOneToAll: _ClassVar[UnrollConnType]
    kUnrollFirstToLast: _ClassVar[UnrollConnType]
    kUnrollCustomized: _ClassVar[UnrollConnType]

class LayerType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    kCSVInput: _ClassVar[LayerType]
    kImagePreprocess: _ClassVar[LayerType]
    kRecordInput: _ClassVar[LayerType]
    kLMDBData: _ClassVar[LayerType]
    kLabel: _ClassVar[LayerType]
    kMnist: _ClassVar[LayerType]
    kRGBImage: _ClassVar[LayerType]
    kShardData: _ClassVar[LayerType]
    kCharRNN: _ClassVar[LayerType]
    kRNNLabel: _ClassVar[LayerType]
    kOneHot: _ClassVar[LayerType]
    kSyntheticInput: _ClassVar[LayerType]
    kConvolution: _ClassVar[LayerType]
    kCConvolution: _ClassVar[LayerType]
    kDropout: _ClassVar[LayerType]
    kDummy: _ClassVar[LayerType]
    kInnerProduct: _ClassVar[LayerType]
    kLRN: _ClassVar[LayerType]
    kPooling: _ClassVar[LayerType]
    kCPooling: _ClassVar[LayerType]
    kRBMHid: _ClassVar[LayerType]
    kRBMVis: _ClassVar[LayerType]
    kReLU: _ClassVar[LayerType]
    kSTanh: _ClassVar[LayerType]
    kSigmoid: _ClassVar[LayerType]
    kSoftmax: _ClassVar[LayerType]
    kGRU: _ClassVar[LayerType]
    kEmbedding: _ClassVar[LayerType]
    kActivation: _ClassVar[LayerType]
    kBM: _ClassVar[LayerType]
    kAdd: _ClassVar[LayerType]
    kMul: _ClassVar[LayerType]
    kMax: _ClassVar[LayerType]
    kCudnnConv: _ClassVar[LayerType]
    kCudnnPool: _ClassVar[LayerType]
    kCudnnLRN: _ClassVar[LayerType]
    kCudnnSoftmax: _ClassVar[LayerType]
    kCudnnActivation: _ClassVar[LayerType]
    kCudnnBM: _ClassVar[LayerType]
    kCudnnSoftmaxLoss: _ClassVar[LayerType]
    kEuclideanLoss: _ClassVar[LayerType]
    kSoftmaxLoss: _ClassVar[LayerType]
    kAccuracy: _ClassVar[LayerType]
    kArgSort: _ClassVar[LayerType]
    kCSVOutput: _ClassVar[LayerType]
    kRecordOutput: _ClassVar[LayerType]
    kCharRNNOutput: _ClassVar[LayerType]
    kBridgeDst: _ClassVar[LayerType]
    kBridgeSrc: _ClassVar[LayerType]
    kConcate: _ClassVar[LayerType]
    kSlice: _ClassVar[LayerType]
    kSplit: _ClassVar[LayerType]
    kRNNDummy: _ClassVar[LayerType]
    kSum: _ClassVar[LayerType]
    kUserLayer: _ClassVar[LayerType]
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
kUnrollOneToOne: UnrollConnType
kUnrollOneToAll: UnrollConnType
kUnrollFirstToLast: UnrollConnType
kUnrollCustomized: UnrollConnType
kCSVInput: LayerType
kImagePreprocess: LayerType
kRecordInput: LayerType
kLMDBData: LayerType
kLabel: LayerType
kMnist: LayerType
kRGBImage: LayerType
kShardData: LayerType
kCharRNN: LayerType
kRNNLabel: LayerType
kOneHot: LayerType
kSyntheticInput: LayerType
kConvolution: LayerType
kCConvolution: LayerType
kDropout: LayerType
kDummy: LayerType
kInnerProduct: LayerType
kLRN: LayerType
kPooling: LayerType
kCPooling: LayerType
kRBMHid: LayerType
kRBMVis: LayerType
kReLU: LayerType
kSTanh: LayerType
kSigmoid: LayerType
kSoftmax: LayerType
kGRU: LayerType
kEmbedding: LayerType
kActivation: LayerType
kBM: LayerType
kAdd: LayerType
kMul: LayerType
kMax: LayerType
kCudnnConv: LayerType
kCudnnPool: LayerType
kCudnnLRN: LayerType
kCudnnSoftmax: LayerType
kCudnnActivation: LayerType
kCudnnBM: LayerType
kCudnnSoftmaxLoss: LayerType
kEuclideanLoss: LayerType
kSoftmaxLoss: LayerType
kAccuracy: LayerType
kArgSort: LayerType
kCSVOutput: LayerType
kRecordOutput: LayerType
kCharRNNOutput: LayerType
kBridgeDst: LayerType
kBridgeSrc: LayerType
kConcate: LayerType
kSlice: LayerType
kSplit: LayerType
kRNNDummy: LayerType
kSum: LayerType
kUserLayer: LayerType

class LayerProto(_message.Message):
    __slots__ = ("name", "srclayers", "param", "include", "exclude", "type", "user_type", "share_src_blobs", "unroll_len", "unroll_index", "unroll_conn_type", "shift", "partition_dim", "partition_id", "num_partitions", "store_conf", "lmdbdata_conf", "mnist_conf", "rgbimage_conf", "sharddata_conf", "char_rnn_conf", "onehot_conf", "synthetic_conf", "activation_conf", "convolution_conf", "dropout_conf", "dummy_conf", "innerproduct_conf", "lrn_conf", "pooling_conf", "rbm_conf", "relu_conf", "softmax_conf", "gru_conf", "embedding_conf", "bm_conf", "softmaxloss_conf", "argsort_conf", "concate_conf", "slice_conf", "split_conf", "rnn_dummy_conf", "location", "cut", "remainder")
    Extensions: _python_message._ExtensionDict
    NAME_FIELD_NUMBER: _ClassVar[int]
    SRCLAYERS_FIELD_NUMBER: _ClassVar[int]
    PARAM_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_FIELD_NUMBER: _ClassVar[int]
    EXCLUDE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    USER_TYPE_FIELD_NUMBER: _ClassVar[int]
    SHARE_SRC_BLOBS_FIELD_NUMBER: _ClassVar[int]
    UNROLL_LEN_FIELD_NUMBER: _ClassVar[int]
    UNROLL_INDEX_FIELD_NUMBER: _ClassVar[int]
    UNROLL_CONN_TYPE_FIELD_NUMBER: _ClassVar[int]
    SHIFT_FIELD_NUMBER: _ClassVar[int]
    PARTITION_DIM_FIELD_NUMBER: _ClassVar[int]
    PARTITION_ID_FIELD_NUMBER: _ClassVar[int]
    NUM_PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    STORE_CONF_FIELD_NUMBER: _ClassVar[int]
    LMDBDATA_CONF_FIELD_NUMBER: _ClassVar[int]
    MNIST_CONF_FIELD_NUMBER: _ClassVar[int]
    RGBIMAGE_CONF_FIELD_NUMBER: _ClassVar[int]
    SHARDDATA_CONF_FIELD_NUMBER: _ClassVar[int]
    CHAR_RNN_CONF_FIELD_NUMBER: _ClassVar[int]
    ONEHOT_CONF_FIELD_NUMBER: _ClassVar[int]
    SYNTHETIC_CONF_FIELD_NUMBER: _ClassVar[int]
    ACTIVATION_CONF_FIELD_NUMBER: _ClassVar[int]
    CONVOLUTION_CONF_FIELD_NUMBER: _ClassVar[int]
    DROPOUT_CONF_FIELD_NUMBER: _ClassVar[int]
    DUMMY_CONF_FIELD_NUMBER: _ClassVar[int]
    INNERPRODUCT_CONF_FIELD_NUMBER: _ClassVar[int]
    LRN_CONF_FIELD_NUMBER: _ClassVar[int]
    POOLING_CONF_FIELD_NUMBER: _ClassVar[int]
    RBM_CONF_FIELD_NUMBER: _ClassVar[int]
    RELU_CONF_FIELD_NUMBER: _ClassVar[int]
    SOFTMAX_CONF_FIELD_NUMBER: _ClassVar[int]
    GRU_CONF_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_CONF_FIELD_NUMBER: _ClassVar[int]
    BM_CONF_FIELD_NUMBER: _ClassVar[int]
    SOFTMAXLOSS_CONF_FIELD_NUMBER: _ClassVar[int]
    ARGSORT_CONF_FIELD_NUMBER: _ClassVar[int]
    CONCATE_CONF_FIELD_NUMBER: _ClassVar[int]
    SLICE_CONF_FIELD_NUMBER: _ClassVar[int]
    SPLIT_CONF_FIELD_NUMBER: _ClassVar[int]
    RNN_DUMMY_CONF_FIELD_NUMBER: _ClassVar[int]
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    CUT_FIELD_NUMBER: _ClassVar[int]
    REMAINDER_FIELD_NUMBER: _ClassVar[int]
    name: str
    srclayers: _containers.RepeatedScalarFieldContainer[str]
    param: _containers.RepeatedCompositeFieldContainer[_param_pb2.ParamProto]
    include: _containers.RepeatedScalarFieldContainer[Phase]
    exclude: _containers.RepeatedScalarFieldContainer[Phase]
    type: LayerType
    user_type: str
    share_src_blobs: bool
    unroll_len: int
    unroll_index: int
    unroll_conn_type: _containers.RepeatedScalarFieldContainer[UnrollConnType]
    shift: _containers.RepeatedScalarFieldContainer[int]
    partition_dim: int
    partition_id: int
    num_partitions: int
    store_conf: _input_pb2.StoreProto
    lmdbdata_conf: _input_pb2.DataProto
    mnist_conf: _input_pb2.MnistProto
    rgbimage_conf: _input_pb2.RGBImageProto
    sharddata_conf: _input_pb2.DataProto
    char_rnn_conf: _input_pb2.CharRNNProto
    onehot_conf: _input_pb2.OnehotProto
    synthetic_conf: _input_pb2.SyntheticProto
    activation_conf: _neuron_pb2.ActivationProto
    convolution_conf: _neuron_pb2.ConvolutionProto
    dropout_conf: _neuron_pb2.DropoutProto
    dummy_conf: _neuron_pb2.DummyProto
    innerproduct_conf: _neuron_pb2.InnerProductProto
    lrn_conf: _neuron_pb2.LRNProto
    pooling_conf: _neuron_pb2.PoolingProto
    rbm_conf: _neuron_pb2.RBMProto
    relu_conf: _neuron_pb2.ReLUProto
    softmax_conf: _neuron_pb2.SoftmaxProto
    gru_conf: _neuron_pb2.GRUProto
    embedding_conf: _neuron_pb2.EmbeddingProto
    bm_conf: _neuron_pb2.BMProto
    softmaxloss_conf: _neuron_pb2.SoftmaxLossProto
    argsort_conf: _neuron_pb2.ArgSortProto
    concate_conf: _connection_pb2.ConcateProto
    slice_conf: _connection_pb2.SliceProto
    split_conf: _connection_pb2.SplitProto
    rnn_dummy_conf: _connection_pb2.RNNDummyProto
    location: _containers.RepeatedScalarFieldContainer[int]
    cut: _containers.RepeatedCompositeFieldContainer[_cut_pb2.CutProto]
    remainder: _cut_pb2.Remainder
    def __init__(self, name: _Optional[str] = ..., srclayers: _Optional[_Iterable[str]] = ..., param: _Optional[_Iterable[_Union[_param_pb2.ParamProto, _Mapping]]] = ..., include: _Optional[_Iterable[_Union[Phase, str]]] = ..., exclude: _Optional[_Iterable[_Union[Phase, str]]] = ..., type: _Optional[_Union[LayerType, str]] = ..., user_type: _Optional[str] = ..., share_src_blobs: bool = ..., unroll_len: _Optional[int] = ..., unroll_index: _Optional[int] = ..., unroll_conn_type: _Optional[_Iterable[_Union[UnrollConnType, str]]] = ..., shift: _Optional[_Iterable[int]] = ..., partition_dim: _Optional[int] = ..., partition_id: _Optional[int] = ..., num_partitions: _Optional[int] = ..., store_conf: _Optional[_Union[_input_pb2.StoreProto, _Mapping]] = ..., lmdbdata_conf: _Optional[_Union[_input_pb2.DataProto, _Mapping]] = ..., mnist_conf: _Optional[_Union[_input_pb2.MnistProto, _Mapping]] = ..., rgbimage_conf: _Optional[_Union[_input_pb2.RGBImageProto, _Mapping]] = ..., sharddata_conf: _Optional[_Union[_input_pb2.DataProto, _Mapping]] = ..., char_rnn_conf: _Optional[_Union[_input_pb2.CharRNNProto, _Mapping]] = ..., onehot_conf: _Optional[_Union[_input_pb2.OnehotProto, _Mapping]] = ..., synthetic_conf: _Optional[_Union[_input_pb2.SyntheticProto, _Mapping]] = ..., activation_conf: _Optional[_Union[_neuron_pb2.ActivationProto, _Mapping]] = ..., convolution_conf: _Optional[_Union[_neuron_pb2.ConvolutionProto, _Mapping]] = ..., dropout_conf: _Optional[_Union[_neuron_pb2.DropoutProto, _Mapping]] = ..., dummy_conf: _Optional[_Union[_neuron_pb2.DummyProto, _Mapping]] = ..., innerproduct_conf: _Optional[_Union[_neuron_pb2.InnerProductProto, _Mapping]] = ..., lrn_conf: _Optional[_Union[_neuron_pb2.LRNProto, _Mapping]] = ..., pooling_conf: _Optional[_Union[_neuron_pb2.PoolingProto, _Mapping]] = ..., rbm_conf: _Optional[_Union[_neuron_pb2.RBMProto, _Mapping]] = ..., relu_conf: _Optional[_Union[_neuron_pb2.ReLUProto, _Mapping]] = ..., softmax_conf: _Optional[_Union[_neuron_pb2.SoftmaxProto, _Mapping]] = ..., gru_conf: _Optional[_Union[_neuron_pb2.GRUProto, _Mapping]] = ..., embedding_conf: _Optional[_Union[_neuron_pb2.EmbeddingProto, _Mapping]] = ..., bm_conf: _Optional[_Union[_neuron_pb2.BMProto, _Mapping]] = ..., softmaxloss_conf: _Optional[_Union[_neuron_pb2.SoftmaxLossProto, _Mapping]] = ..., argsort_conf: _Optional[_Union[_neuron_pb2.ArgSortProto, _Mapping]] = ..., concate_conf: _Optional[_Union[_connection_pb2.ConcateProto, _Mapping]] = ..., slice_conf: _Optional[_Union[_connection_pb2.SliceProto, _Mapping]] = ..., split_conf: _Optional[_Union[_connection_pb2.SplitProto, _Mapping]] = ..., rnn_dummy_conf: _Optional[_Union[_connection_pb2.RNNDummyProto, _Mapping]] = ..., location: _Optional[_Iterable[int]] = ..., cut: _Optional[_Iterable[_Union[_cut_pb2.CutProto, _Mapping]]] = ..., remainder: _Optional[_Union[_cut_pb2.Remainder, str]] = ...) -> None: ...
