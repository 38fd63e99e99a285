"""Anatomy: a brain template, and brains that differ from it by a simulated disease and by random variation.

Coordinates are in mm of MNI space. The disease alters the lateral ventricles and the medial temporal lobes with the
hippocampi, as Frisoni et al. describe (The clinical use of structural MRI in Alzheimer disease, 2010).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpart.data.synthetic import draw_normal
from netpart.errors import NetpartError
from netpart.spec import Shape

Volume = NDArray[np.float32]

VENTRICLES = (2.0, 34.0), (-48.0, 36.0), (-8.0, 32.0)
"""Box that contains the lateral ventricles, mm: distance from the midplane, then the axes to the front and the top."""
EMPTY = 0.05
"""Voxels of the template up to this value are outside the brain: interpolation leaves small values there."""
LEAST = 1000.0
"""Smallest volume of a ventricle, mm³: other dark regions in the box are smaller."""
FLUID = 0.5
"""Voxels of the template below this value are fluid; tissue is 0.6 to 0.9."""
MARGIN = 7.0
"""Distance from the ventricles up to which their enlargement displaces tissue, mm."""
HIPPOCAMPI = (-27.0, -20.0, -16.0), (27.0, -20.0, -16.0)
"""Centres of the two hippocampi, mm."""
LOBE = (12.0, 22.0, 12.0)
"""Half axes of the ellipsoid around a hippocampus, mm."""
FOLD = 32.0
"""Distance of the knots of the random deformation of a brain, mm."""


@dataclass(frozen=True)
class Disease:
    """The strength of a disease: ``push`` displaces the walls of the ventricles, in mm; ``shrink`` reduces the length
    of the lobes and ``loss`` their signal, as shares."""

    push: float = 0.0
    shrink: float = 0.0
    loss: float = 0.0


class Anatomy:
    """The MNI152 T1 template (Fonov et al., 2011) without its skull, from nilearn, at ``spacing`` mm.

    Raises NetpartError if nilearn or SciPy is not installed.
    """

    def __init__(self, spacing: int) -> None:
        image = _import_optional("nilearn.datasets").load_mni152_template(resolution=spacing)
        self.affine: NDArray[np.float64] = image.affine
        self.template: Volume = np.asarray(image.get_fdata(), np.float32)
        self.shape: Shape = self.template.shape
        self.spacing = spacing
        self.brain = self.template > EMPTY
        grid = np.indices(self.shape, np.float32)
        self._grid = grid
        self._place = np.stack([grid[a] * spacing + self.affine[a, 3] for a in range(3)]).astype(np.float32)

    @cached_property
    def altered(self) -> NDArray[np.bool_]:
        """The voxels that a disease may alter."""
        return self.brain & ((self._wall > 0) | (self._lobe > 0))

    @cached_property
    def ventricles(self) -> NDArray[np.bool_]:
        """The fluid of the lateral ventricles."""
        x, y, z = self._place
        inside = [(lo < v) & (v < hi) for v, (lo, hi) in zip((np.abs(x), y, z), VENTRICLES, strict=True)]
        fluid = self.brain & (self.template < FLUID) & np.logical_and.reduce(inside)
        labels, _ = _import_optional("scipy.ndimage").label(fluid)
        large = np.bincount(labels[fluid]) * self.spacing**3 > LEAST
        return np.asarray(fluid & large[labels])

    def with_disease(self, disease: Disease) -> Volume:
        """The template with ``disease``; outside of ``altered`` the template is unchanged."""
        # Backward warping: the displacement points from a voxel to the place that its value comes from.
        ahead = -disease.push / self.spacing * self._wall * self._outwards
        ahead += disease.shrink / self.spacing * self._inwards
        moved = self._sampled(self.template, self._grid + ahead)
        return np.asarray(moved * (1 - np.float32(disease.loss) * self._lobe), np.float32)

    def fluid(self, brain: Volume) -> float:
        """The fluid in and around the ventricles of a brain in the shape of the template, millilitres.

        The lobes are not counted: tissue that has lost its signal there is as dark as fluid.
        """
        around = self.brain & (self._wall > 0) & (self._lobe == 0)
        return float((around & (brain < FLUID)).sum()) * self.spacing**3 / 1000

    def with_variation(self, brain: Volume, bits: np.random.Philox, bend: float, size: float) -> Volume:
        """``brain`` as another person might have it, drawn from ``bits``.

        It is deformed smoothly by ``bend`` mm and stretched on each axis by the share ``size`` (standard deviations).
        """
        centre = np.array(self.shape, np.float32).reshape(3, 1, 1, 1) / 2
        stretch = 1 + np.float32(size) * draw_normal(bits, (4,))[:3].reshape(3, 1, 1, 1)
        bent = np.stack([self.smooth(bits, FOLD) for _ in range(3)]) * np.float32(bend / self.spacing)
        return self._sampled(brain, (self._grid - centre) * stretch + centre + bent)

    def smooth(self, bits: np.random.Philox, knots: float) -> Volume:
        """Draw a field with a standard deviation of about 1, smooth between knots at a distance of ``knots`` mm."""
        counts = tuple(ceil(n * self.spacing / knots) + 2 for n in self.shape)
        # ``draw_normal`` takes four numbers from a word; the last axis is rounded up to a multiple of four.
        values = draw_normal(bits, (*counts[:-1], -(-counts[-1] // 4) * 4))[..., : counts[-1]]
        places = [np.linspace(0, count - 1, n) for count, n in zip(counts, self.shape, strict=True)]
        for axis, place in enumerate(places):
            below = np.minimum(place.astype(int), values.shape[axis] - 2)
            share = place - below
            # Smoothstep, 3 s^2 - 2 s^3: its slope is 0 at the knots, so that the field has no kinks there.
            share = (share * share * (3 - 2 * share)).astype(np.float32).reshape(-1, *(1,) * (2 - axis))
            values = values.take(below, axis) * (1 - share) + values.take(below + 1, axis) * share
        return np.asarray(values, np.float32)

    def _sampled(self, volume: Volume, places: Volume) -> Volume:
        """``volume`` at ``places`` (3, ...) in voxels; 0 outside."""
        return np.asarray(_import_optional("scipy.ndimage").map_coordinates(volume, places, order=1), np.float32)

    @cached_property
    def _distance(self) -> Volume:
        """Distance from the walls of the ventricles, mm; negative inside of them."""
        away = _import_optional("scipy.ndimage").distance_transform_edt
        found = away(~self.ventricles, self.spacing) - away(self.ventricles, self.spacing)
        return np.asarray(found, np.float32)

    @cached_property
    def _wall(self) -> Volume:
        """The share of the walls' displacement at each voxel, 0 to 1."""
        return _radial_bump(self._distance / np.float32(MARGIN))

    @cached_property
    def _outwards(self) -> Volume:
        """The unit vector away from the ventricles."""
        smooth = _import_optional("scipy.ndimage").gaussian_filter(self._distance, 3.0 / self.spacing)
        slope = np.stack(np.gradient(smooth))
        return np.asarray(slope / np.maximum(np.sqrt((slope * slope).sum(axis=0)), 1e-3), np.float32)

    @cached_property
    def _lobe(self) -> Volume:
        """The degree to which a voxel belongs to a medial temporal lobe, 0 to 1."""
        return np.asarray(sum(_radial_bump(self._radius(centre)) for centre in HIPPOCAMPI), np.float32)

    @cached_property
    def _inwards(self) -> Volume:
        """The vector from the centre of the nearer lobe, mm, fading to 0 at its border.

        Sampling further outwards by it shrinks the lobe towards its centre.
        """
        ways = (_radial_bump(self._radius(c)) * (self._place - _axis_column(c)) for c in HIPPOCAMPI)
        return np.asarray(sum(ways), np.float32)

    def _radius(self, centre: tuple[float, ...]) -> Volume:
        """Distance from the centre of a lobe, relative to its half axes: 1 at its border."""
        scaled = (self._place - _axis_column(centre)) / _axis_column(LOBE)
        return np.asarray(np.sqrt((scaled * scaled).sum(axis=0)), np.float32)


def _radial_bump(radius: Volume) -> Volume:
    """A smooth bump: 1 at radius 0, and 0 from radius 1 on."""
    return np.asarray(np.maximum(1 - radius * radius, 0) ** 2, np.float32)


def _axis_column(values: tuple[float, ...]) -> Volume:
    """One number per axis, in a shape that broadcasts with places (3, ...)."""
    return np.array(values, np.float32).reshape(3, 1, 1, 1)


def _import_optional(name: str) -> Any:
    """Import a module of nilearn or SciPy; raise NetpartError if it is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        raise NetpartError(f"phantom: expected {name}, got {error}; `pip install 'netpart[mri]'`") from error
