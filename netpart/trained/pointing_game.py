"""The pointing game: of how many samples the largest value of the map lies where it should (Zhang et al., 2016)."""

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
    """Where in its scan the map of sample ``number`` is largest, in voxels, and if that is ``inside`` the region."""

    number: int
    explanation: SampleExplanation
    place: Shape
    inside: bool


class TargetRegion:
    """The voxels of a NIfTI file that are not 0; raises DataError for a file that cannot be read."""

    def __init__(self, path: Path) -> None:
        scan = NiftiScan(path)
        self.path = path
        self.voxels = scan.read(whole_region(scan.shape)) != 0
        self.affine = scan.affine

    def hit(self, number: int, found: SampleExplanation) -> PointingHit:
        """Looks up the largest value of a map; one that is 0 everywhere points nowhere.

        Raises ConfigError unless scan and region have the same voxels.
        """
        if found.scan is None:
            raise ConfigError(OPTION, "a job that reads scans", "another", "leave it out")
        if found.scan.shape != self.voxels.shape or not np.allclose(found.scan.affine, self.affine):
            said = f"the {found.scan.shape} voxels of {found.scan.path}, placed alike"
            raise ConfigError(OPTION, said, f"{self.voxels.shape} of {self.path}", "resample the region to the scans")
        heat = found.in_scan
        place = find_map_peak(heat)
        return PointingHit(number, found, place, bool(heat[place] > 0 and self.voxels[place]))


def find_map_peak(heat: NDArray[Any]) -> Shape:
    """Where a map is largest; the first of several places."""
    return tuple(int(i) for i in np.unravel_index(int(heat.argmax()), heat.shape))


def play_pointing_game(
    explainer: SampleExplainer, region: TargetRegion, target: int | None = None
) -> Iterator[PointingHit]:
    """Explains every scan of the test data; with ``target`` those of that class, for that class.

    Raises ConfigError for a job that reads no scans, and where ``target`` has none.
    """
    source = explainer.source
    if not isinstance(source, NiftiInput):
        raise ConfigError(OPTION, "a job that reads scans", "another", "leave it out")
    numbers = [n for n, row in enumerate(source.table()) if target is None or row.label == target]
    if not numbers:
        raise ConfigError("--class", "a class that the test data has", str(target))
    for number in numbers:
        yield region.hit(number, explainer.explain(number, target))
