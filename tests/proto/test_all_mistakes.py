"""Every mistake in a job's text is reported at once, each with its place, and none that only follows from another."""

from __future__ import annotations

import re

import pytest

from netpart.errors import SHOWN, ConfigError
from netpart.proto.all_mistakes import collect_mistakes
from netpart.proto.reader import read_job_text

MANY = """nam: "x" train_steps: 1
updater { type: kSGDD learning_rate { type: kFixed base_lr: "0.1" } }
neuralnet {
  layer { name: "data" type: kSyntheticInput store_conf { batchsize: ten shape: [3, x, 4] shap: [1, 2] } bogus { } }
  layer { name: "a" type: kRelu srclayers: "data" [one.conf] { a: 1 } }
}
"""


def places(text: str) -> list[str]:
    """The places of what is wrong with ``text``, in order."""
    with pytest.raises(ConfigError) as raised:
        read_job_text(text, "job.conf")
    return [re.findall(r"^job\.conf:(\d+:\d+): ", line)[0] for line in str(raised.value).splitlines()]


def test_all_mistakes_are_reported_with_their_places() -> None:
    assert places(MANY) == ["1:1", "2:17", "2:61", "4:70", "4:85", "4:91", "4:106", "5:27", "5:56"]


@pytest.mark.parametrize(
    "text",
    [
        'neuralnet {\n  layer { name: "a" type: kReLU\n  layer { name: "b" }\n  layer { name: "c" }\n}',
        'neuralnet {\n  layer { name: "a" type: }\n}',
        'neuralnet {\n  layer { name: "a" type: kReLU > }\n}',
        "train_steps",
        "neuralnet {",
    ],
)
def test_what_only_follows_is_not_reported(text: str) -> None:
    assert len(places(text)) == 1


def test_more_than_are_shown_are_counted() -> None:
    with pytest.raises(ConfigError) as raised:
        read_job_text("\n".join(f"wrong{i}: {i}" for i in range(SHOWN + 7)))
    *_, last = str(raised.value).splitlines()
    assert last == "and 7 more, which are listed once some of these are corrected"


def test_all_required_fields_that_are_missing_are_reported() -> None:
    assert places("neuralnet {\n  layer { type: kReLU }\n  layer { type: kReLU }\n}\ntrain_steps: -1") == [
        "2:3", "3:3", "5:1",
    ]  # fmt: skip


def test_a_value_with_points_is_one_mistake() -> None:
    text = 'neuralnet { layer { name: "a" type: nn.Linear } }'
    (line,) = collect_mistakes(text, "job.conf").lines()
    assert "got nn.Linear; a fully connected layer is kInnerProduct" in line


def test_of_a_huge_text_one_mistake_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netpart.proto.all_mistakes.LARGE", 1000)
    assert len(places("a: 1\n" * 10)) > 1
    assert places("a: 1\n" * 1000) == ["1:1"]
