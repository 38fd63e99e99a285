"""Seal choice: which links of a run are sealed, how, and what each worker needs for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from secrets import token_bytes

from netpart.choices import AES_GCM, AUTO, CIPHERS, CUDA_IPC, CURVE, LOCAL, MEMORY, PLAIN, SEALS, SHM, YES, ZEROMQ
from netpart.errors import ConfigError
from netpart.launch.control.framing import printable_text
from netpart.proto.control_pb2 import WelcomeProto
from netpart.transport.seal_keys import SECRET_BYTES, WireSecret, leaves_host
from netpart.transport.sealing import missing_cipher

IN_HOST = MEMORY, SHM, CUDA_IPC
"""Transports whose tensors stay in the memory of one host: they are sealed by no choice."""
INSTALL = "pip install 'netpart[secure]' on its host"


@dataclass(frozen=True)
class SealChoice:
    """The cipher of the sealed links of a run, "" if none is sealed; ``everywhere``: also those within a host."""

    cipher: str = ""
    everywhere: bool = False

    def draw_secret(self, run_id: bytes, team: int = 0) -> WireSecret | None:
        """A new secret for team number ``team`` of a run, whose frames have ``run_id``; None if no link is sealed."""
        if not self.cipher:
            return None
        return WireSecret(self.cipher, token_bytes(SECRET_BYTES), run_id, team, self.everywhere)


UNSEALED = SealChoice()


def choose_seal(wanted: str, transport: str, launcher: str) -> SealChoice:
    """How a run over ``transport`` is sealed, by ``wanted`` of ``SEALS``.

    Without the package cryptography on this host links are sealed by CURVE. Raises ConfigError for another value, and
    for "yes" with links that netpart cannot seal.
    """
    if wanted not in SEALS:
        raise ConfigError("--seal", f"one of {', '.join(SEALS)}", wanted)
    # The processes of the launcher "local" meet at addresses of ipc, which nobody outside of this host reaches.
    if transport == ZEROMQ and (wanted == YES or (wanted == AUTO and launcher != LOCAL)):
        return SealChoice(CURVE if missing_cipher() else AES_GCM, wanted == YES)
    if wanted == YES and transport not in IN_HOST:
        expected = "links that netpart can seal: ZeroMQ, or the memory of one host"
        hint = "use --launcher join (docs/hosts.md), or --seal no"
        raise ConfigError("--seal yes", expected, f"the transport {transport}", hint)
    return UNSEALED


def known_ciphers() -> list[str]:
    """The ciphers with which this host can seal."""
    return [CURVE] if missing_cipher() else [*CIPHERS]


def write_secret(welcome: WelcomeProto, secret: WireSecret | None) -> None:
    """Tell a worker how links are sealed."""
    if secret is not None:
        welcome.seal = secret.cipher
        welcome.seal_secret = secret.secret
        welcome.seal_generation = secret.generation
        welcome.seal_everywhere = secret.everywhere


def read_secret(welcome: WelcomeProto) -> WireSecret | None:
    """The inverse of ``write_secret``."""
    if not welcome.seal:
        return None
    w = welcome
    return WireSecret(w.seal, w.seal_secret, w.run_id, w.seal_generation, w.seal_everywhere)


def cipher_refusal(secret: WireSecret | None, address: str, offered: Sequence[str]) -> str:
    """Why a worker that reaches the run at ``address`` and offers these ciphers cannot take part; "" if it can."""
    if secret is None or secret.cipher in offered or not secret.covers(address):
        return ""
    got = ", ".join(map(printable_text, offered)) or "none: an older netpart"
    return f"expected a worker that can seal tensors with {secret.cipher}, got {got}; {INSTALL}, or run with --seal no"


def sealing_mistake(secret: WireSecret | None, address: str, cipher: str) -> str:
    """How a worker that takes tensors at ``address`` with ``cipher`` differs from the run; "" if it does not."""
    wanted = secret.cipher if secret is not None and secret.covers(address) else ""
    if cipher == wanted:
        return ""
    hint = "install the same netpart on all hosts"
    return f"expected tensors sealed with {wanted or 'nothing'}, got {printable_text(cipher) or 'plain ones'}; {hint}"


def describe_sealing(secret: WireSecret | None, addresses: Iterable[str], hosts: Iterable[str]) -> str:
    """The cipher of the links to ``addresses``; PLAIN if a link leaves its host unsealed; "" if none leaves it.

    ``hosts`` are those of the workers: links of MPI have no addresses.
    """
    known = list(addresses)
    if secret is not None and any(map(secret.covers, known)):
        return secret.cipher
    return PLAIN if any(map(leaves_host, known)) or len(set(hosts)) > 1 else ""
