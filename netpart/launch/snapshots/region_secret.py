"""RegionSecret: how the links between region services are protected.

A peer shows a password before a byte of it is read. Links that leave a host are sealed as tensors are: by AES-256-GCM,
message by message, or by CURVE. The keys come from a secret of the run that all its teams share, because a region
service outlives a team. A session is one direction of a connection; its messages are counted.

    seal frame: session (16 bytes), number of the message (8 bytes); empty on plain links and with CURVE
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from secrets import token_bytes
from struct import Struct
from typing import TYPE_CHECKING, Any

import zmq

from netpart.choices import AES_GCM, CURVE
from netpart.errors import TransportError
from netpart.transport.seal_keys import derive_key, leaves_host
from netpart.transport.sealing import require_cipher
from netpart.transport.sockets import Socket, require_curve_key, require_password, show_curve_key, show_password

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SALT = b"netpart regions"
REQUEST, ANSWER = b"request", b"answer"
_SEAL = Struct("<16sQ")
_NONCE = Struct("<IQ")
SESSIONS = 256
"""Sessions of which a service remembers the last message."""
Parts = list[Any]


@dataclass(frozen=True, repr=False)
class RegionSecret:
    """``secret`` of a run (32 bytes), and the ``cipher`` of links that leave a host ("": none).

    ``everywhere``: of all links.
    """

    secret: bytes
    cipher: str = ""
    everywhere: bool = False

    def protection(self, address: str) -> str:
        """The cipher of the links to ``address``, "" for plain ones."""
        return self.cipher if self.everywhere or leaves_host(address) else ""

    def guard(self, context: zmq.Context[Any], socket: Socket, address: str) -> None:
        """Let only holders of the secret connect to ``socket``, which will be bound to ``address``."""
        if self.protection(address) == CURVE:
            require_curve_key(socket, self.key(b"curve"))
        else:
            require_password(context, socket, self.key(b"door").hex().encode())

    def introduce(self, socket: Socket, address: str) -> None:
        """Make ``socket``, which will connect to ``address``, show what ``guard`` requires there."""
        if self.protection(address) == CURVE:
            show_curve_key(socket, self.key(b"curve"))
        else:
            show_password(socket, self.key(b"door").hex().encode())

    def key(self, purpose: bytes) -> bytes:
        """The key for ``purpose``, 32 bytes."""
        return derive_key(self.secret, SALT, purpose)

    def seals(self, address: str) -> bool:
        """True if each message to and from ``address`` is sealed. Raises TransportError without the package."""
        if self.protection(address) != AES_GCM:
            return False
        require_cipher()
        return True


class RegionSealer:
    """Seals the messages of one session, of ``purpose`` REQUEST or ANSWER, with the service at ``address``."""

    def __init__(self, secret: RegionSecret, purpose: bytes, address: str) -> None:
        self.session = token_bytes(16)
        self.sent = 0
        self._cipher = _session_cipher(secret, purpose, address, self.session)

    def seal(self, head: bytes, payload: Any) -> Parts:
        """The frames of a message."""
        seal = _SEAL.pack(self.session, self.sent)
        # Counted before use, so that no error repeats a nonce.
        self.sent += 1
        return [seal, head, self._cipher.encrypt(_NONCE.pack(0, self.sent - 1), payload, seal + head)]


class RegionOpener:
    """Opens sealed messages of ``purpose`` that go to or come from the service at ``address``."""

    def __init__(self, secret: RegionSecret, purpose: bytes, address: str) -> None:
        self._secret, self._purpose, self._address = secret, purpose, address
        self._sessions: OrderedDict[bytes, tuple[AESGCM, int]] = OrderedDict()

    def open(self, seal: bytes, head: bytes, payload: bytes | memoryview) -> bytes:
        """The payload. Raises TransportError for a message that is not authentic or was opened before."""
        from cryptography.exceptions import InvalidTag

        if len(seal) != _SEAL.size:
            raise TransportError(f"expected a sealed message, got a seal of {len(seal)} bytes")
        session, number = _SEAL.unpack(seal)
        known = self._sessions.get(session)
        cipher = known[0] if known else _session_cipher(self._secret, self._purpose, self._address, session)
        if known and number <= known[1]:
            raise TransportError(f"expected a message after number {known[1]} of its session, got {number}")
        try:
            opened = cipher.decrypt(_NONCE.pack(0, number), payload, seal + head)
        except InvalidTag:
            raise TransportError("expected a message sealed with the secret of this run, got another") from None
        # Remembered only now: who does not know the secret cannot make this service forget a session.
        self._sessions[session] = cipher, number
        self._sessions.move_to_end(session)
        while len(self._sessions) > SESSIONS:
            self._sessions.popitem(last=False)
        return opened


def _session_cipher(secret: RegionSecret, purpose: bytes, address: str, session: bytes) -> AESGCM:
    """The cipher of one session."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(secret.key(purpose + address.encode() + b"\0" + session))
