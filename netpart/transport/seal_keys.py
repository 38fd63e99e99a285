"""Keys of sealed links, derived from the secret of a run (HKDF with SHA-256, RFC 5869).

The coordinator draws the secret anew for each run and sends it to its workers over the control link, which only holders
of the run's token can use. So no two runs have a key in common, whatever their tokens. Each direction of a link has a
key of its own: what worker 1 sends to worker 2 is no message from 2 to 1, nor from 1 to 3.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from ipaddress import ip_address
from struct import Struct

SECRET_BYTES = KEY_BYTES = 32
_FRAMES, _DOOR, _CURVE = b"netpart frames", b"netpart door", b"netpart curve"
"""What a key is for; a key for one of these reveals nothing of the others."""
_PURPOSE = Struct("<III")


@dataclass(frozen=True, repr=False)
class WireSecret:
    """How the links of a run are sealed: with ``cipher``, under keys derived from ``secret``.

    ``run_id`` and ``generation``, the number of the team within the run, are part of every key. ``everywhere`` seals
    also the links that do not leave a host.
    """

    cipher: str
    secret: bytes
    run_id: bytes
    generation: int = 0
    everywhere: bool = False

    def covers(self, address: str) -> bool:
        """True if what is sent to ``address`` is sealed. Sender and receiver both know the address, so they agree."""
        return self.everywhere or leaves_host(address)

    def link_key(self, sender: int, receiver: int) -> bytes:
        """The key of the frames that ``sender`` sends to ``receiver``."""
        return self._key(_FRAMES, sender, receiver)

    def door_password(self, receiver: int) -> bytes:
        """What a peer shows before ``receiver`` reads a frame of it."""
        return self._key(_DOOR, receiver, receiver).hex().encode()

    def curve_key(self, receiver: int) -> bytes:
        """The secret CURVE key of the socket at which ``receiver`` takes frames."""
        return self._key(_CURVE, receiver, receiver)

    def _key(self, purpose: bytes, sender: int, receiver: int) -> bytes:
        return derive_key(self.secret, self.run_id, purpose + _PURPOSE.pack(self.generation, sender, receiver))


def derive_key(secret: bytes, salt: bytes, info: bytes, count: int = KEY_BYTES) -> bytes:
    """``count`` bytes by HKDF-SHA256 (RFC 5869) from ``secret``, of the standard library alone."""
    root = hmac.digest(salt or bytes(hashlib.sha256().digest_size), secret, "sha256")
    block = found = b""
    for number in range(1, 1 + -(-count // hashlib.sha256().digest_size)):
        block = hmac.digest(root, block + info + bytes([number]), "sha256")
        found += block
    return found[:count]


def leaves_host(address: str) -> bool:
    """True for an address of TCP that is not a loopback address. A name counts as one of another host."""
    if not address.startswith("tcp:"):
        return False
    host = address.removeprefix("tcp://").rpartition(":")[0].strip("[]")
    try:
        return not ip_address(host).is_loopback
    except ValueError:
        return True
