"""Update rules: one file per UpdaterType, and ``updater`` that finds them by name."""

from __future__ import annotations

from netpart.errors import ConfigError
from netpart.proto.updater_pb2 import UpdaterProto, UpdaterType
from netpart.registry import Registry
from netpart.updaters.adadelta import AdaDelta
from netpart.updaters.adagrad import AdaGrad
from netpart.updaters.adam import Adam
from netpart.updaters.adammax import AdamMax
from netpart.updaters.adamw import AdamW
from netpart.updaters.base import AVERAGE, Scale, Step, Updater
from netpart.updaters.nesterov import Nesterov
from netpart.updaters.rmsprop import RMSProp
from netpart.updaters.sgd import SGD

UPDATERS: Registry[type[Updater]] = Registry("updater type")
"""By UpdaterType name; a user's own is filed here under the name that jobs give as ``user_type``."""

for _rule in (SGD, Nesterov, AdaGrad, RMSProp, AdaDelta, Adam, AdamMax, AdamW):
    UPDATERS.add(*_rule.types)(_rule)


def updater(conf: UpdaterProto) -> Updater:
    """Builds the updater that ``conf.type`` names, or ``conf.user_type`` if that is kUserUpdater.

    Raises ConfigError if there is none of that name (the type has no usable default) or it is ill configured.
    """
    if not conf.HasField("type"):
        hint = "add updater { type: kSGD learning_rate { type: kFixed base_lr: 0.01 } }"
        raise ConfigError("updater", "a type", "none", hint, at=("updater",))
    user = conf.type == UpdaterType.kUserUpdater and conf.user_type
    name = user or UpdaterType.Name(conf.type)
    return UPDATERS.get(name, who="updater.type", at=("updater", "type"))(conf)


__all__ = ["AVERAGE", "UPDATERS", "Scale", "Step", "Updater", "updater"]
