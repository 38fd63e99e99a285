"""The builder refuses nets that are none, says where the mistake is, and keeps the order that was written."""

from __future__ import annotations

import pytest

from netpart.errors import ConfigError, FieldPath
from netpart.graph.build import build_net
from tests.graph.jobs import data, job, layer, product

LOSS = layer("loss", "kSoftmaxLoss", "top", "data")
SHARING = "innerproduct_conf { num_output: 4 bias_term: false } param { %s }"


def shared(name: str, source: str, param: str) -> str:
    return layer(name, "kInnerProduct", source, more=SHARING % param)


OWN = shared("below", "data", 'name: "w"')

MISTAKES: dict[str, tuple[list[str], str, FieldPath]] = {
    "doubled": ([data(), product("top", "data", 4), product("top", "data", 4)], "a second layer", (2, "name")),
    "unknown source": ([data(), product("top", "dat", 4), LOSS], "did you mean data", (1, "srclayers", 0)),
    "cycle": (
        [data(), layer("a", "kAdd", "b", "data"), layer("b", "kReLU", "a"), product("top", "b", 4), LOSS],
        "a -> b -> a", (1, "srclayers", 0),
    ),
    "a layer that reads itself": ([data(), layer("a", "kReLU", "a")], "a -> a", (1, "srclayers", 0)),
    "rank": ([data(), layer("conv", "kConvolution", "data", more="convolution_conf { num_filters: 1 }")], "axes",
             (1, "convolution_conf")),
    "shares nothing": ([data(), OWN, shared("top", "below", 'share_from: "v"')], "no param of that name",
                       (2, "param", 0, "share_from")),
    "shares another shape": ([data(shape="shape: 3"), OWN, shared("top", "below", 'share_from: "w"')], "(4, 3)",
                             (2, "param", 0, "share_from")),
    "doubled param": (
        [data(), layer("top", "kInnerProduct", "data",
                       more='innerproduct_conf { num_output: 4 } param { name: "w" } param { name: "w" }')],
        "top/w", (1, "param", 1, "name"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_and_located(name: str) -> None:
    layers, says, at = MISTAKES[name]
    with pytest.raises(ConfigError) as caught:
        build_net(job(*layers))
    assert says in str(caught.value)
    assert caught.value.at is not None
    assert caught.value.at[: 2 + len(at)] == ("neuralnet", "layer", *at)


def test_a_param_name_that_two_layers_use_must_be_said_in_full() -> None:
    again = shared("again", "below", 'name: "w"')
    with pytest.raises(ConfigError, match="write layer/param"):
        build_net(job(data(), OWN, again, shared("top", "again", 'share_from: "w"')))
    net = build_net(job(data(), OWN, again, shared("top", "again", 'share_from: "again/w"')))
    assert net.by_name["top"].params == net.by_name["again"].params


def test_layers_stand_after_their_sources_and_otherwise_as_written() -> None:
    net = build_net(job(LOSS, product("top", "below", 4), layer("side", "kReLU", "data"), data(), OWN))
    assert [node.name for node in net.nodes] == ["data", "side", "below", "top", "loss"]


def test_a_phase_without_layers_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least one layer in phase test"):
        build_net(job(data(more="include: kTrain")), "test")


def test_micro_batches_have_rows_of_their_own() -> None:
    assert build_net(job(data(), product("top", "data", 4), LOSS), rows=2).by_name["loss"].layer.output.shape == (2, 4)


def test_only_what_trains_returns_gradients() -> None:
    conf = job(data(), layer("side", "kReLU", "data"), product("top", "data", 4), LOSS)
    net, tested = build_net(conf), build_net(conf, "test")
    assert [node.name for node in net.nodes if net.trained[node.index]] == ["top", "loss"]
    assert not any(tested.trained)
