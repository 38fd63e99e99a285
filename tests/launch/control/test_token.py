"""The token: where it is looked for, what is refused, and that it is never repeated in an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.errors import ConfigError
from netpart.launch.control.token import RUN_HINT, RunToken, find_token, parse_token, write_token_file

TOKEN, DRAWN = RunToken(bytes(range(16))), RunToken(bytes(range(16)), bytes(range(32)))


def test_it_is_kept_for_its_owner_alone_and_found_again(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("an old one")
    path = write_token_file(tmp_path / "token", DRAWN)
    assert path.stat().st_mode & 0o777 == 0o600
    assert find_token({"NETPART_TOKEN": "ff" * 16}, path) == DRAWN


def test_it_comes_through_the_environment() -> None:
    assert find_token({"NETPART_TOKEN": f" {TOKEN.text}\n"}) == TOKEN
    assert find_token({}) is None


@pytest.mark.parametrize(("text", "got"), [("secret", "other characters"), ("abcd", "4"), ("00" * 17, "34")])
def test_what_is_no_token_is_not_repeated(text: str, got: str) -> None:
    with pytest.raises(ConfigError) as caught:
        find_token({"NETPART_TOKEN": text})
    hint = "make one with `openssl rand -hex 16`"
    assert str(caught.value) == f"NETPART_TOKEN: expected 32 hexadecimal digits, got {got}; {hint}"


def test_the_key_is_read_and_not_repeated() -> None:
    assert parse_token(DRAWN.text, "F") == DRAWN
    assert DRAWN.text not in repr(DRAWN)
    with pytest.raises(ConfigError, match=r"^F: expected 64 hexadecimal digits after the colon, got 4; copy"):
        parse_token(f"{TOKEN.text}:abcd", "F")


def test_tickets_differ_and_carry_the_key() -> None:
    tickets = [DRAWN.ticket(rank, turn) for rank in range(3) for turn in range(2)]
    assert len({ticket.secret for ticket in tickets} | {DRAWN.secret}) == 7
    assert {ticket.key for ticket in tickets} == {DRAWN.key}


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = write_token_file(tmp_path / "token", TOKEN)
    path.chmod(0o640)
    with pytest.raises(ConfigError, match="expected a file that only its owner can read, got mode 640; chmod 600 it"):
        find_token({}, path)


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match="expected a file with the run's token, got nothing there; make one: `openssl"
    ):
        find_token({}, tmp_path / "token")
    with pytest.raises(ConfigError, match="got nothing there; use the token of the run"):
        find_token({}, tmp_path / "token", RUN_HINT)


@pytest.mark.parametrize("text", ["", " \n"])
def test_a_command_that_printed_no_token(text: str) -> None:
    with pytest.raises(
        ConfigError, match="expected the run's token, got an empty text; did the command that prints it"
    ):
        find_token({"NETPART_TOKEN": text})


@pytest.mark.parametrize("text", ["", "abcd", "secret"])
def test_who_joins_is_not_told_to_make_one(text: str) -> None:
    with pytest.raises(ConfigError, match="use the token of the run") as caught:
        find_token({"NETPART_TOKEN": text}, hint=RUN_HINT)
    assert "openssl" not in str(caught.value)
