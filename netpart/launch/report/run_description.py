"""RunDescription: what a listener is told of a run before its first event."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from netpart.graph.partition import Partition
from netpart.proto.fields import is_repeated
from netpart.proto.reader import Job
from netpart.proto.writer import write_job

SettingValue = str | bool | int | float


@dataclass(frozen=True)
class RunDescription:
    """The run that a listener is opened for: its cut net, the folder of its files, and the first step that it plays.

    ``argument`` is the text after = of ``--listener NAME=TEXT``, "" without one. ``continues``: the run has failed and
    starts again, so what the listener has written of it is to be kept. ``say`` shows a text to the user alone, and
    writes it to no file. ``job`` is the job as its user wrote it, if it is known.
    """

    partition: Partition
    workspace: Path
    first_step: int = 0
    argument: str = ""
    continues: bool = False
    say: Callable[[str], None] = lambda text: None
    job: Job | None = None

    @property
    def name(self) -> str:
        """The name of the net."""
        return self.partition.graph.net.name

    @property
    def job_text(self) -> str:
        """The job as it is run: with all options applied, and its blocks written out."""
        return write_job(self.partition.job)

    @property
    def settings(self) -> dict[str, SettingValue]:
        """The number of workers, and the job's fields outside its net by their paths, as in ``--set``:
        {"updater.learning_rate.base_lr": 0.1}."""
        found = dict(_setting_entries(self.partition.job))
        return {"workers": self.partition.cluster.workers, "workspace": str(self.workspace), **found}


def _setting_entries(message: Message, prefix: str = "") -> Iterator[tuple[str, SettingValue]]:
    """The path and the value of each field that is set, in ``message`` and in the blocks below it; lists are left
    out."""
    for field, value in message.ListFields():
        if field.name == "neuralnet" or is_repeated(field):
            continue
        if field.message_type:
            yield from _setting_entries(value, f"{prefix}{field.name}.")
        else:
            yield prefix + field.name, _plain_value(field, value)


def _plain_value(field: FieldDescriptor, value: SettingValue) -> SettingValue:
    """``value``, or the name of the value of an enum."""
    return str(field.enum_type.values_by_number[int(value)].name) if field.enum_type else value
