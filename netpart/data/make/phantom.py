"""Cohort of simulated MRI scans in four classes. It replaces ADNI, whose data may not be redistributed.

Each scan is the MNI152 template as another healthy or ill person might have it: deformed smoothly, with larger
ventricles, smaller medial temporal lobes of weaker signal, and noise and drift of the scanner.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from netpart.data.atomic_file import atomic_file
from netpart.data.make.anatomy import Anatomy, Disease, Volume
from netpart.data.scans.nifti import save_volume
from netpart.data.synthetic import draw_normal, stream_bits
from netpart.progress import track_items

ATROPHY, LOSS = "atrophy", "loss"
CLASSES = {
    "NC": {ATROPHY: 0.0, LOSS: 0.0},
    "AD": {ATROPHY: 2.4, LOSS: 7.0},
    "sMCI": {ATROPHY: 0.6, LOSS: 0.6},
    "pMCI": {ATROPHY: 1.8, LOSS: 5.6},
}
"""Means of atrophy and loss of each class, in standard deviations within a class."""
TASKS = {"ad-nc": ("NC", "AD"), "smci-pmci": ("sMCI", "pMCI")}
"""Classification tasks: name -> (class 0, class 1)."""
TEST_EVERY = 5
PUSH, SHRINK, WEAKEN = 0.7, 0.05, 0.03
"""Effect of one standard deviation: mm of the walls, share of a lobe's length, share of its signal."""
BEND, SIZE, NOISE, DRIFT, GAIN = 1.5, 0.02, 0.03, 0.05, 0.1
"""Standard deviations: deformation in mm; size as a share; noise, drift and gain of the scanner as shares of full
scale."""
FULL_SCALE = 1000
COIL = 90.0
"""Distance of the knots of the scanner's drift, mm."""
ALTERED = "altered.nii.gz"


@dataclass(frozen=True)
class Subject:
    """A person. ``atrophy`` and ``loss`` are the stage of the disease, in standard deviations."""

    number: int
    group: str
    atrophy: float
    loss: float
    test: bool

    @property
    def file(self) -> str:
        """The path of the scan, relative to the folder of the cohort."""
        return f"scans/sub-{self.number:04d}.nii.gz"


def make_phantom(folder: Path, subjects: int, spacing: int = 2, seed: int = 0) -> int:
    """Write a cohort of ``subjects``, a quarter of each class, at ``spacing`` mm; return the number of scans.

    Files: scans/*.nii.gz; for each task TASK-train.csv and TASK-test.csv, of different subjects; subjects.csv with the
    class, the split and the ventricles' fluid of each subject; altered.nii.gz, 1 where diseases alter the template.
    Raises NetpartError if nilearn is not installed.
    """
    anatomy = Anatomy(spacing)
    rows = list[list[object]]()
    save_volume(folder / ALTERED, anatomy.altered.astype(np.uint8), anatomy.affine)
    people = list(draw_cohort(subjects, seed))
    for person in track_items(people, "scan"):
        brain = anatomy.with_disease(Disease(PUSH * person.atrophy, SHRINK * person.atrophy, WEAKEN * person.loss))
        save_volume(folder / person.file, _simulate_scan(anatomy, brain, seed, person.number), anatomy.affine)
        rows.append([person.file, person.group, "test" if person.test else "train", f"{anatomy.fluid(brain):.3f}"])
    _write_csv(folder / "subjects.csv", [["path", "class", "split", "fluid_ml"], *rows])
    for task, classes in TASKS.items():
        for split in ("train", "test"):
            those = [p for p in people if p.group in classes and p.test == (split == "test")]
            listed = [[p.file, classes.index(p.group)] for p in those]
            _write_csv(folder / f"{task}-{split}.csv", [["path", "label"], *listed])
    return len(people)


def draw_cohort(count: int, seed: int) -> Iterator[Subject]:
    """Yield ``count`` people, the classes in turn; every fifth person of a class is for testing.

    Atrophy and loss of a class are normally distributed: evenly spaced quantiles in a random order.
    """
    groups = [list(CLASSES)[k % len(CLASSES)] for k in range(count)]
    drawn = {
        (group, what): iter(shuffled_quantiles(groups.count(group), seed, 2 * k + (what == LOSS)) + mean)
        for k, (group, means) in enumerate(CLASSES.items())
        for what, mean in means.items()
    }
    for number, group in enumerate(groups):
        test = number // len(CLASSES) % TEST_EVERY == TEST_EVERY - 1
        yield Subject(number, group, float(next(drawn[group, ATROPHY])), float(next(drawn[group, LOSS])), test)


def shuffled_quantiles(count: int, seed: int, stream: int) -> NDArray[np.float64]:
    """``count`` evenly spaced quantiles of the normal distribution in a random order."""
    quantiles = np.array([NormalDist().inv_cdf((k + 0.5) / count) for k in range(count)])
    return quantiles[np.argsort(stream_bits(seed, 2**32 + stream, 0).random_raw(count), kind="stable")]


def _simulate_scan(anatomy: Anatomy, brain: Volume, seed: int, number: int) -> NDArray[np.int16]:
    """The scan of person ``number`` with ``brain``: int16, 0 outside of it."""
    bits = stream_bits(seed, 2**33, number)
    seen = anatomy.with_variation(brain, bits, BEND, SIZE)
    around = seen <= 0.02
    gain = 1 + GAIN * float(draw_normal(bits, (4,))[0])
    seen = seen * np.exp(np.float32(DRIFT) * anatomy.smooth(bits, COIL))
    flat = draw_normal(bits, (-(-seen.size // 4) * 4,))[: seen.size]
    seen = (seen + np.float32(NOISE) * flat.reshape(seen.shape)) * np.float32(gain * FULL_SCALE)
    # At least 1 inside the brain: 0 is the mark of the background, which normalisation ignores.
    return np.where(around, 0, np.maximum(np.rint(seen), 1)).astype(np.int16)


def _write_csv(path: Path, rows: list[list[object]]) -> None:
    """Write a CSV file atomically."""
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    with atomic_file(path) as file:
        file.write(text.getvalue().encode())
