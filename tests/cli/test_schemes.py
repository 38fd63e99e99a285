"""A scheme that places nothing, as all cuts are written, is said by every verb; --override lets it replace them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import netpart as api
from netpart.errors import ConfigError
from netpart.families import SCHEMES
from netpart.graph.graph import LAYER
from netpart.graph.partition import Partition
from netpart.resources import zoo_folder
from tests.cli.conftest import JOB, Netpart

LENET = zoo_folder() / "mnist" / "conv.conf"
NOTHING = "places nothing, as every layer has a partition_dim, location, cut or shard of its own; --override lets the"
VERBS = {
    "draw": (),
    "check": (),
    "verify": ("--steps", 1),
    "partition": (),
    "explain": ("conv",),
    "diff": (),
    "simulate": ("--steps", 1, "--link", "1e-6,1e9", "--by", "flops"),
    "run": ("--launcher", "threads"),
}


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A job of two workers in which every layer is placed."""
    monkeypatch.chdir(tmp_path)  # within it a job may choose its workspace
    path = tmp_path / "written.conf"
    path.write_text(
        JOB.replace("    type: k", "    location: 1\n    type: k") + f'cluster {{ workspace: "{tmp_path}" }}'
    )
    return path


def replicas(partition: Partition) -> list[int]:
    """The number of parts of each layer."""
    graph = partition.graph
    return [sum(part.kind == LAYER and part.node == n.index for part in graph.parts) for n in graph.net.nodes]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_says_that_a_scheme_places_nothing(verb: str, written: Path, netpart: Netpart) -> None:
    answer = netpart(verb, written, *VERBS[verb], "--scheme", "naive")
    assert (answer.err + answer.out).count(f"warning: scheme NAIVE {NOTHING}") == 1
    assert answer.code == 0


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_overrides(verb: str, written: Path, netpart: Netpart) -> None:
    answer = netpart(verb, written, *VERBS[verb], "--scheme", "sequential", "--override")
    assert NOTHING not in answer.err + answer.out
    assert answer.code == (1 if verb == "diff" else 0), "the plans differ"


def test_a_profile_warns_too(written: Path, netpart: Netpart) -> None:
    answer = netpart("profile", written, "--steps", 1, "--launcher", "threads", "--scheme", "naive")
    assert answer.err.count(NOTHING) == 1


def test_several_schemes_that_place_nothing_are_said_once(written: Path, netpart: Netpart) -> None:
    answer = netpart("verify", written, "--steps", 1, "--schemes", "naive,data")
    assert "warning: schemes NAIVE, DATA place nothing, as every layer has " in answer.err
    table = netpart("verify", written, "--steps", 1, "--schemes", "naive,data", "--override")
    assert "place nothing" not in table.err
    naive, data = (line.split() for line in table.out.splitlines() if line.startswith(("NAIVE", "DATA")))
    assert naive[1:3] != data[1:3] or naive[4:] != data[4:]
    assert table.code == 0


def test_lenet_is_drawn_under_every_scheme(netpart: Netpart) -> None:
    def drawn(*options: str) -> str:
        answer = netpart("draw", LENET, *options)
        assert answer.code == 0, answer.err
        return answer.out

    plain = drawn()
    assert drawn("--scheme", "naive") == plain
    # OPTIMAL may be the cut of another scheme, if that is the best.
    every = {name: drawn("--scheme", name.lower(), "--override") for name in SCHEMES.names() if name != "OPTIMAL"}
    assert plain not in every.values()
    assert len(set(every.values())) == len(every)


def test_the_workers_that_written_locations_ask_for_stay(written: Path, netpart: Netpart) -> None:
    answer = netpart("check", written, "--scheme", "data", "--override", "--json")
    assert len(json.loads(answer.out)["workers"]) == 2


def test_override_takes_a_scheme(job: Path, netpart: Netpart) -> None:
    for verb in ("check", "diff"):
        answer = netpart(verb, job, "--override")
        assert answer.err.startswith(
            "error: --override: expected a scheme to cut the layers by, got none; add --scheme"
        )
        assert answer.code == 2


def test_a_side_of_a_diff_without_a_scheme_keeps_its_cuts(written: Path, netpart: Netpart) -> None:
    one = netpart("diff", written, "--scheme", "naive", "--override", "--json")
    conv = next(change for change in json.loads(one.out)["layers"] if change["layer"] == "conv")
    assert conv["before"] == "whole on 1"
    assert "channels" in conv["after"]


def test_the_command_of_a_plan_overrides(written: Path, netpart: Netpart, tmp_path: Path) -> None:
    plan = tmp_path / "plan.conf"
    netpart("partition", written, "--scheme", "data", "--override", "-o", plan)
    assert "--scheme data --override" in plan.read_text()
    assert "location" not in plan.read_text()


def test_a_cut_of_set_stays(written: Path, netpart: Netpart) -> None:
    words = "--scheme", "naive", "--override"
    found = json.loads(netpart("check", written, *words, "--json").out)["layers"]
    assert "whole" not in {row["name"]: row["cut"] for row in found}["conv"]
    changed = netpart("check", written, *words, "--set", "conv.location=1", "--json")
    found = json.loads(changed.out)["layers"]
    assert {row["name"]: row["cut"] for row in found}["conv"] == "whole"
    job = api.load(written, "conv.location=1")
    rows = {row.name: row.cut for row in api.check(job, scheme="naive", override=True).layers}
    assert rows["conv"] == "whole"


def test_the_python_api_warns_and_overrides(written: Path) -> None:
    with pytest.warns(UserWarning, match=f"^scheme NAIVE {NOTHING}") as warned:
        kept = api.partition(written, scheme="naive")
    assert warned[0].filename == __file__
    cut = api.partition(written, scheme="naive", override=True)
    assert (kept.workers, cut.workers) == (2, 2)
    assert max(replicas(kept)) == 1
    assert min(replicas(cut)) == 2
    with pytest.raises(ConfigError, match=r"--override: expected a scheme"):
        api.partition(written, override=True)


def test_the_python_api_runs_under_a_scheme(written: Path, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="places nothing"):
        kept = api.run(written, launcher="threads", workspace=tmp_path, scheme="data")
    cut = api.run(written, launcher="threads", workspace=tmp_path, scheme="data", override=True)
    assert (kept.bytes_counted, cut.bytes_counted > 0) == (0, True)
