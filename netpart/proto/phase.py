"""Phases of layers, cuts and jobs: train, val and test."""

from __future__ import annotations

from netpart.choices import TEST, TRAIN, VALIDATION
from netpart.errors import ConfigError, FieldPath
from netpart.proto.job_pb2 import CutProto, JobProto, LayerProto, NetProto, Phase, ShardProto

PHASE_VALUES = {TRAIN: Phase.kTrain, VALIDATION: Phase.kVal, TEST: Phase.kTest}
"""The name of each phase on the command line -> its value in ``include`` and ``exclude``."""

STEP_FIELDS = {TRAIN: "train_steps", VALIDATION: "validate_steps", TEST: "test_steps"}
"""The name of each phase -> the field of the job that sets its number of steps."""

_HINT = "use include alone: exclude is deprecated"


def in_phase(layer: LayerProto, phase: str, at: FieldPath = ()) -> bool:
    """True if ``layer`` is in ``phase`` (train, val or test); a layer with neither include nor exclude is in all.

    ``at`` is the layer's path, for the error. Raises ConfigError for a layer that has both.
    """
    if layer.include and layer.exclude:
        raise ConfigError(layer.name, "include or exclude", "both", _HINT, at=(*at, "exclude"))
    if layer.include:
        return PHASE_VALUES[phase] in layer.include
    return PHASE_VALUES[phase] not in layer.exclude


def override_target(layer: LayerProto) -> str:
    """The layer as --set names it: with a phase if it is not in all, as another layer may have its name there."""
    phases = [phase for phase in PHASE_VALUES if in_phase(layer, phase)]
    return layer.name if len(phases) in (0, len(PHASE_VALUES)) else f"{layer.name}@{phases[0]}"


def counts_in_phase(block: CutProto | ShardProto, phase: str) -> bool:
    """True if a cut or shard applies in ``phase``; one without a phase applies in all."""
    return not block.HasField("phase") or block.phase == PHASE_VALUES[phase]


def runs_phase(job: JobProto, phase: str) -> bool:
    """True if ``job`` runs ``phase``: train always, val and test if they have steps and layers."""
    steps = getattr(job, STEP_FIELDS[phase])
    return phase == TRAIN or (steps > 0 and any(in_phase(layer, phase) for layer in job.neuralnet.layer))


def check_phases(net: NetProto) -> None:
    """Raise ConfigError if one layer of ``net`` uses include and another exclude, as SINGA does."""
    including = next((layer.name for layer in net.layer if layer.include), None)
    excluding = next((i for i, layer in enumerate(net.layer) if layer.exclude), None)
    if including is not None and excluding is not None:
        name = net.layer[excluding].name
        at = ("neuralnet", "layer", excluding, "exclude")
        raise ConfigError(name, f"include, as layer {including} has it", "exclude", _HINT, at=at)
