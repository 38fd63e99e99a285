"""The report of a worker's failure: to the coordinator, which ends the run, and to the worker's own log."""

from __future__ import annotations

from typing import TextIO

from netpart.errors import NetpartError
from netpart.launch.member.control_client import ControlLink
from netpart.launch.member.deadline_waiter import LinkLost, Overdue
from netpart.proto.control_pb2 import ControlProto
from netpart.shortage import find_shortage


def report_failure(link: ControlLink, error: Exception, log: TextIO, away: bool = False) -> None:
    """Report what went wrong and where. The traceback of an unforeseen error goes to the worker's ``log``; other errors
    only if it is ``away``, where its user does not see the coordinator."""
    import traceback

    error = find_shortage(error) or error
    if not isinstance(error, NetpartError):
        traceback.print_exception(error, file=log)
        log.flush()
    elif away:
        print(f"note: worker {link.rank} has failed: {error}", file=log, flush=True)
    message = ControlProto()
    status = link.status
    message.failed.rank = link.rank
    message.failed.phase = status.phase
    message.failed.step = status.step
    message.failed.doing = status.doing()
    message.failed.kind = type(error).__name__
    message.failed.message = str(error)
    if isinstance(error, Overdue | LinkLost) and error.peer is not None:
        message.failed.peer = error.peer
        message.failed.unreached = isinstance(error, LinkLost) and not error.opened
    link.send(message)
