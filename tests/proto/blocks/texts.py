"""A small job with blocks within blocks, for the tests of this folder."""

from __future__ import annotations

JOB = """name: "blocks"
train_steps: 2
train_one_batch { alg: kBP }
updater { type: kSGD learning_rate { type: kFixed base_lr: ${rate} } }
neuralnet {
  let { name: "width" value: "6" }
  let { name: "rate" value: "0.1" }

  # a product and its activation
  block {
    name: "product" input: "x" output: "tanh"
    let { name: "kind" value: "TANH" }
    layer {
      name: "fc" # the product
      type: kInnerProduct
      srclayers: "x"
      innerproduct_conf { num_output: ${width} }
      param { name: "w" init { type: kGaussian std: 0.1 } }
      param { init { type: kConstant value: 0 } }
    }
    layer { name: "tanh" type: kActivation srclayers: "fc" activation_conf { type: ${kind} } }
  }
  block {
    name: "residual" input: "x" output: "add"
    layer { name: "in" type: kBlock srclayers: "x" block_conf { of: "product" } }
    layer { name: "add" type: kAdd srclayers: ["in", "x"] }
  }
  layer { name: "data" type: kSyntheticInput
    store_conf { batchsize: 8 shape: ${width} } synthetic_conf { classes: 4 } }
  layer { name: "b" type: kBlock srclayers: "data" block_conf { of: "residual" times: 3 } }
  layer { name: "last" type: kInnerProduct srclayers: "b" innerproduct_conf { num_output: 4 }
    param { init { type: kGaussian std: 0.1 } } param { init { type: kConstant value: 0 } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: ["last", "data"] }
}
cluster { nworkers_per_group: 2 workspace: "out/blocks" }
"""


def job_with(old: str, new: str) -> str:
    """The job with ``new`` in the one place of ``old``."""
    assert JOB.count(old) == 1, old
    return JOB.replace(old, new)
