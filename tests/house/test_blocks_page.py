"""docs/blocks.md tells the truth: its job is one, and its commands and options do what it shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from netpart.cli.main import main
from netpart.errors import ConfigError
from netpart.plan.partition import partition_by_scheme
from netpart.proto import limits
from netpart.proto.reader import read_job_text
from tests.house.tree import ROOT

PAGE = (ROOT / "docs" / "blocks.md").read_text(encoding="utf-8")
JOB, *PIECES = re.findall(r"^```protobuf\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
SHOWN = re.findall(r"^```\n\$ (netpart .*)\n((?:.*\n)+?)```$", PAGE, flags=re.MULTILINE)
REPEATED = re.findall(r'  layer \{ name: "b" .*\n', JOB)[0]


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_a_command_of_the_page_prints_what_it_shows(
    command: str, output: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.conf").write_text(JOB, encoding="utf-8")
    main(shlex.split(command)[1:])
    printed = capsys.readouterr()
    assert output.removesuffix("...\n") in printed.out + printed.err


def test_the_pieces_of_the_page_are_parts_of_its_job() -> None:
    given, changed = PIECES
    with_default = read_job_text(
        JOB.replace('srclayers: "b" inner', 'srclayers: "c" inner').replace(REPEATED, REPEATED + given)
    )
    (layer,) = [layer for layer in with_default.proto.neuralnet.layer if layer.name == "c-relu"]
    assert layer.relu_conf.negative_slope == 0
    layers = {layer.name: layer for layer in read_job_text(JOB.replace(REPEATED, changed)).proto.neuralnet.layer}
    assert (layers["b2-fc"].partition_dim, list(layers["b2-fc"].location)) == (1, [])
    assert (layers["b3-fc"].partition_dim, list(layers["b3-fc"].location)) == (1, [1])


@pytest.mark.parametrize("option", re.findall(r"^--set '?([^\s']+)", PAGE, flags=re.MULTILINE))
def test_an_option_of_the_page_fits_its_job(option: str) -> None:
    job = read_job_text(JOB, overrides=[option])
    assert job.proto != read_job_text(JOB).proto
    partition_by_scheme(job.proto, 2)


def test_the_error_of_the_page_is_the_one_that_one_gets() -> None:
    job = read_job_text(JOB.replace("num_output: ${width}", "num_output: -1"), "job.conf")
    with pytest.raises(ConfigError) as found, job.explaining():
        partition_by_scheme(job.proto, 2)
    assert f"```\n{found.value}\n```" in PAGE


def test_the_limits_are_those_of_the_code() -> None:
    numbers = [int(n.replace(" ", "")) for n in re.findall(r"\d+(?: \d{3})*", PAGE.rpartition("A job has at most")[2])]
    found = limits.EXPANDED_LAYERS, limits.EXPANDED_BYTES >> 20, limits.BLOCK_DEPTH, limits.BLOCK_DEPTH
    assert numbers == [*found, limits.INCLUDED_FILES]
