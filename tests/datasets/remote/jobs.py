"""Jobs with data at URLs, one for each type of input that reads files, for the tests of this folder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

PROTOCOLS = ("memory", "http", "hdfs", "s3")
IMAGES = np.random.default_rng(3).integers(0, 256, (23, 4, 4), "uint8")
CLASSIFIER = """
  layer { name: "ip" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 5 }
    param { init { type: kUniform low: -0.1 high: 0.1 } } param { init { type: kConstant value: 0 } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "ip" srclayers: "data" }"""
TOKENS = """
  layer { name: "embed" type: kEmbedding srclayers: "data" embedding_conf { vocab_size: 256 feature_dim: 4 }
    param { init { type: kUniform low: -0.1 high: 0.1 } } }
  layer { name: "ip" type: kInnerProduct srclayers: "embed" innerproduct_conf { num_output: 256 axis: 2 }
    param { init { type: kUniform low: -0.1 high: 0.1 } } param { init { type: kConstant value: 0 } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "ip" srclayers: "data" }"""
SCALED = 'mean_file: "%(at)s/mean.bin" shuffle: true'
INPUTS = {
    "kRecordInput": f'store_conf {{ batchsize: 6 path: "%(at)s/images.bin" {SCALED} random_skip: 9 }}',
    "kCSVInput": 'store_conf { batchsize: 6 path: "%(at)s/images.csv" shape: [4, 4] shuffle: true }',
    "kNiftiInput": 'nifti_conf { batchsize: 3 path: "%(at)s/nc-test.csv" shape: [4, 5, 3] flip: true shuffle: true }',
    "kTextInput": 'text_conf { files: "%(at)s/one.txt" files: "%(at)s/two.txt" window: 7 batchsize: 6 }',
    "kTokenInput": 'token_conf { files: "%(at)s/tokens.bin" files: "%(at)s/tokens.npy" window: 7 batchsize: 6 }',
    "kArrayInput": 'array_conf { batchsize: 6 path: "%(at)s/a.npz" data: "x" label: "y" shuffle: true }',
    "kLMDBData": 'lmdbdata_conf { batchsize: 6 path: "%(at)s/images.mdb" }',
    "kImageInput": 'image_conf { batchsize: 3 path: "%(at)s/photos.csv" shape: [1, 8, 8] mirror: true shuffle: true }',
    "kTarInput": 'tar_conf { path: "%(at)s/photos-0.tar" } image_conf { batchsize: 3 shape: [1, 8, 8] shuffle: true }',
}


def job_text(kind: str, at: str, cache: Path, steps: int, more: str = "") -> str:
    """A job whose input ``kind`` reads its data at ``at``; ``more`` are fields of its net."""
    net = TOKENS if kind in ("kTextInput", "kTokenInput") else CLASSIFIER
    text = (
        f'name: "n" dtype: FLOAT64 train_steps: {steps} disp_freq: 1 train_one_batch {{ alg: kBP }}'
        'cluster { workspace: "ws" }'
        "updater { type: kSGD learning_rate { type: kFixed base_lr: 0.001 } }"
        f'data_cache {{ mib: 8 folder: "{cache}" }}'
        f'neuralnet {{ {more} {net} layer {{ name: "data" type: {kind} {INPUTS[kind]} }} }}'
    )
    return text % {"at": at}


def read_losses(workspace: Path) -> list[float]:
    """The loss of each step of a run."""
    lines = map(json.loads, (workspace / "metrics.jsonl").read_text().splitlines())
    return [line["metrics"]["loss/loss"] for line in lines]
