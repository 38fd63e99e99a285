"""Learning-rate schedules: for each ChangeMethod a pure function from the step to the learning rate.

Every worker evaluates the schedule itself, once per update and in any order, so none keeps state; the
step counts from 0. Formulas: Apache SINGA's user guide, "Updater", section on learning rates.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from netpart.errors import ConfigError
from netpart.proto.updater_pb2 import ChangeMethod, LRGenProto
from netpart.registry import Registry
from netpart.updaters.checks import check, not_negative, positive, present

Schedule = Callable[[int], float]


def _fixed(conf: LRGenProto) -> Schedule:
    base = conf.base_lr
    return lambda step: base


def _linear(conf: LRGenProto) -> Schedule:
    """From base_lr at step 0 to final_lr at step change_freq, and on along the same line after it."""
    present(conf, "learning_rate.linear_conf", "linear_conf { change_freq: 1000 final_lr: 0.001 }")
    base, final, frequency = conf.base_lr, conf.linear_conf.final_lr, conf.linear_conf.change_freq
    _frequency(frequency, "linear_conf")
    return lambda step: (1 - step / frequency) * base + step / frequency * final


def _exponential(conf: LRGenProto) -> Schedule:
    """Halves every change_freq steps, smoothly."""
    present(conf, "learning_rate.exponential_conf", "exponential_conf { change_freq: 1000 }")
    base, frequency = conf.base_lr, conf.exponential_conf.change_freq
    _frequency(frequency, "exponential_conf")
    return lambda step: base * 2.0 ** (-step / frequency)


def _inverse_t(conf: LRGenProto) -> Schedule:
    present(conf, "learning_rate.inverset_conf", "inverset_conf { final_lr: 1000 }")
    base, final = conf.base_lr, conf.inverset_conf.final_lr
    positive(final, "learning_rate.inverset_conf.final_lr", "it is the step at which the rate has halved")
    return lambda step: base / (1 + step / final)


def _inverse(conf: LRGenProto) -> Schedule:
    present(conf, "learning_rate.inverse_conf", "inverse_conf { gamma: 0.0001 pow: 0.75 }")
    base, gamma, power = conf.base_lr, conf.inverse_conf.gamma, conf.inverse_conf.pow
    not_negative(gamma, "learning_rate.inverse_conf.gamma")
    return lambda step: float(base * (1 + gamma * step) ** -power)


def _step(conf: LRGenProto) -> Schedule:
    """Multiplied by gamma every change_freq steps, at once."""
    present(conf, "learning_rate.step_conf", "step_conf { change_freq: 1000 gamma: 0.5 }")
    base, gamma, frequency = conf.base_lr, conf.step_conf.gamma, conf.step_conf.change_freq
    positive(gamma, "learning_rate.step_conf.gamma")
    _frequency(frequency, "step_conf")
    return lambda step: float(base * gamma ** (step // frequency))


def _fixed_step(conf: LRGenProto) -> Schedule:
    """step_lr[i] from step[i] on; before step[0] already step_lr[0]."""
    present(conf, "learning_rate.fixedstep_conf", "fixedstep_conf { step: 0 step_lr: 0.1 step: 1000 step_lr: 0.01 }")
    steps, rates = list(conf.fixedstep_conf.step), list(conf.fixedstep_conf.step_lr)
    field, rising = "learning_rate.fixedstep_conf", sorted(set(steps))
    lengths = f"{len(steps)} step and {len(rates)} step_lr"
    check(0 < len(steps) == len(rates), field, "as many step as step_lr, at least one", lengths, "pair them up")
    check(steps == rising, f"{field}.step", "rising steps", steps, f"sort step and step_lr by step: {rising}")
    for rate in rates:
        not_negative(rate, f"{field}.step_lr")
    return lambda step: rates[max(0, bisect_right(steps, step) - 1)]


def _frequency(value: int, block: str) -> None:
    positive(value, f"learning_rate.{block}.change_freq", "it counts steps")


METHODS: Registry[Callable[[LRGenProto], Schedule]] = Registry("learning-rate method")
"""By ChangeMethod name; a user's own is filed here under the name that jobs give as ``user_type``."""

METHODS.add("kFixed")(_fixed)
METHODS.add("kLinear")(_linear)
METHODS.add("kExponential")(_exponential)
METHODS.add("kInverseT")(_inverse_t)
METHODS.add("kInverse")(_inverse)
METHODS.add("kStep")(_step)
METHODS.add("kFixedStep")(_fixed_step)


def schedule(conf: LRGenProto) -> Schedule:
    """Builds the function from step (0, 1, …) to learning rate; raises ConfigError naming the field at fault."""
    if not conf.HasField("type"):
        where = ("updater", "learning_rate")
        raise ConfigError(".".join(where), "a type", "none", "add type: kFixed base_lr: 0.01", at=where)
    user = conf.type == ChangeMethod.kUserChange and conf.user_type
    name = user or ChangeMethod.Name(conf.type)
    at = ("updater", "learning_rate", "type")
    build = METHODS.get(name, who=".".join(at), at=at)
    not_negative(conf.base_lr, "learning_rate.base_lr")
    return build(conf)
