"""Words: what workers say to their coordinator, recorded in a run and said again with something wrong in it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import zmq
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from netpart.errors import WorkerFailed
from netpart.graph.server_pieces import add_job_servers
from netpart.launch.control.seats import HEART, KNOCK, VOICE, WorkerSeats, socket_identity
from netpart.launch.coordinator import coordinator as coordinator_module
from netpart.launch.coordinator import watchdog as watch
from netpart.launch.coordinator.coordinator import Coordinator
from netpart.launch.member.control_client import ControlClient
from netpart.launch.run import run_job
from netpart.launch.run_options import make_run_options
from netpart.launch.teams.team import Team
from netpart.plan.partition import partition_by_scheme
from netpart.proto.control_pb2 import ControlProto
from netpart.proto.fields import is_repeated
from netpart.proto.reader import read_job_text
from tests.fuzz.case import Case, Fuzz
from tests.fuzz.job_texts import JOBS
from tests.fuzz.mutate import WORDS, mutated, number

WORKERS = 2
LOOK_MS = 10
SILENT = 0.3
"""Who says nothing more is given up soon: all that is said is there at once."""
END = "the record ends here"
TICKET = bytes(range(16))
"""What stands in the record for the secret of the worker that says it."""
Sender = tuple[int, bytes]
"""The socket that a message comes from: the worker's rank, and which of its sockets."""
Word = tuple[Sender, list[bytes]]
"""A message, in parts."""


class Words(Fuzz):
    """A coordinator whose workers say what they said in a run, but for something."""

    seconds = 10.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.job = read_job_text(JOBS["mlp"], "job.conf", ["test_steps=0", "checkpoint_freq=0"])
        self.workspace = folder / "words"
        self.said = self.record()
        self.partition = add_job_servers(partition_by_scheme(self.job.proto, WORKERS, folder))
        self.context: zmq.Context[Any] = zmq.Context()

    def record(self) -> list[Word]:
        """What the workers of a run say, in the order in which it is said."""
        found, send = list[Word](), ControlClient.send

        def noted(control: ControlClient, message: ControlProto) -> None:
            found.append(((control.rank, VOICE), [with_ticket(message)]))
            send(control, message)

        with patch.object(ControlClient, "send", noted):
            run_job(self.job, WORKERS, launcher="threads", listener=lambda event: None, workspace=self.workspace)
        return found

    def close(self) -> None:
        self.context.term()

    def sound(self) -> Iterator[Case]:
        yield Case("what was recorded", partial(self.hear, self.said, True))

    def case(self, draw: Random) -> Case:
        said = [(name, list(parts)) for name, parts in self.said]
        wrong = self.damaged(said, draw)
        return Case(f"words: {wrong}", partial(self.hear, said), ("worker", "coordinator", "group", "step", "rank"))

    def damaged(self, said: list[Word], draw: Random) -> str:
        """Does something to what is said, and says what."""
        at, way = draw.randrange(len(said)), draw.random()
        name, (content, *_) = said[at]
        kind = str(ControlProto.FromString(content).WhichOneof("message"))
        if way < 0.45:
            message = ControlProto.FromString(content)
            what = altered(message, draw)
            said[at] = name, [message.SerializeToString()]
            return f"{kind}: {what}"
        if way < 0.6:
            said[at] = name, [mutated(content, draw)]
            return f"{kind}: bytes changed"
        if way < 0.7:
            said.insert(draw.randrange(len(said) + 1), (name, [content]))
            return f"{kind} twice"
        if way < 0.76:
            draw.shuffle(said)
            return "in another order"
        if way < 0.82:
            said[at] = (draw.randrange(WORKERS + 1), draw.choice((VOICE, HEART))), [content]
            return f"{kind} of another worker"
        if way < 0.88:
            said[at] = name, draw.choice(([content, b""], [b"", content], [content] * 3, [b""], [content, content[:3]]))
            return f"{kind} in other parts"
        other = ControlProto()
        field = draw.choice(fields_of_type(ControlProto))
        filled(other, field, draw)
        if way < 0.94:
            said.insert(at, (name, [other.SerializeToString()]))
            return f"a {field.name} that nobody asked for"
        said.insert(
            at, ((draw.randrange(WORKERS), KNOCK), [draw.choice((other.SerializeToString(), mutated(content, draw)))])
        )
        return "somebody knocks"

    def hear(self, said: list[Word], whole: bool = False) -> None:
        """Leads a run of workers that say just this; with ``whole`` to its end."""
        options = make_run_options(self.job, self.workspace)
        coordinator = Coordinator(self.partition, options, self.context, lambda event: None)
        last = [] if whole else [farewell()]
        try:
            with patch.object(coordinator_module, "LOOK_MS", LOOK_MS), patch.object(watch, "SILENT_SECONDS", SILENT):
                coordinator.run(Script(self.context, [*said, *last]), f"inproc://words-{id(coordinator)}")
        except WorkerFailed as error:
            if END not in str(error):
                raise


class Script(Team):
    """Workers of which nothing is there but what they say."""

    parting_seconds, start_seconds = 0.0, SILENT

    def __init__(self, context: zmq.Context[Any], said: list[Word]) -> None:
        self.context, self.said = context, said
        self.sockets: dict[Sender, zmq.Socket[bytes]] = {}

    def start(self, control: str, seats: WorkerSeats) -> None:
        for sender, parts in self.said:
            secret = seats.ticket(sender[0] % WORKERS).secret
            if sender not in self.sockets:
                self.sockets[sender] = self.context.socket(zmq.DEALER)
                self.sockets[sender].setsockopt(zmq.IDENTITY, name_of(sender, secret, seats))
                self.sockets[sender].connect(control)
            self.sockets[sender].send_multipart([part.replace(TICKET, secret) for part in parts])

    def descriptors(self) -> list[int]:
        return []

    def dead(self) -> dict[int, str]:
        return {}

    def running(self) -> bool:
        return False

    def stopped(self, rank: int) -> bool:
        return False

    def log_tail(self, rank: int, lines: int = 12) -> str:
        return ""

    def kill(self) -> None:
        for socket in self.sockets.values():
            socket.close(linger=0)


def name_of(sender: Sender, secret: bytes, seats: WorkerSeats) -> bytes:
    """The identity of a socket of the worker that has ``secret``, or of somebody who has the token."""
    rank, which = sender
    return KNOCK + seats.token.secret + b"self" if which == KNOCK else socket_identity(secret, rank, which)


def with_ticket(message: ControlProto) -> bytes:
    """``message`` as it is recorded."""
    noted = ControlProto()
    noted.CopyFrom(message)
    if noted.HasField("hello"):
        noted.hello.token = TICKET
    return noted.SerializeToString()


def farewell() -> Word:
    """Worker 0 says that the record ends, so that nobody waits for what does not come."""
    message = ControlProto()
    message.failed.rank = 0
    message.failed.kind = "NetpartError"
    message.failed.message = END
    return (0, VOICE), [message.SerializeToString()]


def altered(message: Message, draw: Random) -> str:
    """Changes one field somewhere in ``message``, and says which."""
    blocks = list(inner(message))
    block = draw.choice(blocks)
    field = draw.choice(fields_of_type(block))
    if draw.random() < 0.25:
        block.ClearField(field.name)
        return f"without {field.name}"
    filled(block, field, draw)
    return f"{field.name} = {getattr(block, field.name)!r:.60}"


def fields_of_type(block: Any) -> list[FieldDescriptor]:
    """The fields that a block may have."""
    return list(block.DESCRIPTOR.fields)


def inner(message: Message) -> Iterator[Message]:
    """``message`` and every block in it."""
    yield message
    for field, value in message.ListFields():
        if field.message_type:
            for each in value if is_repeated(field) else [value]:
                yield from inner(each)


def filled(block: Message, field: FieldDescriptor, draw: Random) -> None:
    """Gives a field of ``block`` a value that nobody means."""
    if field.message_type:
        part = getattr(block, field.name)
        part = part.add() if is_repeated(field) else part
        part.SetInParent()
        for each in field.message_type.fields:
            if draw.random() < 0.5 and not each.message_type:
                filled(part, each, draw)
    elif is_repeated(field):
        getattr(block, field.name).extend(value_of(field, draw) for _ in range(draw.randint(1, 9)))
    else:
        setattr(block, field.name, value_of(field, draw))


def value_of(field: FieldDescriptor, draw: Random) -> Any:
    """A value of the field's type."""
    bits = {field.CPPTYPE_INT32: 31, field.CPPTYPE_INT64: 63, field.CPPTYPE_UINT32: 32, field.CPPTYPE_UINT64: 64}
    if field.cpp_type in bits:
        signed = field.cpp_type in (field.CPPTYPE_INT32, field.CPPTYPE_INT64)
        most = (1 << bits[field.cpp_type]) - 1
        return max(-most - 1 if signed else 0, min(most, number(draw)))
    if field.type == field.TYPE_BYTES:
        return draw.randbytes(draw.choice((0, 1, 8, 16, 1000)))
    if field.cpp_type == field.CPPTYPE_STRING:
        return draw.choice(WORDS)
    if field.cpp_type == field.CPPTYPE_BOOL:
        return draw.random() < 0.5
    return draw.choice((0.0, -1.0, float("nan"), float("inf"), 1e300))
