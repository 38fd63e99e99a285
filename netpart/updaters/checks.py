"""Checks of the updater block of a job: each raises a ConfigError with the field and its path."""

from __future__ import annotations

from math import inf
from typing import Any

from netpart.errors import ConfigError
from netpart.proto.updater_pb2 import UpdaterProto, UpdaterType


def check_field(holds: bool, field: str, expected: str, got: object, hint: str = "") -> None:
    """Raise ConfigError unless ``holds`` is true; ``field`` is the dotted path below ``updater``."""
    if not holds:
        path = ("updater", *field.split("."))
        raise ConfigError(".".join(path), expected, str(got), hint, at=path)


def require_field(conf: Any, field: str, example: str) -> None:
    """Raise ConfigError unless the last name of the dotted path ``field`` is set in its message ``conf``."""
    parent, _, name = ("updater." + field).rpartition(".")
    if not conf.HasField(name):
        raise ConfigError(f"{parent}.{name}", "a value", "none", f"add {example}", at=tuple(parent.split(".")))


def check_fraction(value: float, field: str) -> float:
    """Return ``value``; raise ConfigError unless 0 <= value < 1."""
    check_field(0 <= value < 1, field, "a number in [0, 1)", value, "0.9 is usual")
    return value


def check_positive(value: float, field: str, hint: str = "") -> float:
    """Return ``value``; raise ConfigError unless it is finite and above 0."""
    check_field(0 < value < inf, field, "a number above 0", value, hint)
    return value


def check_not_negative(value: float, field: str, hint: str = "") -> float:
    """Return ``value``; raise ConfigError unless it is finite and at least 0."""
    check_field(0 <= value < inf, field, "a number of at least 0", value, hint)
    return value


def check_outside_root(conf: UpdaterProto, choices: tuple[bool, ...]) -> bool:
    """Return delta_outside_root, or the first of ``choices`` if it is not set; raise ConfigError for another."""
    outside = conf.delta_outside_root if conf.HasField("delta_outside_root") else choices[0]
    who = conf.user_type or UpdaterType.Name(conf.type)
    expected = f"{str(choices[0]).lower()} for {who}"
    hint = "kAdaGrad, kAdam and kRMSProp have both, kAdamW has true alone; remove the line"
    check_field(outside in choices, "delta_outside_root", expected, str(outside).lower(), hint)
    return outside
