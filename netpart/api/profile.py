"""netpart.profile: the time and memory of training steps, by layer and worker."""

from __future__ import annotations

from netpart.api.job_argument import JobOrPath, check_choice, explained_job, place_job, positive_number
from netpart.choices import LOCAL_LAUNCHERS
from netpart.measure.profile import ProfiledRun, profile_job


def profile(
    job: JobOrPath, workers: int | None = None, *, steps: int = 10, launcher: str = "local", transport: str = "auto",
    scheme: str | None = None, override: bool = False,
) -> ProfiledRun:  # fmt: skip
    """Train ``job`` for ``steps`` steps, cut over ``workers``, and measure them; nothing is saved.

    Returns a ProfiledRun: ``profile`` has the median seconds of a step by layer and worker, and the bytes of memory;
    ``timeline`` has every event, and a notebook draws it. ``launcher`` is "local", a process per worker, or "threads";
    ``transport`` is that between workers. The other arguments are those of ``partition``. Raises what ``run`` raises.
    """
    check_choice("launcher", launcher, LOCAL_LAUNCHERS)
    steps = positive_number("steps", steps)
    job = place_job(job, workers, scheme, override)
    with explained_job(job):
        return profile_job(job, steps=steps, launcher=launcher, transport=transport)
