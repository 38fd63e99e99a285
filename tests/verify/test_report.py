"""What comparisons say together: classes, bounds, the first that leaves its bound, JSON."""

from __future__ import annotations

import json
from math import inf

import pytest

from netpart.choices import REFERENCE
from netpart.verify.difference import TensorDifference
from netpart.verify.report import BITWISE, REORDERED, ROUNDING, SEMANTIC, TensorComparison, VerifyReport

EPS = 2.0**-52


def comparison(
    relative: float, terms: int = 10, layer: str = "a", kind: str = "gradient", step: int = 0
) -> TensorComparison:
    difference = TensorDifference(relative / 2, relative, relative / EPS)
    return TensorComparison("train", step, kind, layer, layer, difference, terms, "float64")


def report(*comparisons: TensorComparison) -> VerifyReport:
    return VerifyReport("net", 3, 2, "float64", 1, comparisons, REFERENCE)


@pytest.mark.parametrize(
    ("relative", "terms", "category", "holds"),
    [
        (0.0, 0, BITWISE, True),
        (EPS, 0, SEMANTIC, True),
        (160 * EPS, 10, REORDERED, True),
        (161 * EPS, 10, SEMANTIC, True),
        (1e-11, 10**6, REORDERED, True),
        (2e-11, 10**6, SEMANTIC, False),
        (inf, 10, SEMANTIC, False),
    ],
)
def test_a_class_follows_from_the_terms(relative: float, terms: int, category: str, holds: bool) -> None:
    found = comparison(relative, terms)
    assert (found.category, found.holds) == (category, holds)


def test_float32_has_bounds_of_its_own() -> None:
    found = TensorComparison("train", 0, "gradient", "a", "a", TensorDifference(1.0, 2.0**-20, 1.0), 1, "float32")
    assert (found.bound, found.law, found.category) == (2.0**-19, 1e-5, REORDERED)


@pytest.mark.parametrize(("relative", "category", "holds"), [(7e-3, ROUNDING, True), (9e-3, SEMANTIC, False)])
def test_what_the_uncut_net_errs_itself_is_rounding(relative: float, category: str, holds: bool) -> None:
    found = TensorComparison("train", 0, "gradient", "a", "a", TensorDifference(1.0, relative, 1.0), 1, "float32", 1e-3)
    assert (found.bound, found.category, found.holds) == (8e-3, category, holds)


def test_the_first_that_leaves_its_bound_need_not_break_the_law() -> None:
    within = report(comparison(EPS), comparison(1e-12, layer="b"), comparison(1e-12, layer="c"))
    assert within.holds
    assert within.first is not None
    assert within.first.layer == "b"
    beyond = report(*within.comparisons, comparison(1e-3, layer="d"))
    assert not beyond.holds
    assert beyond.first == within.first


def test_a_layer_is_as_bad_as_its_worst_tensor() -> None:
    found = report(
        comparison(EPS, kind="activation"), comparison(30 * EPS), comparison(1e-9, layer="b"), comparison(2 * EPS, 0)
    )
    assert list(found.layers) == ["a", "b"]
    assert found.layers["a"].worst.category == SEMANTIC
    assert found.layers["a"].worst.difference.relative == 2 * EPS
    assert found.layers["a"].difference.relative == 30 * EPS
    assert found.kinds["a", "activation"].worst.category == REORDERED
    assert found.whole.worst.layer == "b"


def test_it_is_json() -> None:
    found = report(comparison(0.0), comparison(inf), comparison(1e-3, step=1))
    read = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert (read["holds"], read["class"], read["law"]) == (False, SEMANTIC, 1e-11)
    assert read["first"] == "a: gradient in train step 0: error inf, bound 3.6e-14"
    keys = ("relative", "class", "holds", "terms")
    assert [tuple(c[key] for key in keys) for c in read["comparisons"]] == [
        (0.0, BITWISE, True, 10), (None, SEMANTIC, False, 10), (1e-3, SEMANTIC, False, 10),
    ]  # fmt: skip
    assert [(row["layer"], row["kind"], row["class"], row["ulp"]) for row in read["layers"]] == [
        ("a", "gradient", SEMANTIC, None)
    ]
