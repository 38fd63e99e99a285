"""Warnings for layers of types that netpart does not compute, in phases that do not run. The job runs anyway."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from netpart.errors import ConfigError
from netpart.proto.phase import PHASE_VALUES, STEP_FIELDS, in_phase, runs_phase

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import JobProto, LayerProto
    from netpart.proto.reader import Job


def uncomputed_warnings(job: Job) -> Iterator[str]:
    """A warning, with its place, for each layer that no running phase includes and that netpart could not compute."""
    for i, layer in enumerate(job.proto.neuralnet.layer):
        idle = [STEP_FIELDS[phase] for phase in PHASE_VALUES if in_phase(layer, phase)]
        if not _is_in_run_phase(job.proto, layer) and not _is_computed(layer):
            place = job.explain(ConfigError("", "", "", at=("neuralnet", "layer", i, "type"))).position
            unset = f"as it has no {' or '.join(idle)}" if idle else "as the layer is in no phase"
            from netpart.graph.build import type_name

            yield f"{place}: {layer.name}: netpart does not compute {type_name(layer)}; the job runs {unset}"


def _is_in_run_phase(job: JobProto, layer: LayerProto) -> bool:
    """True if ``layer`` is in a phase that the job runs."""
    return any(runs_phase(job, phase) and in_phase(layer, phase) for phase in PHASE_VALUES)


def _is_computed(layer: LayerProto) -> bool:
    """True if netpart or an installed package implements the type of ``layer``. Imports NumPy."""
    from netpart.graph.build import type_name
    from netpart.layers import layer_class

    try:
        layer_class(type_name(layer))
    except ConfigError:
        return False
    return True
