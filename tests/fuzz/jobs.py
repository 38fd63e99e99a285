"""Jobs: every field of the language with values that nobody means, blocks that are taken away or said twice, and text
that is none."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from netpart.graph.partition import Partition
from netpart.launch.run import run_job
from netpart.plan.partition import partition_by_scheme
from netpart.plan.text.advice import partition_warnings
from netpart.plan.text.plan_table import tabulate_partition
from netpart.proto.fields import is_repeated, message_fields
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import Job, read_job
from netpart.proto.worker_count import default_workers
from tests.fuzz.case import Case, Fuzz
from tests.fuzz.job_texts import JOBS
from tests.fuzz.mutate import mutated, reworded
from tests.fuzz.strange import KINDS, clear

INTS = ["0", "-1", "1", "1000000000", "2147483647", "9223372036854775807", "-2147483648", "1.5", "", "9" * 5000]
FLOATS = ["0", "-1", "1", "nan", "inf", "-inf", "1e300", "1e38", "1e-45", ""]
LISTS = ["1,1", "0,1", "0,0,0", "2147483647,2147483647,2147483647", ",".join(["1"] * 5000), ",", "-1,-1,-1"]
STRINGS = ["", "x" * 100_000, "/dev/null", "/", "é\n\t\x01", "../x"]
LONG_RUNS = ("train_steps", "test_steps", "validate_steps")
"""A run of so many steps is long, and no mistake."""
PLAYED = 16
"""Of so many jobs that are not refused one plays a step, if it has few workers."""
FEW = 5


def values_of(field: FieldDescriptor) -> list[str]:
    """What to try of a field."""
    if field.enum_type:
        return ["zzz", "999", "", *field.enum_type.values_by_name]
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return ["true", "false", "2", ""]
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return STRINGS
    floats = (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE)
    return (FLOATS if field.cpp_type in floats else INTS) + (LISTS if is_repeated(field) else [])


def changes(block: Message, path: str = "") -> Iterator[str]:
    """Every field of the blocks that ``block`` has with every value to try, as --set takes it."""
    for field in message_fields(block).values():
        here, value = path + field.name, getattr(block, field.name)
        if not field.message_type:
            yield from (f"{here}={text}" for text in values_of(field) if field.name not in LONG_RUNS)
        elif is_repeated(field):
            for i, element in enumerate(value):
                yield from changes(element, f"{here}[{i}].")
        elif block.HasField(field.name):
            yield from changes(value, f"{here}.")


PROTOS = {name: text_format.Parse(text, JobProto()) for name, text in JOBS.items()}
CHANGES = {name: list(changes(proto)) for name, proto in PROTOS.items()}


def blocks(block: Message) -> Iterator[Message]:
    """``block`` and every block in it."""
    yield block
    for field, value in block.ListFields():
        if field.message_type:
            for each in value if is_repeated(field) else [value]:
                yield from blocks(each)


def rebuilt(proto: JobProto, draw: Random) -> str:
    """The text of ``proto`` with a field taken away, an element said twice, or a block of another job in its place."""
    job = JobProto()
    job.CopyFrom(proto)
    block = draw.choice(list(blocks(job)))
    if not (fields := block.ListFields()):
        return text_format.MessageToString(job)
    field, value = draw.choice(fields)
    way = draw.randrange(3)
    if way == 0 or not (is_repeated(field) or field.message_type):
        block.ClearField(field.name)
    elif way == 1 and is_repeated(field):
        again = list(value) + [draw.choice(list(value))]
        draw.shuffle(again)
        block.ClearField(field.name)
        getattr(block, field.name).extend(again)
    else:
        others = [b for b in blocks(draw.choice(list(PROTOS.values()))) if b.DESCRIPTOR is block.DESCRIPTOR]
        block.MergeFrom(draw.choice(others or [block]))
    return text_format.MessageToString(job)


class Jobs(Fuzz):
    """Reads a job as `netpart check` does, and plays a step of some."""

    seconds = 20.0

    def sound(self) -> Iterator[Case]:
        for name, text in JOBS.items():
            yield Case(name, partial(self.check, text.encode(), [], True))

    def case(self, draw: Random) -> Case:
        name, play = draw.choice(list(JOBS)), draw.randrange(PLAYED) == 0
        content = JOBS[name].encode()
        sets = list[str]()
        what = ""
        way = draw.random()
        if way < 0.6:
            sets = [draw.choice(CHANGES[name]) for _ in range(draw.choice((1, 1, 1, 2, 3)))]
            what = ", ".join(change[:80] for change in sets)
        elif way < 0.8:
            content, what = rebuilt(PROTOS[name], draw).encode(), "blocks changed"
        elif way < 0.9:
            content, what = reworded(JOBS[name], draw).encode(errors="replace"), "a word changed"
        elif way < 0.99:
            content, what = mutated(content, draw), "bytes changed"
        else:
            kind = draw.choice(KINDS)
            return Case(f"{name} is {kind.__name__}", partial(self.strange, kind, content, draw), ("job.conf",))
        names = (
            "job.conf",
            "--",
            "worker",
            "train step",
            "test step",
            "val step",
            "checkpoint of step",
            "plan:",
            "seen:",
        )
        return Case(f"{name}: {what}", partial(self.check, content, sets, play), names)

    @property
    def path(self) -> Path:
        """The job's file."""
        return self.folder / "job.conf"

    def check(self, content: bytes, sets: list[str], play: bool) -> None:
        """Answers the job as `netpart check` does, and perhaps plays a step of it."""
        self.path.write_bytes(content)
        job = read_job(self.path, sets)
        workers = default_workers(job.proto)
        with job.explaining():
            cut = partition_by_scheme(job.proto, workers, self.folder)
            self.tell(job, cut)
            if play and workers < FEW:
                self.play(job, workers)

    def tell(self, job: Job, cut: Partition) -> None:
        """The table of `netpart check`, and its warnings."""
        tabulate_partition(cut), partition_warnings(cut)

    def play(self, job: Job, workers: int) -> None:
        """One step on threads of this process."""
        job.proto.train_steps = 1
        run_job(job, workers, launcher="threads", listener=lambda event: None, workspace=self.folder / "ws")

    def strange(self, kind: object, content: bytes, draw: Random) -> None:
        """Reads what is no job's file."""
        clear(self.path)
        try:
            kind(self.path, content, draw)  # type: ignore[operator]
            read_job(self.path)
        finally:
            clear(self.path)
