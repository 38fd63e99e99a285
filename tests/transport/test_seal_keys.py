"""Keys of sealed links: HKDF by the vectors of RFC 5869, and that no two links have a key in common."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from netpart.choices import AES_GCM
from netpart.transport.seal_keys import WireSecret, derive_key, leaves_host

SECRET = WireSecret(AES_GCM, bytes(range(32)), b"run-0001")
VECTORS = [
    (
        "0b" * 22, "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9",
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
    ),
    (
        bytes(range(0x50)).hex(), bytes(range(0x60, 0xB0)).hex(), bytes(range(0xB0, 0x100)).hex(),
        "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09da3275600c2f09b8"
        "367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87",
    ),
    (
        "0b" * 22, "", "",
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8",
    ),
]  # fmt: skip
"""The three cases of RFC 5869 with SHA-256: secret, salt, info, key."""


@pytest.mark.parametrize(("secret", "salt", "info", "key"), VECTORS)
def test_keys_are_those_of_the_rfc_and_of_the_package(secret: str, salt: str, info: str, key: str) -> None:
    given = bytes.fromhex(secret), bytes.fromhex(salt), bytes.fromhex(info)
    expected = bytes.fromhex(key)
    assert derive_key(*given, len(expected)) == expected
    assert HKDF(SHA256(), len(expected), given[1] or None, given[2]).derive(given[0]) == expected


def test_no_two_links_directions_purposes_runs_or_generations_share_a_key() -> None:
    others = [
        SECRET, replace(SECRET, run_id=b"run-0002"), replace(SECRET, generation=1),
        replace(SECRET, secret=bytes(32)),
    ]  # fmt: skip
    ranks = range(3)
    keys = [each.link_key(one, other) for each in others for one in ranks for other in ranks]
    keys += [each.curve_key(rank) for each in others for rank in ranks]
    keys += [bytes.fromhex(each.door_password(rank).decode()) for each in others for rank in ranks]
    assert all(len(key) == 32 for key in keys)
    assert not [pair for pair in combinations(keys, 2) if pair[0] == pair[1]]


def test_a_secret_is_not_shown() -> None:
    assert SECRET.secret.hex() not in repr(SECRET)
    assert repr(SECRET.secret) not in repr(SECRET)


@pytest.mark.parametrize(
    ("address", "leaves"),
    [
        ("tcp://10.0.0.1:5555", True), ("tcp://127.0.0.1:5555", False), ("tcp://127.8.8.8:*", False),
        ("tcp://[::1]:5555", False), ("tcp://[fd00::1]:5555", True), ("tcp://[fe80::1%eth0]:5555", True),
        ("tcp://0.0.0.0:5555", True), ("tcp://some.host:5555", True), ("ipc://@netpart", False), ("inproc://x", False),
        ("", False),
    ],
)  # fmt: skip
def test_links_that_leave_loopback_are_covered(address: str, leaves: bool) -> None:
    assert leaves_host(address) == SECRET.covers(address) == leaves
    assert replace(SECRET, everywhere=True).covers(address)
