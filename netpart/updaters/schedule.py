"""Learning-rate schedules: for each ChangeMethod a pure function from the step to the learning rate.

Every worker evaluates the schedule itself, once per update and in any order, so a schedule has no state. Steps count
from 0. Formulas: Apache SINGA's user guide, "Updater", section on learning rates; cosines: Loshchilov and Hutter,
arXiv:1608.03983, equation 5; one cycle: Smith and Topin, arXiv:1708.07120.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from math import cos, pi

from netpart.errors import ConfigError
from netpart.families import RATES
from netpart.proto.updater_pb2 import ChangeMethod, LRGenProto
from netpart.updaters.checks import check_field, check_not_negative, check_positive, require_field

Schedule = Callable[[int], float]


def fixed_rate(conf: LRGenProto) -> Schedule:
    """Always base_lr."""
    base = conf.base_lr
    return lambda step: base


def linear_rate(conf: LRGenProto) -> Schedule:
    """From base_lr at step 0 to final_lr at step change_freq; after it the same line continues."""
    require_field(conf, "learning_rate.linear_conf", "linear_conf { change_freq: 1000 final_lr: 0.001 }")
    base = conf.base_lr
    final = conf.linear_conf.final_lr
    frequency = conf.linear_conf.change_freq
    _check_frequency(frequency, "linear_conf")
    return lambda step: (1 - step / frequency) * base + step / frequency * final


def exponential_rate(conf: LRGenProto) -> Schedule:
    """Smooth exponential decay that halves the rate every change_freq steps."""
    require_field(conf, "learning_rate.exponential_conf", "exponential_conf { change_freq: 1000 }")
    base = conf.base_lr
    frequency = conf.exponential_conf.change_freq
    _check_frequency(frequency, "exponential_conf")
    return lambda step: base * 2.0 ** (-step / frequency)


def inverse_t_rate(conf: LRGenProto) -> Schedule:
    """base_lr / (1 + step / final_lr). In spite of its name, which is SINGA's, final_lr is a number of steps."""
    require_field(conf, "learning_rate.inverset_conf", "inverset_conf { final_lr: 1000 }")
    base = conf.base_lr
    final = conf.inverset_conf.final_lr
    check_positive(final, "learning_rate.inverset_conf.final_lr", "it is the step at which the rate has halved")
    return lambda step: base / (1 + step / final)


def inverse_rate(conf: LRGenProto) -> Schedule:
    """base_lr * (1 + gamma * step) ^ -pow."""
    require_field(conf, "learning_rate.inverse_conf", "inverse_conf { gamma: 0.0001 pow: 0.75 }")
    base = conf.base_lr
    gamma = conf.inverse_conf.gamma
    power = conf.inverse_conf.pow
    check_not_negative(gamma, "learning_rate.inverse_conf.gamma")
    return lambda step: float(base * (1 + gamma * step) ** -power)


def step_rate(conf: LRGenProto) -> Schedule:
    """base_lr, multiplied by gamma after every change_freq steps."""
    require_field(conf, "learning_rate.step_conf", "step_conf { change_freq: 1000 gamma: 0.5 }")
    base = conf.base_lr
    gamma = conf.step_conf.gamma
    frequency = conf.step_conf.change_freq
    check_positive(gamma, "learning_rate.step_conf.gamma")
    _check_frequency(frequency, "step_conf")
    return lambda step: float(base * gamma ** (step // frequency))


def fixed_step_rate(conf: LRGenProto) -> Schedule:
    """step_lr[i] from step[i] on; before step[0] also step_lr[0]."""
    require_field(
        conf, "learning_rate.fixedstep_conf", "fixedstep_conf { step: 0 step_lr: 0.1 step: 1000 step_lr: 0.01 }"
    )
    steps = list(conf.fixedstep_conf.step)
    rates = list(conf.fixedstep_conf.step_lr)
    field = "learning_rate.fixedstep_conf"
    rising = sorted(set(steps))
    lengths = f"{len(steps)} step and {len(rates)} step_lr"
    check_field(0 < len(steps) == len(rates), field, "as many step as step_lr, at least one", lengths, "pair them up")
    check_field(steps == rising, f"{field}.step", "rising steps", steps, f"sort step and step_lr by step: {rising}")
    for rate in rates:
        check_not_negative(rate, f"{field}.step_lr")
    return lambda step: rates[max(0, bisect_right(steps, step) - 1)]


def cosine_rate(conf: LRGenProto) -> Schedule:
    """Half a cosine from base_lr to final_lr in change_freq steps, then final_lr.

    With restart it begins again at base_lr; each period is growth times as long as the one before.
    """
    require_field(conf, "learning_rate.cosine_conf", "cosine_conf { change_freq: 1000 }")
    base = conf.base_lr
    cosine = conf.cosine_conf
    frequency = cosine.change_freq
    final = cosine.final_lr
    restart = cosine.restart
    growth = cosine.growth
    _check_frequency(frequency, "cosine_conf")
    check_not_negative(final, "learning_rate.cosine_conf.final_lr")
    check_field(growth >= 1, "learning_rate.cosine_conf.growth", "at least 1", growth, "1 keeps the length")

    def rate(step: int) -> float:
        length = frequency
        # Equal periods by a remainder: the loop would take step / length rounds. Growing ones need few rounds.
        if restart and growth == 1:
            step %= length
        while restart and step >= length:
            step = step - length
            length = length * growth
        return _cosine_between(base, final, min(1.0, step / length))

    return rate


def one_cycle_rate(conf: LRGenProto) -> Schedule:
    """Half a cosine up from base_lr to max_lr in the share ``rise`` of the steps, then half a cosine to final_lr."""
    require_field(conf, "learning_rate.onecycle_conf", "onecycle_conf { change_freq: 1000 max_lr: 0.1 }")
    base = conf.base_lr
    cycle = conf.onecycle_conf
    field = "learning_rate.onecycle_conf"
    most = cycle.max_lr
    final = cycle.final_lr
    last = cycle.change_freq - 1
    _check_frequency(cycle.change_freq, "onecycle_conf")
    check_positive(most, f"{field}.max_lr")
    check_not_negative(final, f"{field}.final_lr")
    check_field(most >= base, f"{field}.max_lr", f"at least base_lr: {base}", most, "it is the largest rate")
    top = cycle.rise * cycle.change_freq - 1
    enough = f"a share of {cycle.change_freq} steps below 1 and of more than one step"
    check_field(0 < top < last, f"{field}.rise", enough, cycle.rise, "0.3 is usual")

    def rate(step: int) -> float:
        if step <= top:
            return _cosine_between(base, most, step / top)
        return _cosine_between(most, final, min(1.0, (step - top) / (last - top)))

    return rate


def _cosine_between(start: float, end: float, share: float) -> float:
    """The rate at ``share``, 0 to 1, of half a cosine from ``start`` to ``end``."""
    return end + (start - end) * (1 + cos(pi * share)) / 2


def _with_warmup(rate: Schedule, steps: int, factor: float) -> Schedule:
    """A linear rise in ``steps`` steps from the share ``factor`` of the first rate to that rate, then ``rate``."""
    first = rate(0)
    return lambda step: rate(step - steps) if step >= steps else first * (factor + (1 - factor) * step / steps)


def _check_frequency(value: int, block: str) -> None:
    """Raise ConfigError unless change_freq of ``block`` is positive."""
    check_positive(value, f"learning_rate.{block}.change_freq", "it counts steps")


def learning_rate_schedule(conf: LRGenProto) -> Schedule:
    """Build the function from step (0, 1, …) to learning rate; raise ConfigError naming the field at fault."""
    if not conf.HasField("type"):
        where = ("updater", "learning_rate")
        raise ConfigError(".".join(where), "a type", "none", "add type: kFixed base_lr: 0.01", at=where)
    user = conf.type == ChangeMethod.kUserChange and conf.user_type
    name = user or ChangeMethod.Name(conf.type)
    at = ("updater", "learning_rate", "type")
    build = RATES.get(name, who=".".join(at), at=at)
    check_not_negative(conf.base_lr, "learning_rate.base_lr")
    steps = conf.warmup_steps
    factor = conf.warmup_factor
    check_not_negative(steps, "learning_rate.warmup_steps")
    check_field(0 <= factor <= 1, "learning_rate.warmup_factor", "a number in [0, 1]", factor, "0.1 is usual")
    return _with_warmup(build(conf), steps, factor) if steps else build(conf)
