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
    kAdamW: _ClassVar[UpdaterType]

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
    kCosine: _ClassVar[ChangeMethod]
    kOneCycle: _ClassVar[ChangeMethod]
    kPlateau: _ClassVar[ChangeMethod]
kSGD: UpdaterType
kAdaGrad: UpdaterType
kRMSProp: UpdaterType
kNesterov: UpdaterType
kAdaDelta: UpdaterType
kAdam: UpdaterType
kAdamMax: UpdaterType
kUserUpdater: UpdaterType
kAdamW: UpdaterType
kFixed: ChangeMethod
kInverseT: ChangeMethod
kInverse: ChangeMethod
kExponential: ChangeMethod
kLinear: ChangeMethod
kStep: ChangeMethod
kFixedStep: ChangeMethod
kUserChange: ChangeMethod
kCosine: ChangeMethod
kOneCycle: ChangeMethod
kPlateau: ChangeMethod

class UpdaterProto(_message.Message):
    __slots__ = ("type", "user_type", "rmsprop_conf", "adadelta_conf", "adam_conf", "adammax_conf", "learning_rate", "momentum", "weight_decay", "delta", "clip_low", "clip_high", "adamw_conf", "clip_norm", "ema_decay", "ema_warmup", "ema_eval", "ema_start", "delta_outside_root")
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
    ADAMW_CONF_FIELD_NUMBER: _ClassVar[int]
    CLIP_NORM_FIELD_NUMBER: _ClassVar[int]
    EMA_DECAY_FIELD_NUMBER: _ClassVar[int]
    EMA_WARMUP_FIELD_NUMBER: _ClassVar[int]
    EMA_EVAL_FIELD_NUMBER: _ClassVar[int]
    EMA_START_FIELD_NUMBER: _ClassVar[int]
    DELTA_OUTSIDE_ROOT_FIELD_NUMBER: _ClassVar[int]
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
    adamw_conf: AdamWProto
    clip_norm: float
    ema_decay: float
    ema_warmup: bool
    ema_eval: bool
    ema_start: bool
    delta_outside_root: bool
    def __init__(self, type: _Optional[_Union[UpdaterType, str]] = ..., user_type: _Optional[str] = ..., rmsprop_conf: _Optional[_Union[RMSPropProto, _Mapping]] = ..., adadelta_conf: _Optional[_Union[AdaDeltaProto, _Mapping]] = ..., adam_conf: _Optional[_Union[AdamProto, _Mapping]] = ..., adammax_conf: _Optional[_Union[AdamMaxProto, _Mapping]] = ..., learning_rate: _Optional[_Union[LRGenProto, _Mapping]] = ..., momentum: _Optional[float] = ..., weight_decay: _Optional[float] = ..., delta: _Optional[float] = ..., clip_low: _Optional[float] = ..., clip_high: _Optional[float] = ..., adamw_conf: _Optional[_Union[AdamWProto, _Mapping]] = ..., clip_norm: _Optional[float] = ..., ema_decay: _Optional[float] = ..., ema_warmup: bool = ..., ema_eval: bool = ..., ema_start: bool = ..., delta_outside_root: bool = ...) -> None: ...

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
    __slots__ = ("beta1", "beta2", "bias_correction")
    BETA1_FIELD_NUMBER: _ClassVar[int]
    BETA2_FIELD_NUMBER: _ClassVar[int]
    BIAS_CORRECTION_FIELD_NUMBER: _ClassVar[int]
    beta1: float
    beta2: float
    bias_correction: bool
    def __init__(self, beta1: _Optional[float] = ..., beta2: _Optional[float] = ..., bias_correction: bool = ...) -> None: ...

class AdamWProto(_message.Message):
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
    __slots__ = ("type", "user_type", "base_lr", "fixedstep_conf", "step_conf", "linear_conf", "exponential_conf", "inverse_conf", "inverset_conf", "cosine_conf", "onecycle_conf", "warmup_steps", "warmup_factor", "plateau_conf")
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
    COSINE_CONF_FIELD_NUMBER: _ClassVar[int]
    ONECYCLE_CONF_FIELD_NUMBER: _ClassVar[int]
    WARMUP_STEPS_FIELD_NUMBER: _ClassVar[int]
    WARMUP_FACTOR_FIELD_NUMBER: _ClassVar[int]
    PLATEAU_CONF_FIELD_NUMBER: _ClassVar[int]
    type: ChangeMethod
    user_type: str
    base_lr: float
    fixedstep_conf: FixedStepProto
    step_conf: StepProto
    linear_conf: LinearProto
    exponential_conf: ExponentialProto
    inverse_conf: InverseProto
    inverset_conf: InverseTProto
    cosine_conf: CosineProto
    onecycle_conf: OneCycleProto
    warmup_steps: int
    warmup_factor: float
    plateau_conf: PlateauProto
    def __init__(self, type: _Optional[_Union[ChangeMethod, str]] = ..., user_type: _Optional[str] = ..., base_lr: _Optional[float] = ..., fixedstep_conf: _Optional[_Union[FixedStepProto, _Mapping]] = ..., step_conf: _Optional[_Union[StepProto, _Mapping]] = ..., linear_conf: _Optional[_Union[LinearProto, _Mapping]] = ..., exponential_conf: _Optional[_Union[ExponentialProto, _Mapping]] = ..., inverse_conf: _Optional[_Union[InverseProto, _Mapping]] = ..., inverset_conf: _Optional[_Union[InverseTProto, _Mapping]] = ..., cosine_conf: _Optional[_Union[CosineProto, _Mapping]] = ..., onecycle_conf: _Optional[_Union[OneCycleProto, _Mapping]] = ..., warmup_steps: _Optional[int] = ..., warmup_factor: _Optional[float] = ..., plateau_conf: _Optional[_Union[PlateauProto, _Mapping]] = ...) -> None: ...

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

class CosineProto(_message.Message):
    __slots__ = ("change_freq", "final_lr", "restart", "growth")
    CHANGE_FREQ_FIELD_NUMBER: _ClassVar[int]
    FINAL_LR_FIELD_NUMBER: _ClassVar[int]
    RESTART_FIELD_NUMBER: _ClassVar[int]
    GROWTH_FIELD_NUMBER: _ClassVar[int]
    change_freq: int
    final_lr: float
    restart: bool
    growth: int
    def __init__(self, change_freq: _Optional[int] = ..., final_lr: _Optional[float] = ..., restart: bool = ..., growth: _Optional[int] = ...) -> None: ...

class OneCycleProto(_message.Message):
    __slots__ = ("change_freq", "max_lr", "rise", "final_lr")
    CHANGE_FREQ_FIELD_NUMBER: _ClassVar[int]
    MAX_LR_FIELD_NUMBER: _ClassVar[int]
    RISE_FIELD_NUMBER: _ClassVar[int]
    FINAL_LR_FIELD_NUMBER: _ClassVar[int]
    change_freq: int
    max_lr: float
    rise: float
    final_lr: float
    def __init__(self, change_freq: _Optional[int] = ..., max_lr: _Optional[float] = ..., rise: _Optional[float] = ..., final_lr: _Optional[float] = ...) -> None: ...

class Improvement(_message.Message):
    __slots__ = ()
    class Mode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        MIN: _ClassVar[Improvement.Mode]
        MAX: _ClassVar[Improvement.Mode]
    MIN: Improvement.Mode
    MAX: Improvement.Mode
    def __init__(self) -> None: ...

class PlateauProto(_message.Message):
    __slots__ = ("metric", "patience", "factor", "least_change", "least_lr", "cooldown", "mode")
    METRIC_FIELD_NUMBER: _ClassVar[int]
    PATIENCE_FIELD_NUMBER: _ClassVar[int]
    FACTOR_FIELD_NUMBER: _ClassVar[int]
    LEAST_CHANGE_FIELD_NUMBER: _ClassVar[int]
    LEAST_LR_FIELD_NUMBER: _ClassVar[int]
    COOLDOWN_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    metric: str
    patience: int
    factor: float
    least_change: float
    least_lr: float
    cooldown: int
    mode: Improvement.Mode
    def __init__(self, metric: _Optional[str] = ..., patience: _Optional[int] = ..., factor: _Optional[float] = ..., least_change: _Optional[float] = ..., least_lr: _Optional[float] = ..., cooldown: _Optional[int] = ..., mode: _Optional[_Union[Improvement.Mode, str]] = ...) -> None: ...
