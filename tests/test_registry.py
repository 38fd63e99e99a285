"""Names to things, and what a person reads who mistypes one."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata

import pytest

from netpart.errors import ConfigError
from netpart.registry import Registry


class Relu: ...


class Softmax: ...


@pytest.fixture
def layers() -> Registry[type]:
    registry: Registry[type] = Registry("layer type", "netpart.layers")
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


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Lets packages offer some entry points."""

    def offered(*entries: metadata.EntryPoint) -> None:
        monkeypatch.setattr("netpart.registry._entry_points", lambda: metadata.EntryPoints(entries))

    return offered


def test_installed_packages_add_their_own(layers: Registry[type], offer: Callable[..., None]) -> None:
    offer(entry("kMine", "fractions:Fraction"), metadata.EntryPoint("kOther", "fractions:Fraction", "netpart.updaters"))
    assert layers.names() == ("kCudnnReLU", "kMine", "kReLU", "kSoftmax")
    assert layers.get("kMine").__name__ == "Fraction"


def test_an_entry_that_does_not_load_is_named(layers: Registry[type], offer: Callable[..., None]) -> None:
    offer(entry("kMine", "fractions:Fractoin"))
    with pytest.raises(ConfigError, match="layer type kMine: expected fractions:Fractoin to load, got AttributeError"):
        layers.get("kMine")


def test_members_are_imported_when_they_are_asked_for() -> None:
    registry: Registry[type] = Registry("number", members={"good": "fractions:Fraction", "bad": "no_such_module:Thing"})
    assert registry.names() == ("bad", "good")
    assert registry.get("good").__name__ == "Fraction"
    with pytest.raises(ModuleNotFoundError):
        registry.get("bad")


def test_a_member_of_netpart_is_replaced_by_nobody(offer: Callable[..., None]) -> None:
    registry: Registry[type] = Registry("number", "netpart.layers", {"good": "fractions:Fraction"})
    with pytest.raises(ConfigError, match="number good: expected one thing of that name"):
        registry.add("good")(Relu)
    offer(entry("good", "decimal:Decimal"))
    with pytest.raises(ConfigError, match=r"number good: .*fractions:Fraction and decimal:Decimal"):
        registry.get("good")


def test_items_are_in_the_order_of_their_list(offer: Callable[..., None]) -> None:
    registry: Registry[type] = Registry("number", "netpart.layers", {"z": "fractions:Fraction", "a": "decimal:Decimal"})
    offer(entry("kMine", "fractions:Fraction"))
    registry.add("b")(Relu)
    assert [name for name, _ in registry.items()] == ["z", "a", "b", "kMine"]
