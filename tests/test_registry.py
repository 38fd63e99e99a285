"""Names to things, and what a person reads who mistypes one."""

from __future__ import annotations

from importlib import metadata

import pytest

from netpart.errors import ConfigError
from netpart.registry import Registry


class Relu: ...


class Softmax: ...


@pytest.fixture
def layers() -> Registry[type]:
    registry: Registry[type] = Registry("layer type")
    registry.add("kReLU", "kCudnnReLU")(Relu)
    registry.add("kSoftmax")(Softmax)
    return registry


def test_add_returns_what_it_files_under_every_name(layers: Registry[type]) -> None:
    assert layers.add("kOther")(Relu) is Relu
    assert layers.get("kReLU") is layers.get("kCudnnReLU") is layers.get("kOther") is Relu
    assert layers.names() == ("kCudnnReLU", "kOther", "kReLU", "kSoftmax")


def test_an_unknown_name_is_answered_with_the_nearest(layers: Registry[type]) -> None:
    at = ("neuralnet", "layer", 2, "type")
    with pytest.raises(
        ConfigError, match="fc1: expected a known layer type, got 'krelu'; did you mean kReLU"
    ) as caught:
        layers.get("krelu", who="fc1", at=at)
    assert caught.value.at == at


def test_a_name_near_nothing_is_answered_with_all(layers: Registry[type]) -> None:
    with pytest.raises(ConfigError, match=r"layer type: .*'42'; all 3: kCudnnReLU, kReLU, kSoftmax"):
        layers.get("42")


def test_a_name_means_one_thing(layers: Registry[type]) -> None:
    layers.add("kReLU")(Relu)
    with pytest.raises(ConfigError, match="layer type kReLU: expected one thing of that name"):
        layers.add("kReLU")(Softmax)


def entry(name: str, value: str) -> metadata.EntryPoint:
    return metadata.EntryPoint(name, value, "netpart.layers")


def offer(monkeypatch: pytest.MonkeyPatch, *entries: metadata.EntryPoint) -> None:
    monkeypatch.setattr(metadata, "entry_points", lambda group: [e for e in entries if e.group == group])


def test_installed_packages_add_their_own(layers: Registry[type], monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, entry("kMine", "fractions:Fraction"))
    layers.load_entry_points("netpart.updaters")
    assert "kMine" not in layers.names()
    layers.load_entry_points("netpart.layers")
    assert layers.get("kMine").__name__ == "Fraction"


def test_an_entry_that_does_not_load_is_named(layers: Registry[type], monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, entry("kMine", "fractions:Fractoin"))
    with pytest.raises(ConfigError, match="layer type kMine: expected fractions:Fractoin to load, got AttributeError"):
        layers.load_entry_points("netpart.layers")
