"""A cohort of 4,000 phantoms: 1,600 scans of AD and NC to train on, and 400 to test.

That of the zoo's jobs has 80 tests, so one scan is 1.25 points of accuracy, and 320 scans to train on, from which not
every start learns what tells them apart: its accuracies vary by more than a precision costs. As many scans as here need
no drift, which hides the loss of signal, so that some starts do not find it in time.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.machine import ROOT
from netpart.cli.provide import SPACING
from netpart.data.make.phantom import make_phantom

SUBJECTS = 4000
FOLDER = ROOT / "data" / f"phantom-{SUBJECTS}"
STEPS = 960
"""Mini-batches of 16: each scan is seen 9.6 times."""
TESTS = 40
"""Mini-batches of 10: each test scan once."""


def large_cohort(folder: Path = FOLDER, subjects: int = SUBJECTS) -> list[str]:
    """Options of ``netpart run`` for the zoo's job of AD against NC; the cohort is made if it is missing.

    At 4,000 subjects it takes some five minutes and 500 MB.
    """
    tables = {phase: folder / f"ad-nc-{phase}.csv" for phase in ("train", "test")}
    # Tables are written after the scans that they list.
    if not all(table.exists() for table in tables.values()):
        print(f"making {subjects} phantoms in {folder}", flush=True)
        make_phantom(folder, subjects, SPACING)
    settings = {f"data@{phase}.nifti_conf.path": str(table) for phase, table in tables.items()} | {
        # Room for all scans: 0.3 MiB each.
        "data@train.nifti_conf.cache_mib": "500",
        "data@test.nifti_conf.cache_mib": "150",
        "data@train.nifti_conf.drift": "0",
        "updater.learning_rate.linear_conf.change_freq": str(STEPS),
        "test_steps": str(TESTS),
        "test_freq": str(STEPS),
    }
    return ["--steps", str(STEPS), *(part for key, value in settings.items() for part in ("--set", f"{key}={value}"))]
