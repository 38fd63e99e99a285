"""Pointing game: for how many samples the largest value of the map lies within a region (Zhang et al., 2016)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.scans.nifti import NiftiScan
from netpart.errors import ConfigError
from netpart.layers.inputs.nifti import NiftiInput
from netpart.spec import Shape, whole_region

if TYPE_CHECKING:
    from netpart.trained.gradcam import SampleExplainer, SampleExplanation

OPTION = "--region"


@dataclass(frozen=True)
class PointingHit:
    """Where in its scan, in voxels, the map of sample ``number`` is largest, and whether that is ``inside`` the
    region."""

    number: int
    explanation: SampleExplanation
    place: Shape
    inside: bool


class TargetRegion:
    """The voxels of a NIfTI file that are not 0. Raises DataError for a file that cannot be read."""

    def __init__(self, path: Path) -> None:
        scan = NiftiScan(path)
        self.path = path
        self.voxels = scan.read(whole_region(scan.shape)) != 0
        self.affine = scan.affine

    def hit(self, number: int, found: SampleExplanation) -> PointingHit:
        """Test whether the largest value of a map is in the region. A map that is 0 everywhere is never a hit.

        Raises ConfigError unless scan and region have the same voxels.
        """
        if found.scan is None:
            raise ConfigError(OPTION, "a job that reads scans", "a job that reads none", "omit it")
        if found.scan.shape != self.voxels.shape or not np.allclose(found.scan.affine, self.affine):
            expected = f"the {found.scan.shape} voxels of {found.scan.path}, placed alike"
            got = f"{self.voxels.shape} of {self.path}"
            raise ConfigError(OPTION, expected, got, "resample the region to the scans")
        heat = found.in_scan
        place = find_map_peak(heat)
        return PointingHit(number, found, place, bool(heat[place] > 0 and self.voxels[place]))


def find_map_peak(heat: NDArray[Any]) -> Shape:
    """The position of the largest value of a map; the first of several."""
    return tuple(int(i) for i in np.unravel_index(int(heat.argmax()), heat.shape))


def play_pointing_game(
    explainer: SampleExplainer, region: TargetRegion, target: int | None = None
) -> Iterator[PointingHit]:
    """Explain every scan of the test data; with ``target``, the scans of that class, for that class.

    Raises ConfigError for a job that does not read scans, and if no scan has class ``target``.
    """
    source = explainer.source
    if not isinstance(source, NiftiInput):
        raise ConfigError(OPTION, "a job that reads scans", "a job that reads none", "omit it")
    numbers = [n for n, row in enumerate(source.table()) if target is None or row.label == target]
    if not numbers:
        raise ConfigError("--class", "a class that the test data has", str(target), "choose another class")
    for number in numbers:
        yield region.hit(number, explainer.explain(number, target))
