"""Input layers of every kind, on files that are made for them, and jobs of them alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from netpart.data.scans.nifti import save_volume
from netpart.data.stores.store import KvWriter
from netpart.proto.reader import Job, read_job
from tests.datasets.samples import datum_store, photos, pixels

CHANGED = "batchsize: 4 shape: [3, 8, 9] mirror: true least_area: 0.5 contrast: 0.2 shuffle: true mean: 0.5 std: 0.25"
LAYERS = {
    "images": f'type: kImageInput image_conf {{ path: "photos" {CHANGED} }}',
    "masks": f'type: kImageInput image_conf {{ path: "masks.csv" {CHANGED} }}',
    "tar": f'type: kTarInput tar_conf {{ path: "photos-*.tar" label: "json" }} image_conf {{ {CHANGED} }}',
    "arrays": 'type: kArrayInput array_conf { path: "x.npy" label_path: "y.npy" batchsize: 4 shuffle: true }',
    "records": 'type: kRecordInput store_conf { path: "r.bin" batchsize: 4 shuffle: true random_skip: 5 }',
    "lmdb": 'type: kLMDBData lmdbdata_conf { path: "lmdb" batchsize: 4 }',
    "csv": 'type: kCSVInput store_conf { path: "t.csv" batchsize: 4 shuffle: true }',
    "scans": 'type: kNiftiInput nifti_conf { path: "scans.csv" batchsize: 2 flip: true drift: 0.1 shape: [4, 4, 5] }',
    "masked scans": 'type: kNiftiInput nifti_conf { path: "masked.csv" batchsize: 2 flip: true shape: [4, 4, 5] }',
    "text": 'type: kTextInput text_conf { files: "t.csv" window: 6 batchsize: 4 held_out: 0.2 }',
    "tokens": 'type: kTokenInput token_conf { files: "tokens.bin" window: 6 batchsize: 4 }',
    "drawn": "type: kSyntheticInput store_conf { shape: [3, 4, 4] batchsize: 4 } synthetic_conf { classes: 3 }",
    "volumes": "type: kSyntheticMasks store_conf { shape: [1, 3, 4, 5] batchsize: 4 } synthetic_conf { classes: 3 }",
    "words": "type: kSyntheticTokens store_conf { shape: 6 batchsize: 4 } synthetic_conf { classes: 9 }",
    "shard": 'type: kShardData sharddata_conf { path: "grey.bin" batchsize: 4 random_skip: 3 }',
}
"""Name -> the type and the conf of a layer."""
PARSERS = """
  layer { name: "pixels" type: kMnist srclayers: "data" mnist_conf { norm_a: 255 norm_b: 0.5 } }
  layer { name: "labels" type: kLabel srclayers: "data" }
"""


def input_files(folder: Path) -> None:
    """Makes the files of all layers."""
    photos(folder)
    np.save(folder / "x.npy", pixels(11, (3, 2, 4)).astype("f4"))
    np.save(folder / "y.npy", np.arange(11) % 3)
    for name, shape in (("r.bin", (3, 4, 4)), ("grey.bin", (6, 6))):
        with KvWriter(folder / name) as store:
            for k in range(11):
                store.add(pixels(1, shape, k)[0], k % 3)
    datum_store(folder / "lmdb", pixels(11, (3, 2, 4)), np.arange(11) % 3)
    (folder / "t.csv").write_text("".join(f"{k % 3},{k}.5,{k * k}\n" for k in range(11)))
    np.arange(100, dtype="<u2").tofile(folder / "tokens.bin")
    for k in range(3):
        save_volume(folder / f"{k}.nii.gz", pixels(1, (5, 4, 6), k)[0].astype("i2"), np.diag([2.0, 2.0, 2.0, 1.0]))
        save_volume(folder / f"mask-{k}.nii.gz", pixels(1, (5, 4, 6), k)[0] // 99, np.diag([2.0, 2.0, 2.0, 1.0]))
    (folder / "masked.csv").write_text("path,mask\n" + "".join(f"{k}.nii.gz,mask-{k}.nii.gz\n" for k in range(3)))
    (folder / "scans.csv").write_text("path,label\n" + "".join(f"{k}.nii.gz,{k % 2}\n" for k in range(3)))


def input_job(folder: Path, name: str) -> Job:
    """The job of one input layer."""
    parsers = PARSERS if name == "shard" else ""
    (folder / "job.conf").write_text(
        f'name: "look" seed: 5 neuralnet {{ layer {{ name: "data" {LAYERS[name]} }} {parsers} }}'
    )
    return read_job(folder / "job.conf")
