"""A net that learns a text in seconds: one block of a GPT, 16 features, windows of 12 bytes."""

from __future__ import annotations

from pathlib import Path

TEXT = b"the quick brown fox jumps over the lazy dog. "

GPT = """
name: "gpt"
train_steps: STEPS
train_one_batch { alg: kBP }
updater { type: kAdam delta: 1e-12 adam_conf { beta2: 0.98 } learning_rate { type: kFixed base_lr: 0.01 } }
neuralnet {
  layer {
    name: "text" type: kTextInput partition_dim: -1
    text_conf { files: "text.txt" window: 12 batchsize: 8 held_out: 0.1 }
  }
  layer {
    name: "embed" type: kEmbedding srclayers: "text" embedding_conf { vocab_size: 256 feature_dim: 16 }
    param { init { type: kGaussian std: 0.3 } }
  }
  layer { name: "positions" type: kPositions srclayers: "embed" param { init { type: kGaussian std: 0.02 } } }
  layer {
    name: "query" type: kInnerProduct srclayers: "positions" innerproduct_conf { num_output: 16 axis: 2 }
    param { init { type: kGaussianSqrtFanIn } } param { init { type: kConstant value: 0 } }
  }
  layer { name: "attention" type: kAttention srclayers: "query" srclayers: "positions" srclayers: "positions"
    attention_conf { causal: true } }
  layer { name: "sum" type: kAdd srclayers: "positions" srclayers: "attention" }
  layer { name: "norm" type: kLayerNorm srclayers: "sum"
    param { init { type: kConstant } } param { init { type: kConstant value: 0 } } }
  layer {
    name: "logits" type: kInnerProduct srclayers: "norm" innerproduct_conf { num_output: 256 axis: 2 }
    param { init { type: kGaussianSqrtFanIn } } param { init { type: kConstant value: 0 } }
  }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "logits" srclayers: "text" softmaxloss_conf { bits: true } }
}
cluster { workspace: "WORKSPACE" }
"""


def gpt(folder: Path, steps: int = 2) -> Path:
    """Writes the job ``gpt.conf`` and the text that it reads; its workspace is ``folder``/out."""
    (folder / "text.txt").write_bytes(TEXT * 20)
    path = folder / "gpt.conf"
    path.write_text(GPT.replace("STEPS", str(steps)).replace("WORKSPACE", str(folder / "out")), encoding="utf-8")
    return path
