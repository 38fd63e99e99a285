"""netpart.draw: the drawing of a cut net."""

from __future__ import annotations

from collections.abc import Iterable

from netpart.api.job_argument import JobOrPath, check_choice, place_job
from netpart.choices import AUTO, DIRECTIONS, DOWN, FOLDS, JOB_FORMATS, LOOK_FORMATS, PAGE, PHASES, TRAIN
from netpart.draw.job_drawings import draw_job_groups, draw_job_net, draw_job_schedule
from netpart.errors import ConfigError

SUBJECTS = ("net", "turns", "groups")


def draw(
    job: JobOrPath, workers: int | None = None, *, what: str = "net", format: str = "svg", phase: str = "train",
    fold: str = AUTO, helpers: bool = True, direction: str = DOWN, scheme: str | None = None, override: bool = False,
) -> str:  # fmt: skip
    """The text of a drawing of ``job``, cut over ``workers``.

    ``what`` is "net", the partitioned net of ``phase`` in ``format`` ("svg", "dot", "txt", "json"), or of training as a
    page ("html"); or as SVG "turns", the schedule of the workers over time, or "groups", the worker groups and their
    servers. ``fold``: "blocks" draws repeated blocks of layers as one box, "auto" does in nets of many parts. Without
    ``helpers`` they become arrows. ``direction`` is "TB", downwards, or "LR", to the right. The other arguments are
    those of ``partition``. Raises what that raises, and ConfigError for an unknown choice, and for one that ``what`` or
    ``format`` cannot show.
    """
    check_choice("what", what, SUBJECTS)
    check_choice("format", format, JOB_FORMATS if what == "net" else ("svg",))
    check_choice("phase", phase, PHASES)
    check_choice("fold", fold, FOLDS)
    check_choice("direction", direction, DIRECTIONS)
    chosen = {"phase": phase != TRAIN, "fold": fold != AUTO, "helpers": not helpers, "direction": direction != DOWN}
    _refuse_looks([name for name, other in chosen.items() if other], what, format)
    job = place_job(job, workers, scheme, override)
    if format == PAGE:
        from netpart.draw.page.job_page import draw_job_page

        return draw_job_page(job)
    if what == "net":
        return draw_job_net(job, format, phase, fold, helpers, direction)
    return draw_job_schedule(job) if what == "turns" else draw_job_groups(job)


def _refuse_looks(chosen: Iterable[str], what: str, format: str) -> None:
    """Raise ConfigError for an argument about the look of a net that the drawing cannot have."""
    for name in chosen:
        if what != "net":
            raise ConfigError(name, 'what="net"', repr(what), f"omit {name} or what")
        if format not in LOOK_FORMATS[name]:
            raise ConfigError(name, f"a format out of {', '.join(LOOK_FORMATS[name])}", format, f"omit {name}")
