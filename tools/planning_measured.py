"""The tables of docs/planning.md that were measured with two workers: predicted steps, and plans that are taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from benchmarks.choices import BEST_GOAL, EQUAL, WORST_GOAL, behind, best_plan, is_best, measured_seconds
from benchmarks.choices import NETS as CHOSEN
from benchmarks.predictions import MEDIAN_GOAL, SCHEMES, TAIL_GOAL
from netpart.units import seconds_text
from tools.results_page import Json, about, missing


def predicted_table(found: Json | None) -> str:
    """The error of the prediction for each net and scheme, and the sentences below."""
    if found is None:
        return missing("predictions")
    *rows, middle, tail = found["rows"]
    lines = [_net_line(list(of_net)) for _, of_net in groupby(rows, key=lambda row: row["work"].rpartition(", ")[0])]
    return "\n".join(["", *_heading(["net", *SCHEMES]), *lines, "", *_error_text(found, middle, tail), ""])


def _heading(names: Sequence[str]) -> Iterator[str]:
    yield f"| {' | '.join(names)} |"
    yield f"|---{'|--:' * (len(names) - 1)}|"


def _net_line(rows: Sequence[Json]) -> str:
    """The line of a net: the measured step under each scheme, and the error of its prediction."""
    cells = {row["work"].rpartition(", ")[2]: f"{_time_text(row['peer'])}, {_error_of(row):+.1%}" for row in rows}
    return f"| {' | '.join([rows[0]['work'].rpartition(', ')[0], *(cells.get(each, '–') for each in SCHEMES)])} |"


def _error_of(row: Json) -> float:
    """The relative error of a prediction."""
    return float(row["netpart"] / row["peer"] - 1)


def _time_text(seconds: float) -> str:
    """Seconds without digits that runs do not repeat."""
    return seconds_text(float(f"{seconds:.3g}"))


def _error_text(found: Json, middle: Json, tail: Json) -> Iterator[str]:
    """What holds of all plans, and the conditions."""
    yield f"The median error is {middle['netpart']:.1%} (goal {MEDIAN_GOAL:.0%}), that at the 95th percentile"
    loads = [each["load_of_others"] for each in found["rounds"]]
    yield f"{tail['netpart']:.1%} (goal {TAIL_GOAL:.0%}). {_load_text(loads)}"
    yield ""
    yield about(found)


def _load_text(loads: Sequence[float | None], what: str = "rounds") -> str:
    """What other processes used meanwhile."""
    most = max((load for load in loads if load is not None), default=0.0)
    return f"Other processes used at most {most:.2f} cores in each of {len(loads)} {what}."


def chosen_table(found: Json | None) -> str:
    """The plan that is taken for each net, the best one, and the sentences below."""
    if found is None:
        return missing("choices")
    head = ["net", "plan that is taken", "predicted", "measured", "fastest other plan", "measured", "plans run"]
    rows = found["rows"]
    return "\n".join(["", *_heading(head), *map(_choice_line, rows), "", *_choice_text(rows), "", about(found), ""])


def _choice_line(row: Json) -> str:
    """The line of a net."""
    measured = measured_seconds(row)
    told, taken = row["plans"][row["taken"]]
    others = {name: seconds for name, seconds in measured.items() if name != row["taken"]}
    other = min(others, key=others.__getitem__, default=None)
    against = ["–", "–"] if other is None else [other, f"{others[other] / taken - 1:+.1%}"]
    cells = [CHOSEN[row["net"]].title, row["taken"], _time_text(told), _time_text(taken), *against, str(len(measured))]
    return f"| {' | '.join(cells)} |"


def _choice_text(rows: Sequence[Json]) -> Iterator[str]:
    """How often the best plan is taken, and how far the others are from it."""
    best = sum(map(is_best, rows))
    yield f"In {best} of {len(rows)} nets no plan is faster by more than {EQUAL:.0%} (goal: {BEST_GOAL:.0%} of nets)."
    worst = max(rows, key=behind)
    if behind(worst) > 0:
        title = CHOSEN[worst["net"]].title
        yield f"The plan farthest behind is that of {title}: {behind(worst):.1%} behind *{best_plan(worst)}*"
        yield f"(goal: {WORST_GOAL:.0%})."
    yield _load_text([row["load"] for row in rows], "nets")
