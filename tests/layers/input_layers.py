"""Input layers over small data, and their rows, for the tests of this folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import text_format

from netpart.kernels.op import Clock
from netpart.kernels.reference import Kernels
from netpart.layers import layer_class
from netpart.layers.layer import Layer
from netpart.layers.part import Call
from netpart.proto.job_pb2 import LayerProto
from netpart.spec import extent
from netpart.testing.play_part import poisoned_array, run_poisoned
from tests.laws.cases import INPUTS

COUNT = 11
SIDE = 4
BATCH = 6
IMAGES = np.random.default_rng(3).integers(0, 256, (COUNT, SIDE, SIDE), "uint8")
LABELS = np.arange(COUNT) % 5
STORE = f"batchsize: {BATCH} path:"
ALTERED = "flip: true shuffle: true drift: 0.5"
COLOURS = "brightness: 0.4 contrast: 0.3 saturation: 0.2"
CHANGED = f"batchsize: {BATCH} shape: [3, 12, 16] least_area: 0.5 mirror: true shuffle: true {COLOURS} mean: 0.5"
RGB = np.random.default_rng(5).integers(0, 256, (COUNT, 3, SIDE, SIDE), "uint8")
PARSERS = ("kMnist", "kLabel", "kRGBImage")
ORDER = "shuffle: true prefetching: true mean_value: 1.5 std_value: 2"
CONFS = {
    "kRecordInput": f'store_conf {{ backend: "kvfile" {STORE} "images.bin" }}',
    "kCSVInput": f'store_conf {{ backend: "textfile" {STORE} "images.csv" shape: {SIDE} shape: {SIDE} }}',
    "kSyntheticInput": f"store_conf {{ batchsize: {BATCH} shape: [{SIDE}, {SIDE}] }} synthetic_conf {{ classes: 5 }}",
    "kSyntheticMasks": f"store_conf {{ batchsize: {BATCH} shape: [2, 3, {SIDE}] }} synthetic_conf {{ classes: 3 }}",
    "kSyntheticTokens": f"store_conf {{ batchsize: {BATCH} shape: 9 }} synthetic_conf {{ classes: 20 }}",
    "kShardData": f'sharddata_conf {{ path: "images.bin" batchsize: {BATCH} }}',
    "kMnist": "mnist_conf { norm_a: 255 norm_b: 0.5 }",
    "kLabel": "",
    "kNiftiInput": f'nifti_conf {{ path: "nc-test.csv" batchsize: {BATCH} shape: [4, 5, 3] {ALTERED} cache_mib: 1 }}',
    "kImageInput": f'image_conf {{ path: "photos" {CHANGED} }}',
    "kTarInput": f'tar_conf {{ path: "photos-*.tar" label: "json" }} image_conf {{ {CHANGED} }}',
    "kRGBImage": "rgbimage_conf { cropsize: 3 mirror: true scale: 0.5 meanfile: 'rgb-mean.bin' }",
    "kArrayInput": f'array_conf {{ path: "images.npz" data: "x" label: "y" {ORDER} batchsize: {BATCH} }}',
    "kTokenInput": f'token_conf {{ files: "one.npy" files: "two.bin" window: 7 held_out: 0.2 batchsize: {BATCH} }}',
    "kLMDBData": f'lmdbdata_conf {{ path: "images.lmdb" batchsize: {BATCH} }}',
    "kTextInput": f'text_conf {{ files: "one.txt" files: "two.txt" window: 7 held_out: 0.2 batchsize: {BATCH} }}',
}
TEXT = np.random.default_rng(4).bytes(300)


def make(name: str, folder: Path, conf: str | None = None, rows: int | None = None) -> tuple[Layer, Layer | None]:
    """The layer, and the kShardData it reads if it is a parser."""
    stored = CONFS["kShardData"].replace("images", "rgb") if name == "kRGBImage" else None
    shard = None if name not in PARSERS else make("kShardData", folder, stored, rows=rows)[0]
    proto = text_format.Parse(f'name: "it" type: {name} {CONFS[name] if conf is None else conf}', LayerProto())
    sources = () if shard is None else shard.outputs
    return layer_class(name)(proto, sources, rows=rows, folder=folder), shard


def read(layers: tuple[Layer, Layer | None], step: int, lo: int, hi: int, first: int = 0, **more: Any) -> list[Any]:
    """The outputs of the part with rows ``lo`` to ``hi`` of the micro-batch that starts at row ``first``."""
    layer, shard = layers
    clock, kernels = Clock(), Kernels(np, "float64")
    x: list[Any] = []
    if shard is not None:
        x = [[None]]
        source = Call((), shard.needs(()), None, [], [], x, rows=BATCH, clock=clock, first_row=first, **more)
        opened = shard.forward(kernels, source)
        clock.step = step
        run_poisoned(opened)
    region = ((lo, hi), *layer.output.whole[1:])
    y = [poisoned_array(extent(r), s.dtype) for r, s in zip(layer.outputs_of(region), layer.outputs, strict=True)]
    call = Call(region, layer.needs(region), None, x, [], y, rows=BATCH, first_row=first, clock=clock, **more)
    op = layer.forward(kernels, call)
    clock.step = step
    run_poisoned(op)
    return y


ROWS = [name for name in INPUTS if name != "kShardData"]
