"""Which links of a run are sealed, how, and who is refused."""

from __future__ import annotations

import pytest

from netpart.choices import AES_GCM, CURVE, PLAIN
from netpart.errors import ConfigError
from netpart.launch.control import seal_choice
from netpart.launch.control.seal_choice import (
    SealChoice,
    choose_seal,
    cipher_refusal,
    describe_sealing,
    read_secret,
    sealing_mistake,
    write_secret,
)
from netpart.proto.control_pb2 import WelcomeProto

FAR, NEAR = "tcp://10.0.0.1:5555", "tcp://127.0.0.1:5555"
SECRET = SealChoice(AES_GCM).draw_secret(b"run-0001")


@pytest.mark.parametrize(
    ("wanted", "transport", "launcher", "chosen"),
    [
        ("auto", "zeromq", "join", SealChoice(AES_GCM)), ("yes", "zeromq", "join", SealChoice(AES_GCM, True)),
        ("no", "zeromq", "join", SealChoice()), ("auto", "zeromq", "local", SealChoice()),
        ("yes", "zeromq", "local", SealChoice(AES_GCM, True)), ("auto", "shm", "local", SealChoice()),
        ("yes", "shm", "local", SealChoice()), ("yes", "memory", "threads", SealChoice()),
        ("yes", "cuda-ipc", "local", SealChoice()), ("auto", "mpi", "mpi", SealChoice()),
        ("no", "mpi", "mpi", SealChoice()),
    ],
)  # fmt: skip
def test_choice(wanted: str, transport: str, launcher: str, chosen: SealChoice) -> None:
    assert choose_seal(wanted, transport, launcher) == chosen


def test_a_host_without_the_package_seals_with_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    assert seal_choice.known_ciphers() == [AES_GCM, CURVE]
    monkeypatch.setattr(seal_choice, "missing_cipher", lambda: "none here")
    assert choose_seal("auto", "zeromq", "join") == SealChoice(CURVE)
    assert seal_choice.known_ciphers() == [CURVE]


@pytest.mark.parametrize("transport", ["mpi", "patient-zeromq"])
def test_links_that_netpart_cannot_seal_are_refused(transport: str) -> None:
    says = f"--seal yes: expected links that netpart can seal: .* got the transport {transport}; use --launcher join"
    with pytest.raises(ConfigError, match=says):
        choose_seal("yes", transport, "mpi")


def test_another_word_is_refused() -> None:
    with pytest.raises(ConfigError, match="--seal: expected one of auto, yes, no, got maybe"):
        choose_seal("maybe", "zeromq", "join")


def test_every_run_has_a_secret_of_its_own_which_its_workers_get() -> None:
    choice = SealChoice(AES_GCM, everywhere=True)
    one, other = choice.draw_secret(b"run-0001"), choice.draw_secret(b"run-0001")
    assert one is not None
    assert other is not None
    assert one.secret != other.secret
    welcome = WelcomeProto(run_id=b"run-0001")
    write_secret(welcome, one)
    assert read_secret(WelcomeProto.FromString(welcome.SerializeToString())) == one
    assert SealChoice().draw_secret(b"run-0001") is None
    assert read_secret(WelcomeProto(run_id=b"run-0001")) is None


def test_who_cannot_seal_is_refused_only_where_links_are_sealed() -> None:
    assert cipher_refusal(SECRET, FAR, [AES_GCM, CURVE]) == cipher_refusal(None, FAR, []) == ""
    assert cipher_refusal(SECRET, NEAR, []) == ""
    assert "got curve; pip install 'netpart[secure]' on its host" in cipher_refusal(SECRET, FAR, [CURVE])
    assert "got none: an older netpart" in cipher_refusal(SECRET, FAR, [])


@pytest.mark.parametrize(
    ("address", "cipher", "says"),
    [
        (FAR, AES_GCM, ""), (NEAR, "", ""), (FAR, "", "expected tensors sealed with aes-256-gcm, got plain ones"),
        (FAR, CURVE, "expected tensors sealed with aes-256-gcm, got curve"),
        (NEAR, AES_GCM, "expected tensors sealed with nothing, got aes-256-gcm"),
    ],
)  # fmt: skip
def test_a_mixture_is_a_mistake(address: str, cipher: str, says: str) -> None:
    found = sealing_mistake(SECRET, address, cipher)
    assert found.startswith(says)
    assert bool(found) == bool(says)


def test_a_run_reports_links_that_leave_a_host_unsealed() -> None:
    assert describe_sealing(SECRET, [FAR, NEAR], ["a", "b"]) == AES_GCM
    assert describe_sealing(SECRET, [NEAR, NEAR], ["a", "a"]) == ""
    assert describe_sealing(None, [FAR, FAR], ["a", "b"]) == PLAIN
    assert describe_sealing(None, ["", ""], ["a", "b"]) == PLAIN
    assert describe_sealing(None, ["", ""], ["a", "a"]) == ""
