"""Calibration of this host: its figures, measured once for all jobs and kept if no other work disturbed them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from netpart.collectives.network import LinkCost
from netpart.launch.control.transport_choice import choose_transport
from netpart.measure.core_speeds import measure_core_speeds
from netpart.measure.instruction_seconds import measure_instructions
from netpart.measure.link_speed import measure_link
from netpart.measure.other_load import DISTURBED, OtherLoad
from netpart.measure.sum_speed import measure_sums
from netpart.plan.timings.host_figures import HostFigures, read_host_figures, write_host_figures
from netpart.plan.timings.product_speed import CoreWait
from netpart.threads import available_cores

TRIES = 3
"""How often something is measured until nothing disturbs it."""

Note = Callable[[str], None]
Measured = TypeVar("Measured")


def host_figures(note: Note, transport: str | None = None) -> HostFigures:
    """The figures of this host, measured if none are kept; ``note`` gets a line on what takes time or is disturbed.

    With ``transport``, as ``run`` names it, also those of the link between two processes of this host.
    """
    found = read_host_figures() or _new_figures(note)
    return found if transport is None else _with_link(found, choose_transport(transport, "local"), note)


def _new_figures(note: Note) -> HostFigures:
    """The figures, measured now, and kept if nothing disturbed them."""
    note("calibration: measuring the cores of this host, once for all jobs ...")
    found, quiet = measure_undisturbed(_measure_cores, note, "the speeds of the cores")
    if quiet:
        write_host_figures(found)
    return found


def _with_link(figures: HostFigures, transport: str, note: Note) -> HostFigures:
    """The figures with the link of a transport, measured if it is not kept."""
    if transport in figures.links:
        return figures
    note(f"calibration: measuring messages over {transport} between two processes, once for all jobs ...")
    core = CoreWait(figures.speed)
    links, quiet = measure_undisturbed(lambda: _measure_links(transport), note, f"the link over {transport}", core)
    found = figures.with_link(transport, *links)
    # What is kept is read again: the speeds in ``figures`` may be disturbed ones.
    kept = read_host_figures()
    if quiet and kept is not None:
        write_host_figures(kept.with_link(transport, *links))
    return found


def _measure_links(transport: str) -> tuple[LinkCost, LinkCost]:
    """The link of a transport, and that of sums over it."""
    link = measure_link(transport)
    return link, measure_sums(transport, link.latency)


def kept_link(note: Note, transport: str = "auto") -> LinkCost:
    """The link between two processes of this host over ``transport``."""
    chosen = choose_transport(transport, "local")
    return host_figures(note, transport).links[chosen]


def _measure_cores() -> HostFigures:
    """All figures but the links."""
    speeds = measure_core_speeds(available_cores())
    instruction, step = measure_instructions()
    return HostFigures(*speeds, instruction=instruction, step=step)


class _Disturbance(NamedTuple):
    """How many ``cores`` other processes used during a measurement, and whether the core was ``slowed`` after it."""

    cores: float
    slowed: bool

    def __str__(self) -> str:
        if self.cores <= DISTURBED:
            return "a core was slower than before, as others use it too"
        return f"other processes used {self.cores:.2f} cores"


def measure_undisturbed(
    measure: Callable[[], Measured], note: Note, what: str, core: CoreWait | None = None
) -> tuple[Measured, bool]:
    """What ``measure`` returns, and True if nothing disturbed it; repeated until then, at most TRIES times.

    It is disturbed if other processes use cores meanwhile, and if the ``core`` is slower than calibrated afterwards.

    Of disturbed measurements the least disturbed one is returned, and ``note`` gets a line that says by what.
    """
    tries: list[tuple[_Disturbance, Measured]] = []
    for count in range(1, TRIES + 1):
        load = OtherLoad()
        found = measure()
        disturbance = _Disturbance(load.cores(), core is not None and core.wait())
        if disturbance.cores <= DISTURBED and not disturbance.slowed:
            return found, True
        tries.append((disturbance, found))
        if count < TRIES:
            note(f"calibration: {disturbance}; try {count + 1} of {TRIES} ...")
    disturbance, found = min(tries, key=lambda pair: pair[0])
    note(
        f"calibration: expected a quiet host for {what}, but {disturbance} in the best of {TRIES} tries; this once its "
        "figures are used and not kept, and the next command measures again"
    )
    return found, False
