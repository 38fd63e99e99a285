"""Images that kImageInput decodes and crops in a second, on one core and on all: ``python -m benchmarks.images``.

It makes JPEG files of the given size in a temporary folder. Their content is smooth with noise, so that they are about
as large as photos. Results go to benchmarks/results/images.json.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from google.protobuf import text_format

from benchmarks.rows import CORES, RESULTS, write_report
from netpart.layers.inputs.image_input import ImageInput
from netpart.proto.job_pb2 import LayerProto

GOAL = 150
"""Images per second and core."""
BATCH = 64
STEPS = 8
WAYS = {
    "centre crop": ("", 4),
    "random crop, mirrored": ("least_area: 0.08 mirror: true", 1),
    "and colours": ("least_area: 0.08 mirror: true brightness: 0.4 contrast: 0.4 saturation: 0.4", 1),
}
"""What is done with an image: fields of image_conf, and the phase."""


def make_photos(folder: Path, count: int, height: int, width: int) -> int:
    """Write ``count`` JPEG files of a class; returns their mean size in bytes."""
    from PIL import Image

    (folder / "photos").mkdir()
    draw = np.random.default_rng(0)
    y, x = np.mgrid[:height, :width]
    for k in range(count):
        waves = np.stack([np.sin(x / (7 + k + c)) * np.cos(y / (11 + k)) for c in range(3)], -1)
        values = (128 + 90 * waves + draw.normal(0, 20, waves.shape)).clip(0, 255).astype(np.uint8)
        Image.fromarray(values).save(folder / "photos" / f"{k}.jpg", quality=85)
    return sum(path.stat().st_size for path in (folder / "photos").iterdir()) // count


def images_per_second(folder: Path, fields: str, phase: int, side: int, threads: int) -> float:
    """The best of three measurements of STEPS mini-batches."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    conf = (
        f'image_conf {{ path: "{folder}" batchsize: {BATCH} shape: [3, {side}, {side}] prefetching: false {fields} }}'
    )
    proto = text_format.Parse(f'name: "data" type: kImageInput {conf}', LayerProto())
    rows = ImageInput(proto, (), folder=folder).open(BATCH, 0, phase)
    data, label = np.empty((BATCH, 3, side, side), np.float32), np.empty(BATCH, np.int32)
    found = []
    for _ in range(3):
        started = time.perf_counter()
        for step in range(STEPS):
            rows.read(step, 0, BATCH, data, label)
        found.append(STEPS * BATCH / (time.perf_counter() - started))
    return max(found)


def main() -> int:
    """Measure, print and write the figures; 1 if the goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=224, help="height and width of the files, pixels (default: 224)")
    parser.add_argument("--crop", type=int, default=224, help="height and width of the output (default: 224)")
    options = parser.parse_args()
    with TemporaryDirectory() as name:
        size = make_photos(Path(name), BATCH, options.size, options.size)
        found = {
            way: {threads: images_per_second(Path(name), *of, options.crop, threads) for threads in {1, CORES}}
            for way, of in WAYS.items()
        }
    for way, speeds in found.items():
        print(
            f"{way}: {', '.join(f'{speed:.0f} images/s with {threads} threads' for threads, speed in speeds.items())}"
        )
    more = {"size": options.size, "crop": options.crop, "file_bytes": size, "goal": GOAL, "images_per_second": found}
    write_report(RESULTS / "images.json", ["numpy", "pillow"], more)
    return int(min(speeds[1] for speeds in found.values()) < GOAL)


if __name__ == "__main__":
    raise SystemExit(main())
