"""JoinTeam: who gets which rank, and who is refused; where a run may listen."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from netpart.errors import ConfigError
from netpart.launch.control.token import RunToken, write_token_file
from netpart.launch.teams.meeting import JoinTeam, Meeting
from netpart.proto.control_pb2 import JoinProto
from netpart.resources import installed_version


@pytest.fixture
def team(tmp_path: Path) -> JoinTeam:
    return JoinTeam(4, Meeting("tcp://127.0.0.1:5555", local=1), tmp_path)


def ask(team: JoinTeam, rank: int | None = None) -> int | str:
    """The rank that somebody gets, or why he does not."""
    answer = team.admit(JoinProto(rank=rank, host="node", version=installed_version()))
    return answer.refused or answer.rank


def test_ranks_are_given_in_order_around_those_that_are_asked_for(team: JoinTeam) -> None:
    assert team.missing() == (1, 2, 3)
    assert [ask(team, 2), ask(team), ask(team)] == [2, 1, 3]
    assert team.missing() == ()
    assert [team.where(rank) for rank in range(4)] == ["", "node", "node", "node"]


def test_a_rank_is_given_once(team: JoinTeam) -> None:
    ask(team, 2)
    for rank in (0, 2, 4):
        why = "does not exist" if rank == 4 else "is taken"
        assert ask(team, rank) == f"expected a rank that is free, got {rank}, which {why}; free: 1, 3. Omit --rank"


def test_one_too_many(team: JoinTeam) -> None:
    assert [ask(team), ask(team), ask(team)] == [1, 2, 3]
    assert ask(team) == "expected fewer workers: all have joined; raise --workers to use more"


def test_another_netpart_is_refused(team: JoinTeam) -> None:
    refused = team.admit(JoinProto(host="node", version="0.0.1")).refused
    assert refused == f"expected netpart {installed_version()}, got 0.0.1; install the same on every host"


def test_only_who_has_come_can_be_lost(team: JoinTeam) -> None:
    assert not team.stopped(1)
    ask(team)
    assert not team.stopped(1)
    team.note_process(1, 7)
    assert team.stopped(1)
    assert not team.stopped(2)


def test_a_seat_that_was_left_is_given_again(team: JoinTeam) -> None:
    assert [ask(team), ask(team)] == [1, 2]
    team.leave(1)
    assert team.missing() == (1, 3)
    assert ask(team) == 1


def test_where_somebody_comes_from_is_shown_in_plain_characters(team: JoinTeam) -> None:
    team.admit(JoinProto(host="\x1b[2Jnode\n" + "x" * 1000, version=installed_version()))
    assert team.where(1) == "?[2Jnode?" + "x" * 91


def test_the_invitation_says_what_to_type_and_no_secret(team: JoinTeam, tmp_path: Path) -> None:
    invited = team.invitation()
    assert invited is not None
    file = tmp_path / "token"
    command = "netpart worker --join tcp://127.0.0.1:5555"
    assert invited.command == f"NETPART_TOKEN=$(ssh 127.0.0.1 cat {file}) {command}"
    known = JoinTeam(2, Meeting("tcp://127.0.0.1:5555", token=RunToken(b"t" * 16)), tmp_path).invitation()
    assert known is not None
    assert (known.command, known.needs) == (command, "this NETPART_TOKEN")


def test_the_command_can_be_copied(tmp_path: Path) -> None:
    """A shell, with stand-ins for ssh and netpart, hands on what was meant: brackets, and a file with a blank."""
    folder = tmp_path / "a run"
    invited = JoinTeam(2, Meeting("tcp://[::1]:5555"), folder).invitation()
    assert invited is not None
    write_token_file(folder / "token", RunToken(b"t" * 16))
    tools = 'ssh() { echo "$1" >&2; shift; sh -c "$*"; }; netpart() { echo "$*" "$NETPART_TOKEN"; }; '
    said = subprocess.run(["sh", "-c", tools + invited.command], capture_output=True, text=True, check=True)
    assert said.stdout == f"worker --join tcp://[::1]:5555 {(b't' * 16).hex()}\n"
    assert said.stderr == "::1\n"


def test_an_invitation_names_the_token_file_that_was_given(tmp_path: Path) -> None:
    meeting = Meeting("tcp://127.0.0.1:5555", token=RunToken(b"t" * 16), token_file=tmp_path / "secret")
    invited = JoinTeam(2, meeting, tmp_path).invitation()
    assert invited is not None
    command = "netpart worker --join tcp://127.0.0.1:5555 --token-file secret"
    assert (invited.command, invited.needs) == (command, f"a copy of {tmp_path / 'secret'}")


def test_a_token_of_another_run_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"NETPART_TOKEN: expected 32 .*, got the token that netpart made for another"
    ):
        Meeting("tcp://127.0.0.1:5555", token=RunToken(b"t" * 16, b"k" * 32))


def test_nobody_is_invited_where_all_are_here(tmp_path: Path) -> None:
    assert JoinTeam(2, Meeting("tcp://127.0.0.1:5555", local=2), tmp_path).invitation() is None


@pytest.mark.parametrize(
    ("listen", "message"),
    [
        ("10.0.0.1:5555", "--listen: expected an address like tcp://10.0.0.1:5555, got '10.0.0.1:5555'"),
        ("tcp://10.0.0.1", "expected an address like"),
        ("tcp://10.0.0.1:0", "--listen: expected a port from 1 to 65535, got 0 in tcp://10.0.0.1:0; choose one"),
        ("tcp://10.0.0.1:70000", "expected a port from 1 to 65535, got 70000"),
        ("tcp://0.0.0.0:5555", "expected an address of this host, got 0.0.0.0; give the one"),
        ("tcp://[::]:5555", "expected an address of this host, got ::; give the one"),
        ("::1", r"--listen: expected an address like .*, got '::1'; write tcp://\[::1\]:5555"),
    ],
)
def test_addresses_that_others_cannot_use(listen: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        assert Meeting(listen).address


def test_a_name_is_looked_up() -> None:
    assert Meeting("tcp://localhost:5555").address == "tcp://127.0.0.1:5555"
