# mypy: ignore-errors
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf.internal import python_message as _python_message
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class UpdaterType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    kSGD: _ClassVar[UpdaterType]
    kAdaGrad: _ClassVar[UpdaterType]
    kRMSProp: _ClassVar[UpdaterType]
    kNesterov: _ClassVar[UpdaterType]
    kAdaDelta: _ClassVar[UpdaterType]
    kAdam: _ClassVar[UpdaterType]
    kAdamMax: _ClassVar[UpdaterType]
    kUserUpdater: _ClassVar[UpdaterType]

class ChangeMethod(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    kFixed: _ClassVar[ChangeMethod]
    kInverseT: _ClassVar[ChangeMethod]
    kInverse: _ClassVar[ChangeMethod]
    kExponential: _ClassVar[ChangeMethod]
    kLinear: _ClassVar[ChangeMethod]
    kStep: _ClassVar[ChangeMethod]
    kFixedStep: _ClassVar[ChangeMethod]
    kUserChange: _ClassVar[ChangeMethod]
kSGD: UpdaterType
kAdaGrad: UpdaterType
kRMSProp: UpdaterType
kNesterov: UpdaterType
kAdaDelta: UpdaterType
kAdam: UpdaterType
kAdamMax: UpdaterType
kUserUpdater: UpdaterType
kFixed: ChangeMethod
kInverseT: ChangeMethod
kInverse: ChangeMethod
kExponential: ChangeMethod
kLinear: ChangeMethod
kStep: ChangeMethod
kFixedStep: ChangeMethod
kUserChange: ChangeMethod

class UpdaterProto(_message.Message):
    __slots__ = ("type", "user_type", "rmsprop_conf", "adadelta_conf", "adam_conf", "adammax_conf", "learning_rate", "momentum", "weight_decay", "delta", "clip_low", "clip_high")
    Extensions: _python_message._ExtensionDict
    TYPE_FIELD_NUMBER: _ClassVar[int]
    USER_TYPE_FIELD_NUMBER: _ClassVar[int]
    RMSPROP_CONF_FIELD_NUMBER: _ClassVar[int]
    ADADELTA_CONF_FIELD_NUMBER: _ClassVar[int]
    ADAM_CONF_FIELD_NUMBER: _ClassVar[int]
    ADAMMAX_CONF_FIELD_NUMBER: _ClassVar[int]
    LEARNING_RATE_FIELD_NUMBER: _ClassVar[int]
    MOMENTUM_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_DECAY_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    CLIP_LOW_FIELD_NUMBER: _ClassVar[int]
    CLIP_HIGH_FIELD_NUMBER: _ClassVar[int]
    type: UpdaterType
    user_type: str
    rmsprop_conf: RMSPropProto
    adadelta_conf: AdaDeltaProto
    adam_conf: AdamProto
    adammax_conf: AdamMaxProto
    learning_rate: LRGenProto
    momentum: float
    weight_decay: float
    delta: float
    clip_low: float
    clip_high: float
    def __init__(self, type: _Optional[_Union[UpdaterType, str]] = ..., user_type: _Optional[str] = ..., rmsprop_conf: _Optional[_Union[RMSPropProto, _Mapping]] = ..., adadelta_conf: _Optional[_Union[AdaDeltaProto, _Mapping]] = ..., adam_conf: _Optional[_Union[AdamProto, _Mapping]] = ..., adammax_conf: _Optional[_Union[AdamMaxProto, _Mapping]] = ..., learning_rate: _Optional[_Union[LRGenProto, _Mapping]] = ..., momentum: _Optional[float] = ..., weight_decay: _Optional[float] = ..., delta: _Optional[float] = ..., clip_low: _Optional[float] = ..., clip_high: _Optional[float] = ...) -> None: ...

class RMSPropProto(_message.Message):
    __slots__ = ("rho",)
    RHO_FIELD_NUMBER: _ClassVar[int]
    rho: float
    def __init__(self, rho: _Optional[float] = ...) -> None: ...

class AdaDeltaProto(_message.Message):
    __slots__ = ("rho",)
    RHO_FIELD_NUMBER: _ClassVar[int]
    rho: float
    def __init__(self, rho: _Optional[float] = ...) -> None: ...

class AdamProto(_message.Message):
    __slots__ = ("beta1", "beta2")
    BETA1_FIELD_NUMBER: _ClassVar[int]
    BETA2_FIELD_NUMBER: _ClassVar[int]
    beta1: float
    beta2: float
    def __init__(self, beta1: _Optional[float] = ..., beta2: _Optional[float] = ...) -> None: ...

class AdamMaxProto(_message.Message):
    __slots__ = ("beta1", "beta2")
    BETA1_FIELD_NUMBER: _ClassVar[int]
    BETA2_FIELD_NUMBER: _ClassVar[int]
    beta1: float
    beta2: float
    def __init__(self, beta1: _Optional[float] = ..., beta2: _Optional[float] = ...) -> None: ...

class LRGenProto(_message.Message):
    __slots__ = ("type", "user_type", "base_lr", "fixedstep_conf", "step_conf", "linear_conf", "exponential_conf", "inverse_conf", "inverset_conf")
    Extensions: _python_message._ExtensionDict
    TYPE_FIELD_NUMBER: _ClassVar[int]
    USER_TYPE_FIELD_NUMBER: _ClassVar[int]
    BASE_LR_FIELD_NUMBER: _ClassVar[int]
    FIXEDSTEP_CONF_FIELD_NUMBER: _ClassVar[int]
    STEP_CONF_FIELD_NUMBER: _ClassVar[int]
    LINEAR_CONF_FIELD_NUMBER: _ClassVar[int]
    EXPONENTIAL_CONF_FIELD_NUMBER: _ClassVar[int]
    INVERSE_CONF_FIELD_NUMBER: _ClassVar[int]
    INVERSET_CONF_FIELD_NUMBER: _ClassVar[int]
    type: ChangeMethod
    user_type: str
    base_lr: float
    fixedstep_conf: FixedStepProto
    step_conf: StepProto
    linear_conf: LinearProto
    exponential_conf: ExponentialProto
    inverse_conf: InverseProto
    inverset_conf: InverseTProto
    def __init__(self, type: _Optional[_Union[ChangeMethod, str]] = ..., user_type: _Optional[str] = ..., base_lr: _Optional[float] = ..., fixedstep_conf: _Optional[_Union[FixedStepProto, _Mapping]] = ..., step_conf: _Optional[_Union[StepProto, _Mapping]] = ..., linear_conf: _Optional[_Union[LinearProto, _Mapping]] = ..., exponential_conf: _Optional[_Union[ExponentialProto, _Mapping]] = ..., inverse_conf: _Optional[_Union[InverseProto, _Mapping]] = ..., inverset_conf: _Optional[_Union[InverseTProto, _Mapping]] = ...) -> None: ...

class FixedStepProto(_message.Message):
    __slots__ = ("step", "step_lr")
    STEP_FIELD_NUMBER: _ClassVar[int]
    STEP_LR_FIELD_NUMBER: _ClassVar[int]
    step: _containers.RepeatedScalarFieldContainer[int]
    step_lr: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, step: _Optional[_Iterable[int]] = ..., step_lr: _Optional[_Iterable[float]] = ...) -> None: ...

class StepProto(_message.Message):
    __slots__ = ("gamma", "change_freq")
    GAMMA_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FREQ_FIELD_NUMBER: _ClassVar[int]
    gamma: float
    change_freq: int
    def __init__(self, gamma: _Optional[float] = ..., change_freq: _Optional[int] = ...) -> None: ...

class LinearProto(_message.Message):
    __slots__ = ("final_lr", "change_freq")
    FINAL_LR_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FREQ_FIELD_NUMBER: _ClassVar[int]
    final_lr: float
    change_freq: int
    def __init__(self, final_lr: _Optional[float] = ..., change_freq: _Optional[int] = ...) -> None: ...

class ExponentialProto(_message.Message):
    __slots__ = ("change_freq",)
    CHANGE_FREQ_FIELD_NUMBER: _ClassVar[int]
    change_freq: int
    def __init__(self, change_freq: _Optional[int] = ...) -> None: ...

class InverseTProto(_message.Message):
    __slots__ = ("final_lr",)
    FINAL_LR_FIELD_NUMBER: _ClassVar[int]
    final_lr: float
    def __init__(self, final_lr: _Optional[float] = ...) -> None: ...

class InverseProto(_message.Message):
    __slots__ = ("gamma", "pow")
    GAMMA_FIELD_NUMBER: _ClassVar[int]
    POW_FIELD_NUMBER: _ClassVar[int]
    gamma: float
    pow: float
    def __init__(self, gamma: _Optional[float] = ..., pow: _Optional[float] = ...) -> None: ...
