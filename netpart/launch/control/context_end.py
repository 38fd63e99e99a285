"""The end of a ZeroMQ context, which waits for its sockets, but not for ever."""

from __future__ import annotations

from threading import Thread
from typing import Any

import zmq

ENDING_SECONDS = 10.0
"""Longer than any socket lingers."""


def end_context(context: zmq.Context[Any], seconds: float = ENDING_SECONDS) -> bool:
    """Terminate ``context``, all of whose sockets are closed; False if that takes longer than ``seconds``.

    Then the context is left to a thread, which ends with the process: a socket that libzmq does not give up must not
    keep a run from reporting how it ended.
    """
    ending = Thread(target=context.term, name="end of a ZeroMQ context", daemon=True)
    ending.start()
    ending.join(seconds)
    return not ending.is_alive()
