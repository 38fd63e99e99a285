"""Tables of the pages that the code has as well: a frame's header, its ways, messages, the updaters' states,
the classes of verify."""

from __future__ import annotations

import re
import struct
from math import log10

from netpart.launch.coordinator import watchdog as watch
from netpart.launch.member.control_client import BEAT_SECONDS
from netpart.launch.teams import team
from netpart.program.instructions import PHASE_CODES, Way
from netpart.proto.control_pb2 import ControlProto
from netpart.transport.frames import COUNTER_BITS, DTYPES, HEADER, MAGIC, SEALED, VERSION
from netpart.transport.sealing import TAG_BYTES
from netpart.verify import difference, report
from netpart.worker.flow_control import WINDOW
from tests.house.tree import ROOT

WIRE = (ROOT / "docs" / "wire.md").read_text(encoding="utf-8")
VERIFY = (ROOT / "docs" / "verify.md").read_text(encoding="utf-8")
CHECKPOINTS = (ROOT / "docs" / "checkpoints.md").read_text(encoding="utf-8")
SIZES = {
    "4 bytes": "4s",
    "8 bytes": "8s",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "8 × uint64": "8Q",
}


def table(page: str, head: str) -> list[list[str]]:
    """The rows of the table whose header begins with ``head``."""
    lines = page.splitlines()
    rows = lines[lines.index(next(line for line in lines if line.startswith(f"| {head} |"))) + 2 :]
    end = next((i for i, row in enumerate(rows) if not row.startswith("|")), len(rows))
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[:end]]


def test_the_header_of_a_frame() -> None:
    rows, layout = table(WIRE, "offset"), "<"
    for offset, type_, *_ in rows:
        assert struct.calcsize(layout) == int(offset)
        layout += SIZES[type_]
    assert struct.calcsize(layout) == HEADER.size
    assert struct.calcsize(layout) == int(re.findall(r"a header of (\d+) bytes", WIRE)[0])
    one = struct.Struct(layout).pack(*(bytes(1) if SIZES[row[1]].endswith("s") else 7 for row in rows[:-1]), *range(8))
    assert len(HEADER.unpack(one)) == len(rows) + 7


def test_a_sealed_frame() -> None:
    """Its table is the second one of this form."""
    rows = {row[2]: row for row in table(WIRE.partition("## Sealed links")[2], "offset")}
    assert rows["version"][3] == str(SEALED)
    assert rows["message"][:2] == ["6", f"{COUNTER_BITS // 8} bytes"]
    assert rows["channel"][:2] == [str(6 + COUNTER_BITS // 8), f"{8 - COUNTER_BITS // 8} bytes"]
    assert rows["payload"][0] == str(HEADER.size)
    assert rows["tag"][:2] == [f"{HEADER.size} + nbytes", f"{TAG_BYTES} bytes"]


def test_what_the_fields_of_the_header_may_be() -> None:
    meaning = {row[2]: row[3] for row in table(WIRE, "offset")}
    assert meaning["magic"] == f"`{MAGIC.decode()}`"
    assert meaning["version"] == str(VERSION)
    assert meaning["dtype"] == ", ".join(f"{code} {dtype.name}" for code, dtype in enumerate(DTYPES, start=1))
    names = {"train": "train", "val": "validation", "test": "test"}
    assert meaning["phase"] == ", ".join(f"{code} {names[phase]}" for phase, code in PHASE_CODES.items())


def test_the_ways_of_a_message() -> None:
    assert [row[0] for row in table(WIRE, "way")] == [f"{way.value} {way.name}" for way in Way]


def test_the_messages_of_the_control_plane() -> None:
    named = [name for row in table(WIRE, "message") for name in re.findall(r"`(\w+)`", row[0])]
    assert sorted(named) == sorted(field.name for field in ControlProto.DESCRIPTOR.fields)


def test_the_times() -> None:
    assert BEAT_SECONDS == 0.25
    assert "four times a second" in WIRE
    assert f"as soon as {watch.SILENT_SECONDS:g} s pass without a heartbeat" in WIRE
    assert f"points at its log | {team.START_SECONDS:g} s |" in WIRE
    assert f"have finished step s − {WINDOW}" in WIRE


def test_the_bounds_of_verify() -> None:
    assert [row[0] for row in table(VERIFY, "class")] == list(report.CLASSES)
    assert f"at most {report.CANCELLATION}·n·eps" in VERIFY
    exponents = {name: round(log10(law)) for name, law in report.LAWS.items()}
    assert f"at most 1e{exponents['float64']} in float64" in VERIFY
    assert f"With `--dtype float32` it is 1e{exponents['float32']}" in VERIFY
    assert f"Norms below {difference.TINY:g} ".replace("0.001", "1e-3") in VERIFY
