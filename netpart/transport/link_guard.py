"""LinkGuard: what protects the links of one rank: who may connect, and how what is sent there is sealed."""

from __future__ import annotations

from typing import Any

import zmq

from netpart.choices import AES_GCM, CURVE
from netpart.errors import TransportError
from netpart.transport.mailbox import Mailbox
from netpart.transport.seal_keys import WireSecret
from netpart.transport.sealing import LARGEST_SEALED, FrameOpener, LinkSealer, require_cipher
from netpart.transport.sockets import Socket, require_curve_key, require_password, show_curve_key, show_password


class LinkGuard:
    """Protection of the links of ``rank`` in run ``run_id``. ``secret`` is None if all of them are plain."""

    def __init__(self, rank: int, run_id: bytes, secret: WireSecret | None) -> None:
        self.rank = rank
        self.run_id = run_id
        self.secret = secret

    def cipher(self, address: str) -> str:
        """How the links to ``address`` are sealed; "" for plain ones."""
        return self.secret.cipher if self.secret and self.secret.covers(address) else ""

    def guard(self, context: zmq.Context[Any], pull: Socket, address: str) -> None:
        """Let only members of the run connect to ``pull``, which will be bound to ``address``."""
        if self.secret and self.cipher(address) == CURVE:
            require_curve_key(pull, self.secret.curve_key(self.rank))
        elif address.startswith("tcp:"):
            require_password(context, pull, self._password(self.rank, address))

    def introduce(self, push: Socket, peer: int, address: str) -> None:
        """Make ``push``, which will connect to ``address``, show what ``guard`` of rank ``peer`` requires."""
        if self.secret and self.cipher(address) == CURVE:
            show_curve_key(push, self.secret.curve_key(peer))
        elif address.startswith("tcp:"):
            show_password(push, self._password(peer, address))

    def sealer(self, peer: int, address: str) -> LinkSealer | None:
        """What seals the frames to ``peer`` at ``address``; None if they are sent as they are.

        Raises TransportError without the package.
        """
        if self.secret is None or self.cipher(address) != AES_GCM:
            return None
        require_cipher()
        return LinkSealer(self.secret, self.rank, peer)

    def opener(self, mailbox: Mailbox, address: str) -> FrameOpener | None:
        """What opens the frames that arrive at ``address``; None if they come as they are.

        Raises TransportError without the package, or if a promised message is too large for it.
        """
        if self.secret is None or self.cipher(address) != AES_GCM:
            return None
        require_cipher()
        if (largest := mailbox.limit or 0) > LARGEST_SEALED:
            wanted = f"messages of at most {LARGEST_SEALED} bytes on sealed links"
            raise TransportError(
                f"rank {self.rank}: expected {wanted}, got one of {largest}; cut the layer in more parts"
            )
        return FrameOpener(self.secret, self.rank, mailbox)

    def _password(self, receiver: int, address: str) -> bytes:
        """What a peer shows to rank ``receiver``. It is sent in the open, and it opens no sealed frame."""
        if self.secret and self.cipher(address):
            return self.secret.door_password(receiver)
        return self.run_id.hex().encode()
