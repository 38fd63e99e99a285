"""Small nets, cut over workers, of layers that a GPU plays in its own ways."""

from __future__ import annotations

HEAD = """
name: "net" train_steps: 5 seed: 3 dtype: FLOAT64
train_one_batch { alg: kBP }
updater {
  type: kSGD momentum: 0.9 weight_decay: 0.01 clip_norm: 1
  learning_rate { type: kStep base_lr: 0.1 step_conf { gamma: 0.5 change_freq: 1 } }
}
"""
FILL = "param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant value: 0.1 } }"
IMAGES = """
  layer {
    name: "data" type: kSyntheticInput partition_dim: -1
    store_conf { shape: 2 shape: 6 shape: 6 batchsize: 8 } synthetic_conf { classes: 3 }
  }
"""
SCORES = f"""
  layer {{ name: "scores" type: kInnerProduct srclayers: "%s" innerproduct_conf {{ num_output: 3 }} {FILL} }}
  layer {{ name: "loss" type: kSoftmaxLoss srclayers: "scores" srclayers: "data" }}
"""
MLP = f"""{HEAD} neuralnet {{ {IMAGES}
  layer {{
    name: "fc" type: kInnerProduct srclayers: "data" partition_dim: 1 innerproduct_conf {{ num_output: 8 }} {FILL}
  }}
  layer {{ name: "tanh" type: kSTanh srclayers: "fc" partition_dim: 1 }}
  layer {{ name: "drop" type: kDropout srclayers: "tanh" partition_dim: 1 dropout_conf {{ dropout_ratio: 0.5 }} }}
  {SCORES % "drop"} }}
"""
CONVOLUTIONS = f"""{HEAD} neuralnet {{ {IMAGES}
  layer {{
    name: "conv" type: kCConvolution srclayers: "data" partition_dim: 2
    convolution_conf {{ num_filters: 4 kernel: 3 pad: 1 }} {FILL}
  }}
  layer {{
    name: "norm" type: kBM srclayers: "conv" partition_dim: 0
    param {{ init {{ type: kConstant value: 1 }} }} param {{ init {{ type: kConstant value: 0 }} }}
  }}
  layer {{ name: "relu" type: kReLU srclayers: "norm" }}
  layer {{ name: "pool" type: kCPooling srclayers: "relu" pooling_conf {{ pool: MAX kernel: 2 stride: 2 }} }}
  {SCORES % "pool"} }}
"""
ROWS = """param { init { type: kUniformSqrtFanIn } }
    innerproduct_conf { num_output: 8 axis: 2 bias_term: false } partition_dim: 0"""
HEADS = "".join(f"""
  layer {{ name: "{name}" type: kInnerProduct srclayers: "norm" {ROWS} }}
  layer {{ name: "{name}-rows" type: kReshape srclayers: "{name}" reshape_conf {{ shape: -1 shape: 2 shape: 4 }} }}
  layer {{
    name: "{name}-heads" type: kTranspose srclayers: "{name}-rows" transpose_conf {{ axis: 2 axis: 1 axis: 3 }}
  }}
""" for name in ("query", "key", "value"))  # fmt: skip
ATTENTION = f"""{HEAD} neuralnet {{
  layer {{
    name: "data" type: kSyntheticInput partition_dim: -1
    store_conf {{ shape: 6 shape: 8 batchsize: 8 }} synthetic_conf {{ classes: 3 }}
  }}
  layer {{ name: "first" type: kInnerProduct srclayers: "data" {ROWS} }}
  layer {{ name: "norm" type: kLayerNorm srclayers: "first" }}
  {HEADS}
  layer {{ name: "query-turned" type: kRotary srclayers: "query-heads" }}
  layer {{ name: "key-turned" type: kRotary srclayers: "key-heads" }}
  layer {{
    name: "attention" type: kAttention srclayers: "query-turned" srclayers: "key-turned" srclayers: "value-heads"
    attention_conf {{ causal: true }}
  }}
  layer {{ name: "back" type: kTranspose srclayers: "attention" transpose_conf {{ axis: 2 axis: 1 axis: 3 }} }}
  layer {{ name: "mix" type: kReshape srclayers: "back" reshape_conf {{ shape: -1 shape: 8 }} }}
  layer {{ name: "out" type: kInnerProduct srclayers: "mix" {ROWS} }}
  layer {{ name: "sum" type: kAdd srclayers: "first" srclayers: "out" }}
  {SCORES % "sum"} }}
"""
NETS = {"mlp": MLP, "convolutions": CONVOLUTIONS, "attention": ATTENTION}
