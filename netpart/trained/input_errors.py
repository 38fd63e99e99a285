"""Errors of ``--input``: they name the option and the file, for no line of the job is at fault."""

from __future__ import annotations

import re

from netpart.errors import ConfigError, DataError, JobError
from netpart.proto.job_pb2 import JobProto

WHO = "--input"
_OTHER_HINTS = re.compile(r"correct (the path \(--set [^)]*\)|the path|\w+_conf\.\w+)(?=$|,)|correct store_conf\.path")


def input_error(error: JobError, layer: str) -> JobError:
    """``error``, which the input layer ``layer`` raised for its source, as an error of the option ``--input``."""
    text = _OTHER_HINTS.sub(f"correct {WHO}", error.describe().removeprefix(f"{layer}: "))
    if isinstance(error, ConfigError):
        return error if error.who == WHO else ConfigError(WHO, error.expected, error.got, error.hint)
    return DataError(text if text.startswith(WHO) else f"{WHO}: {text}")


def find_input_error(error: JobError, part: JobProto, source: str) -> JobError | None:
    """The first fault of ``error`` that is one of ``source``, the data of an input layer of ``part``, as an error of
    ``--input``; None without such a fault."""
    for fault in error.faults:
        at = fault.at or ()
        if isinstance(fault, DataError) and at[:2] == ("neuralnet", "layer") and isinstance(index := at[2], int):
            return input_error(fault, part.neuralnet.layer[index].name)
        if isinstance(fault, DataError) and source in fault.describe():  # a worker found it, in a row
            return input_error(fault, "")
    return None
