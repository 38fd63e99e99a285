"""Sealed runs over several hosts: the same bits, a wire that shows no parameter, and intruders who listen and send."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file

from netpart.launch.control import seal_choice
from netpart.launch.report.events import Event, Started, Summary
from netpart.launch.run import run_job
from netpart.launch.teams.meeting import Meeting
from netpart.proto.reader import read_job
from netpart.transport.frames import HEADER
from tests.end2end import capture
from tests.end2end.capture import Flow, flows
from tests.end2end.hosts import Hosts, network
from tests.end2end.running import mlp
from tests.end2end.test_join import Talk, check_the_same, coordinate, files, hosts, join
from tests.end2end.test_outside import free
from tests.thorough import sampled

__all__ = ["hosts", "network"]
on_hosts = pytest.mark.usefixtures("network")

SHARDED = ("--set", "shard_updates=YES", "--set", "neuralnet.scheme=DATA")
"""A run that sends parameters, which its workers update in parts."""
FRAME, HELLO = re.compile(rb"NPRT\x02\x00"), re.compile(rb"\x05HELLO\x07netpart\x40([0-9a-f]{64})")
INTRUDER = """
import sys, zmq
from pathlib import Path
from netpart.transport.sockets import show_password
address, password, *files = sys.argv[1:]
with zmq.Context() as context, context.socket(zmq.PUSH) as push:
    show_password(push, password.encode())
    push.connect(address)
    for file in files:
        push.send(Path(file).read_bytes())
print("sent", flush=True)
"""


@pytest.mark.parametrize("cipher", sampled(["aes-256-gcm", "curve"], 2))
def test_a_sealed_run_computes_the_same_bits(cipher: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers over TCP on loopback, of which one has what a host without the package has."""
    if cipher == "curve":
        monkeypatch.setattr(seal_choice, "missing_cipher", lambda: "none here")
    job, heard = read_job(mlp(tmp_path)), list[Event]()

    def play(seal: str) -> Summary:
        meeting = Meeting(free(), local=2)
        return run_job(
            job, 2, launcher="join", meeting=meeting, seal=seal, workspace=tmp_path / seal, listener=heard.append
        )

    plain, sealed = play("no"), play("yes")
    assert files(tmp_path / "no") == files(tmp_path / "yes")
    assert (plain.sealing, sealed.sealing) == ("", cipher)
    assert [event.sealing for event in heard if isinstance(event, Started)] == ["", cipher]
    assert plain.bytes_by_edge == sealed.bytes_by_edge
    assert sealed.bytes_counted == sealed.bytes_predicted > 0
    more = 16 if cipher == "aes-256-gcm" else 0
    assert sealed.header_bytes == plain.header_bytes // HEADER.size * (HEADER.size + more)
    assert sealed.refused_frames == 0


@contextmanager
def captured(hosts: Hosts, path: Path) -> Iterator[Path]:
    """The packets of host 0 while the block runs."""
    command = (sys.executable, capture.__file__, "eth0", str(path))
    listener = Talk(hosts.start(0, *command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
    listener.until("listening")
    yield path
    listener.process.terminate()
    listener.process.wait()


def windows(data: bytes) -> NDArray[np.uint64]:
    """All runs of 8 bytes at any offset, each once, but those with four zeros or more, which headers have too."""
    rows = np.lib.stride_tricks.sliding_window_view(np.frombuffer(data, np.uint8), 8)
    telling = rows[(rows == 0).sum(1) < 4]
    return np.unique(np.ascontiguousarray(telling).view(np.uint64))


def parameters(workspace: Path) -> NDArray[np.uint64]:
    """The windows of every parameter of every checkpoint."""
    files = sorted((workspace / "checkpoint").glob("*.safetensors"))
    assert len(files) > 2
    found = [windows(array.tobytes()) for file in files for array in load_file(file).values() if array.nbytes >= 8]
    return np.unique(np.concatenate(found))


def shown(path: Path, wanted: NDArray[np.uint64]) -> int:
    """How many of the windows ``wanted`` are in a capture."""
    heard = [windows(sent) for sent in flows(path).values() if len(sent) >= 8]
    return int(np.isin(wanted, np.concatenate(heard)).sum())


def run_on_hosts(hosts: Hosts, folder: Path, seal: str, *options: str) -> tuple[Path, dict[str, Any], str]:
    """A run on two hosts: its workspace, its summary and its first line."""
    conf, workspace, summary = mlp(folder, checkpoint_freq=1), folder / seal, folder / f"{seal}.json"
    coordinator = coordinate(hosts, conf, 2, workspace, "--summary", str(summary), "--seal", seal, *options)
    other = join(hosts, 1)
    line = coordinator.until("tensors through")
    assert (other.end(), coordinator.end()) == (0, 0), coordinator.lines + other.lines
    return workspace, json.loads(summary.read_text()), line


@on_hosts
@pytest.mark.thorough
def test_the_wire_shows_no_parameter_of_a_sealed_run(hosts: Hosts, tmp_path: Path) -> None:
    """The same capture of a plain run shows most of them: it would have seen them."""
    with captured(hosts, tmp_path / "plain.packets") as heard:
        workspace, plain, line = run_on_hosts(hosts, tmp_path, "no", *SHARDED)
    wanted = parameters(workspace)
    assert "tensors through ZeroMQ, NOT sealed" in line
    assert shown(heard, wanted) > len(wanted) // 4 > 100
    with captured(hosts, tmp_path / "sealed.packets") as heard:
        sealed_workspace, sealed, line = run_on_hosts(hosts, tmp_path, "auto", *SHARDED)
    assert "tensors through ZeroMQ, sealed with AES-256-GCM" in line
    assert np.array_equal(parameters(sealed_workspace), wanted)
    assert sum(map(len, flows(heard).values())) > sealed["bytes_counted"]
    assert shown(heard, wanted) == 0
    assert (plain["sealing"], sealed["sealing"], sealed["refused_frames"]) == ("plain", "aes-256-gcm", 0)
    messages = plain["header_bytes"] // HEADER.size
    assert sealed["header_bytes"] == messages * (HEADER.size + 16)
    assert sealed["bytes_by_edge"] == plain["bytes_by_edge"]


@on_hosts
@pytest.mark.thorough
def test_who_listens_and_sends_does_not_end_a_run(hosts: Hosts, tmp_path: Path) -> None:
    """A third host repeats what it heard, whole and with a bit flipped, and sends what is no frame."""
    conf = mlp(tmp_path, train_steps=800, disp_freq=100, checkpoint_freq=400, test_freq=400)
    workspace, summary = tmp_path / "run", tmp_path / "summary.json"
    with captured(hosts, tmp_path / "packets") as heard:
        coordinator = coordinate(hosts, conf, 2, workspace, "--summary", str(summary))
        other = join(hosts, 1)
        coordinator.until("^Train @ step 100 ")
        (flow, password), frames = heard_of(heard)
        for number, frame in enumerate(frames):
            (tmp_path / f"{number}.frame").write_bytes(frame)
        sent = sorted(map(str, tmp_path.glob("*.frame")))
        address = f"tcp://{socket.inet_ntoa(flow[2])}:{flow[3]}"
        command = (sys.executable, "-c", INTRUDER, address, password, *sent)
        intruder = Talk(hosts.start(2, *command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
        intruder.until("sent")
        coordinator.until("note: worker 1 dropped .* in the name of worker 0; the latest: ")
        assert (other.end(), coordinator.end()) == (0, 0), coordinator.lines + other.lines
    assert json.loads(summary.read_text())["refused_frames"] == len(frames) > 20
    check_the_same(conf, 2, workspace, summary)


def heard_of(path: Path) -> tuple[tuple[Flow, str], list[bytes]]:
    """The connection from worker 0 to worker 1 and its password; and what an intruder makes of its frames."""
    (found,) = [
        (flow, said[1].decode(), sent)
        for flow, sent in flows(path).items()
        if (said := HELLO.search(sent)) and flow[0] == socket.inet_aton("10.77.0.1")
    ]
    flow, password, sent = found
    starts = [match.start() for match in FRAME.finditer(sent)][:12]
    whole = [sent[at : at + HEADER.size + int.from_bytes(sent[at + 48 : at + 56], "little") + 16] for at in starts]
    flipped = [frame[:-1] + bytes([frame[-1] ^ 1]) for frame in whole]
    return (flow, password), [*whole, *flipped, b"", b"NPRT", whole[0][:50]]
