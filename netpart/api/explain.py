"""netpart.explain: why the helpers around a layer are there, and other cuts of it."""

from __future__ import annotations

from dataclasses import dataclass

from netpart.api.job_argument import JobOrPath, explained_job, place_job
from netpart.plan.partition import partition_by_scheme
from netpart.plan.text.alternatives import CutAlternative, find_alternatives
from netpart.plan.text.explain import LayerExplanation, explain_layer


@dataclass(frozen=True)
class ExplainedLayer:
    """A layer of a cut net, and its cuts: the present one and other even ones, in order of the bytes that a step sends.

    ``layer`` has the regions that each part computes and needs, and the helpers before and after it with the bytes that
    cross workers in a step.
    """

    layer: LayerExplanation
    cuts: tuple[CutAlternative, ...]


def explain(
    job: JobOrPath, layer: str, workers: int | None = None, *, scheme: str | None = None, override: bool = False
) -> ExplainedLayer:
    """Explain the layer called ``layer`` in the training net of ``job``, cut over ``workers``.

    The other arguments are those of ``partition``. Raises what that raises, and ConfigError with the nearest names for
    a layer that the training net does not have.
    """
    job = place_job(job, workers, scheme, override)
    with explained_job(job):
        cut = partition_by_scheme(job.proto, job.worker_count, job.folder)
        return ExplainedLayer(explain_layer(cut, layer), tuple(find_alternatives(cut, layer, job.folder)))
