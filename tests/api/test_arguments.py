"""Arguments of the Python API are checked, warnings name the caller's line, and jobs stay as they were."""

from __future__ import annotations

import warnings

import pytest

import netpart
from netpart.resources import zoo_folder

FIVE = zoo_folder() / "schemes" / "five-layers.conf"
LAYERS = [layer.name for layer in netpart.load(FIVE).proto.neuralnet.layer]


@pytest.mark.parametrize(
    ("call", "arguments", "told"),
    [
        (netpart.verify, {"dtype": "float16"}, "dtype: expected float32 or float64, got 'float16'"),
        (netpart.verify, {"steps": 0}, "steps: expected 1 or more, got 0"),
        (netpart.plan, {"by": "guess"}, "by: expected kernels or flops or profile, got 'guess'"),
        (netpart.plan, {"objective": "joy"}, "objective: expected seconds or profit or makespan, got 'joy'"),
        (netpart.simulate, {"by": "guess"}, "by: expected time or flops, got 'guess'"),
        (netpart.check, {"scheme": "niave"}, "did you mean naive"),
        (netpart.run, {"launcher": "nowhere"}, "^launcher: expected a known launcher"),
        (netpart.simulate, {"speeds": (1, 2, 3)}, "^speeds: expected"),
    ],
)
def test_a_wrong_argument_is_named(call: object, arguments: dict[str, object], told: str) -> None:
    assert callable(call)
    with pytest.raises(netpart.ConfigError, match=told):
        call(FIVE, 2, **arguments)


def test_a_layer_that_is_not_there() -> None:
    with pytest.raises(netpart.ConfigError, match=r"got 'fc33'; did you mean fc3"):
        netpart.explain(FIVE, "fc33", 2)


@pytest.mark.parametrize("call", [netpart.check, netpart.partition])
def test_a_warning_names_the_line_of_the_caller(call: object) -> None:
    assert callable(call)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call(netpart.load(FIVE, [f"{name}.partition_dim=0" for name in LAYERS]), 2, scheme="naive")
    assert {warning.filename for warning in found} == {__file__}


def test_a_job_stays_as_it_was() -> None:
    job = netpart.load(FIVE)
    before = job.proto.SerializeToString()
    netpart.check(job, 3, scheme="data", override=True)
    netpart.verify(job, 2, dtype="float32", steps=1)
    assert job.proto.SerializeToString() == before
    assert job.workers is None


def test_functions_stay_functions_when_packages_of_their_names_are_imported() -> None:
    from netpart.plan import text
    from netpart.verify import report

    assert callable(netpart.plan)
    assert callable(netpart.verify)
    assert text.__name__ == "netpart.plan.text"
    assert report.VerifyReport.__module__ == "netpart.verify.report"
