"""Profiles: PipeDream's text is read, and what is none is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.collectives.network import LinkCost
from netpart.errors import ConfigError
from netpart.plan.price.devices import Devices, DeviceSpec, equal_devices
from netpart.plan.price.net_profile import read_profile
from netpart.plan.search.pipelines import plan_pipelines
from netpart.plan.stages.downsets import find_downsets

FIGURES = "forward_compute_time=1.5, backward_compute_time=2.5, activation_size=10.0, parameter_size=4.0"
TEXT = f"""node1 -- Input0 -- {FIGURES}
node3 -- Add -- {FIGURES}
node2 -- Conv2d(3, 64, kernel_size=(3, 3)) -- {FIGURES}
node4 -- __getitem__(1) -- {FIGURES}
\tnode1 -- node2
\tnode2 -- node3
\tnode2 -- node4
"""


def read(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "graph.txt"
    path.write_text(text)
    return path


def test_layers_stand_behind_those_that_they_read(tmp_path: Path) -> None:
    profile = read_profile(read(tmp_path, TEXT))
    assert [layer.name for layer in profile.layers] == ["node2", "node3"]
    assert profile.edges == ((0, 1),)
    layer = profile.layers[0]
    assert (layer.kind, layer.forward, layer.backward) == ("Conv2d(3, 64, kernel_size=(3, 3))", 1.5e-3, 2.5e-3)
    assert (layer.activation, layer.parameters) == (10.0, 4.0)


SEVERAL = TEXT.replace("activation_size=10.0", "activation_size=[6.0; 3.0; 1.0]")
"""The layers have three outputs, as those of recurrent nets."""


@pytest.mark.parametrize("listed", ["[6.0; 3.0; 1.0]", "[6.0;3.0;1.0]", "[10.0]", "[6.0; 4]"])
def test_a_layer_of_several_outputs_lists_their_bytes(listed: str, tmp_path: Path) -> None:
    several = TEXT.replace("activation_size=10.0", f"activation_size={listed}")
    assert read_profile(read(tmp_path, several)) == read_profile(read(tmp_path, TEXT))


def test_what_pipedream_partitioned_names_its_stages(tmp_path: Path) -> None:
    staged = SEVERAL.replace("parameter_size=4.0", "parameter_size=4.0 -- stage_id=1")
    assert read_profile(read(tmp_path, staged)) == read_profile(read(tmp_path, TEXT))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("node1 -- Conv2d\n", r"graph.txt:1:1: profile: expected NAME -- TYPE -- forward_compute_time=, "),
        (f"a -- ReLU -- {FIGURES}\nb -- ReLU -- forward_compute_time=x\n", "graph.txt:2:1: profile"),
        (f"a -- ReLU -- {FIGURES}\n\ta -- b\n", "graph.txt:2:1: profile: expected an edge between layers, got 'b'"),
        (f"a -- R -- {FIGURES}\nb -- R -- {FIGURES}\n\ta -- b\n\tb -- a\n", "layers without a cycle, got a, b"),
        ("\n", "expected a profile, got no layers"),
        (SEVERAL.replace("; 3.0", "; x"), r"graph.txt:1:1: profile: .*correct .*float: ' x'"),
        (SEVERAL.replace("[6.0", "[-6.0"), r"graph.txt:1:1: profile: .*'\[-6.0; 3.0; 1.0\]', a number of 0 or more"),
        (TEXT.replace("activation_size=10.0", "activation_size=inf"), r"graph.txt:1:1: profile: .*number of 0 or more"),
    ],
)
def test_what_is_no_profile_is_refused(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=told):
        read_profile(read(tmp_path, text))


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nothing\.txt"):
        read_profile(tmp_path / "nothing.txt")


def branches(layers: int) -> str:
    """Layers that all read the first."""
    names = [f"n{i}" for i in range(layers)]
    edges = "".join(f"\tn0 -- {name}\n" for name in names[1:])
    return "".join(f"{name} -- ReLU -- {FIGURES}\n" for name in names) + edges


def test_branches_can_be_cut_in_any_way_that_keeps_their_order(tmp_path: Path) -> None:
    found = find_downsets(read_profile(read(tmp_path, branches(4))))
    assert (len(found), found.all) == (1 + 8, True)
    assert found.crossing.tolist() == [0.0] + [10.0] * 7 + [0.0]
    assert found.nested().sum() == 8 + 3**3 - 2**3


def test_too_many_branches_are_cut_in_their_order(tmp_path: Path) -> None:
    found = find_downsets(read_profile(read(tmp_path, branches(14))))
    assert (len(found), found.all) == (1 + 14, False)


def test_a_profile_has_its_table(tmp_path: Path) -> None:
    profile = read_profile(Path(__file__).parents[2] / "data" / "pipedream" / "vgg16.txt")
    rows = {row.name: row for row in plan_pipelines(profile, equal_devices(8))}
    assert next(iter(rows)) == "stages"
    assert rows["stages"].pipeline.replicas == "7-1"
    assert rows["one worker"].seconds == pytest.approx(profile.work)
    assert rows["data"].moved == pytest.approx(2 * 7 * sum(layer.parameters for layer in profile.layers))
    assert [len(row.memory) for row in rows.values()] == [len(row.workers) for row in rows.values()]
    assert all(row.gap >= 0 for row in rows.values())


def test_devices_are_taken_for_the_slowest(tmp_path: Path) -> None:
    profile = read_profile(read(tmp_path, branches(4)))
    link = LinkCost(bandwidth=1e3)
    slow = Devices((DeviceSpec("a", 3.0), DeviceSpec("b", 1.5)), link)
    found = {row.name: row.seconds for row in plan_pipelines(profile, slow)}
    assert found["one worker"] == pytest.approx(profile.work)
    parameters = sum(layer.parameters for layer in profile.layers)
    assert found["data"] == pytest.approx((2 * profile.work + 2 * parameters / 1e3) / 2)


def memory_limited(nbytes: float) -> Devices:
    return equal_devices(8, memory=nbytes, link=LinkCost(bandwidth=1e9))


def test_memory_of_devices_is_respected() -> None:
    """On 8 workers without a limit a stage of vgg16 needs 3.9 GiB."""
    profile = read_profile(Path(__file__).parents[2] / "data" / "pipedream" / "vgg16.txt")
    free, limited = ({row.name: row for row in plan_pipelines(profile, memory_limited(most))} for most in (1e12, 4e9))
    assert max(free["stages"].memory) > 4e9 > max(limited["stages"].memory)
    assert limited["stages"].seconds > free["stages"].seconds
    assert limited["data"] == free["data"]
    assert limited["one worker"].refused == "needs 15.2 GiB on each worker, which has 3.7 GiB"
    assert limited["straight stages"].refused.startswith("no cut into stages for 8 workers without replicas fits")


def test_what_an_updater_keeps_counts() -> None:
    profile = read_profile(Path(__file__).parents[2] / "data" / "pipedream" / "vgg16.txt")
    plain, adam = (
        {row.name: row for row in plan_pipelines(profile, memory_limited(1e12), states)} for states in (0, 2)
    )
    parameters = sum(layer.parameters for layer in profile.layers)
    assert adam["data"].memory[0] - plain["data"].memory[0] == pytest.approx(2 * parameters)


def test_a_device_without_room_is_left_out(tmp_path: Path) -> None:
    """The small one is the fastest; the net fits each of the others alone, or is shared by these."""
    profile = read_profile(read(tmp_path, branches(4)))
    small, large = DeviceSpec("small", 4.0, 20.0), DeviceSpec("large", 1.0, 1e6)
    found = {row.name: row for row in plan_pipelines(profile, Devices((large, small, large), LinkCost(bandwidth=1e3)))}
    assert found["one worker"].workers == (0,)
    assert found["one worker"].seconds == pytest.approx(4 * profile.work)
    assert found["data"].workers == (0, 2)
    assert not any(row.refused for row in found.values())
