"""Small jobs that have, together, every block of the language that netpart computes with: what the fuzz changes."""

from __future__ import annotations

HEAD = """name: "f" train_steps: 1 disp_freq: 1 test_steps: 1 test_freq: 1 checkpoint_freq: 1 seed: 3 deadline: 20
train_one_batch { alg: kBP }
cluster { nworkers_per_group: 2 nworker_groups: 1 workspace: "ws" sync_freq: 1 }
"""
SGD = "updater { type: kSGD momentum: 0.5 learning_rate { type: kFixed base_lr: 0.1 } }\n"
DATA = """layer { name: "data" type: kSyntheticInput store_conf { batchsize: 8 shape: [%s] }
  synthetic_conf { classes: 3 batches: 2 } }
"""
W = "param { init { type: kUniform low: -0.1 high: 0.1 } lr_scale: 2 wd_scale: 0.5 }"
B = "param { init { type: kConstant value: 0 } }"
ONE = "param { init { type: kConstant value: 1 } }"
IP = """layer { name: "ip" type: kInnerProduct srclayers: "%s" innerproduct_conf { num_output: 3 }
  param { name: "w" init { type: kGaussian std: 0.1 } } param { name: "b" init { type: kConstant value: 0 } } }
layer { name: "loss" type: kSoftmaxLoss srclayers: "ip" srclayers: "data" softmaxloss_conf { topk: 1 } }
layer { name: "acc" type: kAccuracy srclayers: "ip" srclayers: "data" argsort_conf { topk: 1 } }
"""
MLP = f"""layer {{ name: "r" type: kReLU srclayers: "data" relu_conf {{ negative_slope: 0.1 }}
  cut {{ axis: 0 parts: 2 sizes: [4, 4] location: [0, 1] }} }}
layer {{ name: "d" type: kDropout srclayers: "r" dropout_conf {{ dropout_ratio: 0.5 }}
  location: [0, 1] partition_dim: 1 }}
layer {{ name: "e" type: kActivation srclayers: "d" activation_conf {{ type: ELU alpha: 1 }}
  shard {{ worker: 0 region: [0, 8, 0, 3] }} shard {{ worker: 1 region: [0, 8, 3, 6] }} }}
layer {{ name: "g" type: kGate srclayers: "e" {ONE} }}
layer {{ name: "sm" type: kSoftmax srclayers: "g" softmax_conf {{ num_softmax_per_instance: 1 }}
  cut {{ over: REPLICA parts: 2 }} }}
"""
CNN = f"""layer {{ name: "pp" type: kImagePreprocess srclayers: "data"
  rgbimage_conf {{ cropsize: 7 mirror: true scale: 0.5 }} }}
layer {{ name: "c" type: kConvolution srclayers: "pp" partition_dim: 2 {W} {B}
  convolution_conf {{ num_filters: 4 kernel: 3 pad: 1 stride: 1 dilation: 1 groups: 1 }} }}
layer {{ name: "p" type: kPooling srclayers: "c" pooling_conf {{ kernel: 2 stride: 2 pool: AVG }} }}
layer {{ name: "l" type: kLRN srclayers: "p" lrn_conf {{ local_size: 3 alpha: 1 beta: 0.75 knorm: 1 }} }}
layer {{ name: "bn" type: kBM srclayers: "l" bm_conf {{ momentum: 0.9 epsilon: 1e-5 }} {ONE} {B} }}
layer {{ name: "gn" type: kGroupNorm srclayers: "bn" norm_conf {{ groups: 2 epsilon: 1e-5 }} {ONE} {B} }}
layer {{ name: "tc" type: kTransposedConvolution srclayers: "gn" {W} {B}
  convolution_conf {{ num_filters: 4 kernel: 2 stride: 2 output_pad: 0 }} }}
layer {{ name: "up" type: kUpsampling srclayers: "tc" upsampling_conf {{ factor: 2 method: LINEAR }} }}
layer {{ name: "cr" type: kCrop srclayers: "up" crop_conf {{ shape: [4, 4, 4] start: [0, -1, 1] }} }}
layer {{ name: "cc" type: kConcate srclayers: "cr" srclayers: "cr" concate_conf {{ concate_dim: 1 }} }}
layer {{ name: "gp" type: kGlobalPooling srclayers: "cc" globalpooling_conf {{ pool: AVG }} }}
layer {{ name: "fl" type: kFlatten srclayers: "gp" }}
"""
SEQUENCE = f"""layer {{ name: "data" type: kSyntheticTokens store_conf {{ batchsize: 8 shape: 4 }}
  synthetic_conf {{ classes: 6 }} }}
layer {{ name: "em" type: kEmbedding srclayers: "data" embedding_conf {{ vocab_size: 6 feature_dim: 8 }} {W} }}
layer {{ name: "po" type: kPositions srclayers: "em" {W} }}
layer {{ name: "ln" type: kLayerNorm srclayers: "po" norm_conf {{ axis: -1 epsilon: 1e-5 }} {ONE} {B} }}
layer {{ name: "rs" type: kReshape srclayers: "ln" reshape_conf {{ shape: [4, 2, 4] }} }}
layer {{ name: "tr" type: kTranspose srclayers: "rs" transpose_conf {{ axis: [2, 1, 3] }} }}
layer {{ name: "ro" type: kRotary srclayers: "tr" rotary_conf {{ base: 100 }} }}
layer {{ name: "at" type: kAttention srclayers: "ro" srclayers: "ro" srclayers: "tr" srclayers: "data"
  attention_conf {{ causal: true scale: 0.5 dropout_ratio: 0.2 pad_value: 1 }} }}
layer {{ name: "mm" type: kMatmul srclayers: "at" srclayers: "at" matmul_conf {{ transpose_b: true }} }}
layer {{ name: "fl" type: kInnerProduct srclayers: "po" innerproduct_conf {{ num_output: 6 axis: 2 }} {W} {B} }}
layer {{ name: "f2" type: kFlatten srclayers: "mm" }}
layer {{ name: "i2" type: kInnerProduct srclayers: "f2" innerproduct_conf {{ num_output: 4 }} {W} {B} }}
layer {{ name: "rt" type: kReshape srclayers: "i2" reshape_conf {{ shape: [4, 1] }} }}
layer {{ name: "ad" type: kAdd srclayers: "fl" srclayers: "rt" }}
layer {{ name: "loss" type: kSoftmaxLoss srclayers: "ad" srclayers: "data"
  softmaxloss_conf {{ label_smoothing: 0.1 bits: true scale: 1 }} }}
"""
RATES = {
    "kFixedStep": "fixedstep_conf { step: [0, 2] step_lr: [0.1, 0.01] }",
    "kLinear": "linear_conf { change_freq: 5 final_lr: 0.01 }",
    "kExponential": "exponential_conf { change_freq: 5 }",
    "kInverseT": "inverset_conf { final_lr: 5 }",
    "kInverse": "inverse_conf { gamma: 0.1 pow: 0.5 }",
    "kStep": "step_conf { change_freq: 2 gamma: 0.5 }",
    "kCosine": "warmup_steps: 2 warmup_factor: 0.1 cosine_conf { change_freq: 10 restart: true growth: 2 }",
    "kOneCycle": "onecycle_conf { change_freq: 10 max_lr: 0.2 rise: 0.3 }",
}
UPDATERS = {
    "kAdaDelta": "adadelta_conf { rho: 0.9 }",
    "kAdamMax": "adammax_conf { beta1: 0.9 beta2: 0.9 }",
    "kNesterov": "momentum: 0.5",
    "kAdaGrad": "delta: 1e-8",
    "kSGD": "clip_low: -1 clip_high: 1",
    "kRMSProp": "rmsprop_conf { rho: 0.9 }",
    "kAdamW": "adamw_conf { beta1: 0.9 beta2: 0.99 } clip_norm: 1 ema_decay: 0.5 ema_warmup: true weight_decay: 0.1",
    "kAdam": "adam_conf { beta1: 0.9 beta2: 0.9 bias_correction: true }",
}


def updater(kind: str, rate: str) -> str:
    """An updater and a learning rate with their confs."""
    own = UPDATERS.get(kind, ""), RATES.get(rate, "")
    return f"updater {{ type: {kind} {own[0]} learning_rate {{ type: {rate} base_lr: 0.1 {own[1]} }} }}\n"


def net(layers: str, fields: str = "") -> str:
    """A net of layers."""
    return f"neuralnet {{ {fields} {layers} }}\n"


PIPELINE = "scheme: PIPELINE stages: 2 replicas: 1 micro_batches: 2 schedule: GPIPE recompute: true"
HIDDEN = f'layer {{ name: "h" type: kInnerProduct srclayers: "data" innerproduct_conf {{ num_output: 4 }} {W} {B} }}\n'
GROUPS = HEAD.replace("nworkers_per_group: 2 nworker_groups: 1", "nworkers_per_group: 1 nworker_groups: 2 staleness: 1")
DEVICES = HEAD.replace(
    "sync_freq: 1", 'device { name: "a" count: 2 flops: 1e9 memory: 1e9 } link { between: "a" latency: 1e-5 }'
)

JOBS: dict[str, str] = {
    "mlp": HEAD + SGD + net(DATA % "6" + MLP + IP % "sm"),
    "cnn": HEAD + SGD + net(DATA % "3, 8, 8" + CNN + IP % "fl"),
    "sequence": HEAD + updater("kAdamW", "kCosine") + net(SEQUENCE, "micro_batches: 2"),
    "pipeline": HEAD + updater("kAdam", "kOneCycle") + net(DATA % "6" + HIDDEN + IP % "h", PIPELINE),
    "groups": GROUPS + updater("kRMSProp", "kStep") + net(DATA % "6" + IP % "data"),
    "devices": DEVICES + updater("kAdaDelta", "kFixedStep") + net(DATA % "6" + IP % "data"),
    **{
        rate: HEAD + updater(kind, rate) + net(DATA % "6" + IP % "data")
        for kind, rate in (
            ("kAdamMax", "kLinear"),
            ("kNesterov", "kExponential"),
            ("kAdaGrad", "kInverseT"),
            ("kSGD", "kInverse"),
        )
    },
}
