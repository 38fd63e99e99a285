"""Update rules: one file per UpdaterType, listed in ``netpart.families``; ``build_updater`` finds them by name."""

from __future__ import annotations

from netpart.errors import ConfigError
from netpart.families import UPDATERS
from netpart.proto.updater_pb2 import UpdaterProto, UpdaterType
from netpart.updaters.base import AVERAGE, ParameterScale, Updater, UpdateStep


def build_updater(conf: UpdaterProto) -> Updater:
    """Build the updater that ``conf.type`` names, or ``conf.user_type`` if that is kUserUpdater.

    Raises ConfigError if there is no updater of that name (the type has no usable default) or its fields are wrong.
    """
    if not conf.HasField("type"):
        hint = "add updater { type: kSGD learning_rate { type: kFixed base_lr: 0.01 } }"
        raise ConfigError("updater", "a type", "none", hint, at=("updater",))
    user = conf.type == UpdaterType.kUserUpdater and conf.user_type
    name = user or UpdaterType.Name(conf.type)
    return UPDATERS.get(name, who="updater.type", at=("updater", "type"))(conf)


__all__ = ["AVERAGE", "ParameterScale", "UpdateStep", "Updater", "build_updater"]
