"""The scheme that a job names, as text; ``netpart.plan.schemes`` implements the schemes.

Command-line options are parsed before NumPy is imported, because they can set its number of threads. So this module
must not import NumPy.
"""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from typing import Literal

from netpart.errors import ConfigError, FieldPath
from netpart.families import SCHEMES
from netpart.proto.job_pb2 import JobProto, LayerProto, LayerType, NetProto, Scheme
from netpart.proto.phase import in_phase
from netpart.proto.synonyms import VALUES, plain_word
from netpart.proto.worker_count import default_workers

AS_WRITTEN = "AS_WRITTEN"
"""Placeholder for no scheme: every layer is placed by its own partition_dim, location and cut."""
PIPELINE = "PIPELINE"
OF_PIPELINE: tuple[Literal["stages", "replicas"], ...] = ("stages", "replicas")
"""Fields of a net that only the scheme PIPELINE reads."""
WRITTEN: tuple[Literal["partition_dim", "location", "cut", "shard", "sum_gradient"], ...] = (
    "partition_dim", "location", "cut", "shard", "sum_gradient",
)  # fmt: skip
"""Fields of a layer that set its cut, whatever the scheme."""


def scheme_name(job: JobProto) -> str:
    """The name of the net's scheme."""
    return job.neuralnet.user_scheme or Scheme.Name(job.neuralnet.scheme)


def parse_scheme_name(text: str, who: str = "--scheme") -> str:
    """The name of the scheme that ``text`` means, in upper or lower case; ``who`` is the option it was given to.

    Raises ConfigError with the nearest names.
    """
    name = text if text in SCHEMES.names() else text.upper().replace("-", "_")
    if name not in (AS_WRITTEN, *SCHEMES.names()):
        raise ConfigError(who, "a known scheme", repr(text) if text else "none", _nearest_scheme_hint(text))
    return name


def _command_line_name(name: str) -> str:
    """Spelling of a scheme on the command line: ``column-row``."""
    return name.lower().replace("_", "-")


def _nearest_scheme_hint(text: str) -> str:
    """Hint with the scheme that ``text`` means, by its name here or in other frameworks."""
    typed = sorted(map(_command_line_name, SCHEMES.names()))
    every = f"all {len(typed)}: {', '.join(typed)}"
    foreign = VALUES["Scheme"].get(plain_word(text), "")
    if foreign:
        return f"it is {_command_line_name(foreign.rpartition(' ')[2])} ({every})"
    close = get_close_matches(_command_line_name(text), typed, 2)
    return f"did you mean {' or '.join(close)}? ({every})" if close else every


def set_scheme(job: JobProto, text: str) -> None:
    """Set the scheme of ``job`` to ``text``; fields of the old scheme are cleared. Raises what ``parse_scheme_name``
    raises."""
    name = parse_scheme_name(text)
    job.neuralnet.ClearField("user_scheme")
    job.neuralnet.MergeFrom(NetProto(scheme=name) if name in dict(Scheme.items()) else NetProto(user_scheme=name))
    for field in OF_PIPELINE if name != PIPELINE else ():
        job.neuralnet.ClearField(field)


def refuse_stages(job: JobProto) -> None:
    """Raise ConfigError if ``job`` sets stages or replicas, but has another scheme than PIPELINE."""
    scheme = scheme_name(job)
    for name in OF_PIPELINE if scheme != PIPELINE else ():
        if job.neuralnet.HasField(name):
            hint = f"write scheme: {PIPELINE}, or omit {name}"
            raise ConfigError(f"neuralnet.{name}", f"the scheme {PIPELINE}", scheme, hint, at=("neuralnet", name))


def refuse_scheme(job: JobProto) -> None:
    """Raise ConfigError if ``job`` has a scheme, for callers that cannot apply one."""
    name = scheme_name(job)
    at = ("neuralnet", "scheme")
    if name != AS_WRITTEN:
        raise ConfigError("neuralnet.scheme", AS_WRITTEN, name, "partition it with netpart.partition", at=at)


def is_cut_by_user(conf: LayerProto) -> bool:
    """True if the user cut or placed the layer."""
    return conf.HasField("partition_dim") or any((conf.location, conf.cut, conf.shard))


def overruled_warning(job: JobProto, *schemes: str) -> str:
    """A warning that ``schemes`` (default: the job's) place nothing, as every layer has its own cut; "" if they do.

    Record layers are ignored: they always go where their readers are.
    """
    named = [parse_scheme_name(name) for name in schemes or [scheme_name(job)]]
    layers = (layer for layer in job.neuralnet.layer if in_phase(layer, "train") and layer.type != LayerType.kShardData)
    if named in ([], [AS_WRITTEN]) or not all(map(is_cut_by_user, layers)):
        return ""
    own = "as every layer has a partition_dim, location, cut or shard of its own"
    subject = f"scheme {named[0]} places" if len(named) == 1 else f"schemes {', '.join(named)} place"
    return f"{subject} nothing, {own}; --override lets the scheme decide"


def override_cuts(job: JobProto, set_by_user: Collection[FieldPath] = ()) -> None:
    """Do ``clear_cuts``, so that the scheme of ``job`` places all layers, but for what ``--set`` says of a layer's cut;
    raise ConfigError if the job has no scheme."""
    if scheme_name(job) == AS_WRITTEN:
        raise ConfigError(
            "--override", "a scheme to cut the layers by", "none", "add --scheme NAME; docs/schemes.md lists them"
        )
    clear_cuts(job, set_by_user)


def clear_cuts(job: JobProto, kept: Collection[FieldPath] = ()) -> None:
    """Clear every cut and location in the layers of ``job``, but for fields at or around one of the paths ``kept``;
    keep the number of workers that they imply."""
    fields = {path[:4] for path in kept}
    # First, while the locations that imply the number are still there.
    job.cluster.nworkers_per_group = default_workers(job)
    for number, layer in enumerate(job.neuralnet.layer):
        for field in WRITTEN:
            if ("neuralnet", "layer", number, field) not in fields:
                layer.ClearField(field)
