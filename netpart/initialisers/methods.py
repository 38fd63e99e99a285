"""Initialisers: for each InitMethod a distribution and a factor.

Every value is a function of the parameter's key and of the element's index in the *uncut* parameter. Fan-in is that of
the uncut matrix. So a worker can fill its own region without the rest.

    N = Gaussian(mean, std) * value,  U = Uniform[low, high) * value,  the matrix has r rows and c columns
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from netpart.errors import ConfigError, FieldPath
from netpart.families import INITIALISERS
from netpart.kernels.op import Array
from netpart.kernels.philox import Key, draw_normals, draw_uniforms
from netpart.proto.param_pb2 import InitMethod, ParamGenProto
from netpart.spec import Region, Shape, extent

Matrix = tuple[int, int]


def _draw_constant(conf: ParamGenProto, key: Key, box: Region, shape: Shape) -> Array:
    return np.full(extent(box), conf.value, dtype=np.float64)


def _draw_gaussian(conf: ParamGenProto, key: Key, box: Region, shape: Shape) -> Array:
    return (conf.mean + conf.std * draw_normals(key, box, shape)) * conf.value


def _draw_uniform(conf: ParamGenProto, key: Key, box: Region, shape: Shape) -> Array:
    return (conf.low + (conf.high - conf.low) * draw_uniforms(key, box, shape)) * conf.value


@dataclass(frozen=True)
class Initialiser:
    """``draw`` returns the values of a box, float64; ``factor`` maps (rows, columns) to their scale, None: no scale."""

    draw: Callable[[ParamGenProto, Key, Region, Shape], Array]
    factor: Callable[[int, int], float] | None = None


CONSTANT, GAUSSIAN, UNIFORM = Initialiser(_draw_constant), Initialiser(_draw_gaussian), Initialiser(_draw_uniform)
# The fan factors are those of SINGA's code; its documentation has sqrt(6 / (r + c)) for the last one.
GAUSSIAN_SQRT_FAN_IN = Initialiser(_draw_gaussian, lambda r, c: 1 / sqrt(c))
UNIFORM_SQRT_FAN_IN = Initialiser(_draw_uniform, lambda r, c: sqrt(3 / c))
UNIFORM_SQRT_FAN_IN_OUT = Initialiser(_draw_uniform, lambda r, c: 1 / sqrt(r + c))


def find_initialiser(
    conf: ParamGenProto, matrix: Matrix | None, who: str = "init", at: FieldPath | None = None
) -> Initialiser:
    """Return the method that ``conf`` names; raise ConfigError, with ``who``, if it cannot fill the parameter.

    ``matrix`` is (rows, columns) of the uncut parameter, None for a 1-D one. ``at`` is the path of ``conf``.
    """
    if not conf.HasField("type"):
        hint = "add init { type: kUniformSqrtFanIn }" if matrix else "add init { type: kConstant value: 0 }"
        raise ConfigError(who, "a way to fill the parameter", "none", hint, at=at)
    user = conf.type == InitMethod.kUserInit and conf.user_type
    name = user or InitMethod.Name(conf.type)
    method = INITIALISERS.get(name, who=f"{who}.type", at=_field_below(at, "type"))
    if method.factor and not matrix:
        free = ", ".join(n for n in INITIALISERS.names() if not INITIALISERS.get(n).factor)
        got = f"{name} on a 1-D one, which has no fan-in"
        raise ConfigError(f"{who}.type", "a matrix parameter", got, f"use one of {free}", at=_field_below(at, "type"))
    if conf.std < 0:
        raise ConfigError(f"{who}.std", "at least 0", str(conf.std), "remove the minus", at=_field_below(at, "std"))
    if conf.low > conf.high:
        raise ConfigError(
            f"{who}.low", f"at most high: {conf.high}", str(conf.low), "swap them", at=_field_below(at, "low")
        )
    return method


def draw_initial_values(conf: ParamGenProto, key: Key, box: Region, shape: Shape, matrix: Matrix | None) -> Array:
    """Draw the initial values of region ``box`` of a parameter of uncut ``shape``.

    Returns float64 of the extent of ``box``. An element has the same bits in every box that contains it. ``key`` comes
    from ``netpart.kernels.philox.stream_key``; ``matrix`` is (rows, columns) of the uncut
    parameter. Raises ConfigError as ``find_initialiser`` does. Source: Apache SINGA's user guide, "Param".
    """
    method = find_initialiser(conf, matrix)
    values = method.draw(conf, key, box, shape)
    return values * method.factor(*matrix) if method.factor and matrix else values


def _field_below(at: FieldPath | None, field: str) -> FieldPath | None:
    """The path of ``field`` in the message at ``at``."""
    return None if at is None else (*at, field)
