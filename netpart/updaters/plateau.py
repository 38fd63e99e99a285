"""The learning rate kPlateau: base_lr, multiplied by a factor after validations without improvement.

A worker cannot know the metrics of a validation, so the coordinator counts the changes and sends the rate. For the
worker the rate is a constant that ``Updater.change_base_lr`` replaces.
"""

from __future__ import annotations

from collections.abc import Callable

from netpart.proto.updater_pb2 import LRGenProto
from netpart.updaters.checks import check_field, check_not_negative, require_field


def plateau_rate(conf: LRGenProto) -> Callable[[int], float]:
    """base_lr, which the coordinator lowers during the run."""
    field = "learning_rate.plateau_conf"
    require_field(conf, field, "plateau_conf { patience: 5 }")
    require_field(conf.plateau_conf, f"{field}.patience", "patience: 5")
    plateau = conf.plateau_conf
    check_field(plateau.patience > 0, f"{field}.patience", "1 or more", plateau.patience, "it counts validations")
    check_field(0 < plateau.factor < 1, f"{field}.factor", "a number between 0 and 1", plateau.factor, "0.1 is usual")
    check_not_negative(plateau.least_change, f"{field}.least_change")
    check_not_negative(plateau.least_lr, f"{field}.least_lr")
    check_not_negative(plateau.cooldown, f"{field}.cooldown")
    base = conf.base_lr
    return lambda step: base


def plateau_rate_after(conf: LRGenProto, changes: int) -> float:
    """The learning rate after ``changes`` changes: never above base_lr, and never lowered below least_lr."""
    plateau = conf.plateau_conf
    lowered = conf.base_lr * plateau.factor**changes
    return float(min(conf.base_lr, max(lowered, plateau.least_lr)))
