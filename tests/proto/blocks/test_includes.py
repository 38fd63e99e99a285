"""Blocks and values of other files, and files that cannot be included."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.errors import ConfigError
from netpart.proto.limits import BLOCK_DEPTH
from netpart.proto.reader import read_job
from netpart.proto.writer import write_job

BLOCK = 'block { name: "%s" input: "x" output: "y" layer { name: "y" type: kReLU srclayers: "x" %s } }'
DATA = 'layer { name: "d" type: kSyntheticInput } '
USE = DATA + 'layer { name: "a" type: kBlock srclayers: "d" block_conf { of: "%s" times: 2 } }'


def write_net(path: Path, net: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"neuralnet {{ {net} }}\n", encoding="utf-8")
    return path


def fault(path: Path) -> str:
    with pytest.raises(ConfigError) as found:
        read_job(path)
    return str(found.value).replace(f"{path.parent}/", "")


def test_blocks_and_values_of_a_file_are_used_but_not_its_layers(tmp_path: Path) -> None:
    write_net(tmp_path / "below/other.conf", 'include: "../third.conf"' + BLOCK % ("relu", "") + USE % "relu")
    write_net(tmp_path / "third.conf", 'let { name: "slope" value: "0.5" }' + BLOCK % ("leaky", LEAKY))
    job = read_job(write_net(tmp_path / "job.conf", 'include: "below/other.conf"' + USE % "leaky"))
    assert [layer.name for layer in job.proto.neuralnet.layer] == ["d", "a1-y", "a2-y"]
    assert job.proto.neuralnet.layer[1].relu_conf.negative_slope == 0.5


LEAKY = "relu_conf { negative_slope: ${slope} }"


def test_values_of_the_job_replace_those_of_the_file(tmp_path: Path) -> None:
    write_net(tmp_path / "other.conf", 'let { name: "slope" value: "0.5" }' + BLOCK % ("leaky", LEAKY))
    net = 'include: "other.conf" let { name: "slope" value: "0.25" }' + USE % "leaky"
    job = read_job(write_net(tmp_path / "job.conf", net))
    assert job.proto.neuralnet.layer[1].relu_conf.negative_slope == 0.25


def test_a_fault_of_an_included_block_is_at_its_place(tmp_path: Path) -> None:
    write_net(tmp_path / "other.conf", BLOCK % ("leaky", LEAKY))
    found = fault(write_net(tmp_path / "job.conf", 'include: "other.conf"' + USE % "leaky"))
    assert found.startswith("other.conf:1:115 (a1): y.relu_conf.negative_slope: expected a placeholder with a value")


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ('include: "job.conf"', "", "job.conf:1:13: neuralnet.include[0]: expected a file that does not include this "
         "one, got job.conf → job.conf; move the blocks to a third file"),
        ('include: "other.conf"', 'include: "job.conf"', "other.conf:1:13: neuralnet.include[0]: expected a file that "
         "does not include this one, got job.conf → other.conf → job.conf"),
        ('include: "othr.conf"', "", "job.conf:1:13: othr.conf: expected a job configuration file, got none; did you "
         "mean other.conf or job.conf?"),
        ('include: "."', "", "job.conf:1:13: "),
        ('include: "a\\000b"', "", "job.conf:1:13: neuralnet.include[0]: expected a file, got"),
        ('include: "other.conf"' + BLOCK % ("a", ""), BLOCK % ("a", ""), "job.conf:1:34: neuralnet.block[0]: expected "
         "blocks of different names, got 'a', which is also defined at other.conf:1:13"),
        ('include: "other.conf"', 'block { nam: "a" }',
         "other.conf:1:21: neuralnet.block: expected a field of LayerBlockProto"),
        ('include: "other.conf"', "block { }", "other.conf:1:13: neuralnet.block[0]: expected a block with a name"),
        ('include: "other.conf"', 'let { name: "a" }', "other.conf:1:13: neuralnet.let[0]: expected a value, got none"),
    ],
)  # fmt: skip
def test_what_cannot_be_included(tmp_path: Path, first: str, second: str, expected: str) -> None:
    write_net(tmp_path / "other.conf", second)
    assert expected in fault(write_net(tmp_path / "job.conf", first)).replace(f"{tmp_path}/", "")


def test_a_file_that_two_others_include_is_read_once(tmp_path: Path) -> None:
    write_net(tmp_path / "third.conf", BLOCK % ("relu", ""))
    for name in ("one", "two"):
        write_net(tmp_path / f"{name}.conf", 'include: "third.conf"')
    job = read_job(write_net(tmp_path / "job.conf", 'include: ["one.conf", "two.conf"]' + USE % "relu"))
    assert len(job.proto.neuralnet.layer) == 3


def test_files_within_one_another_are_limited(tmp_path: Path) -> None:
    for k in range(BLOCK_DEPTH + 1):
        write_net(tmp_path / f"{k}.conf", f'include: "{k + 1}.conf"')
    write_net(tmp_path / f"{BLOCK_DEPTH + 1}.conf", "")
    assert "expected at most 8 files that include one another, got more" in fault(tmp_path / "0.conf")
    write_job(read_job(tmp_path / "1.conf").proto)
