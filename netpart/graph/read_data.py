"""The field of a job that names the data which an action of a worker reads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from netpart.graph.build import data_path_field

if TYPE_CHECKING:
    from netpart.errors import FieldPath
    from netpart.graph.partition import Partition


def locate_read_data(partition: Partition, phase: str, action: str) -> FieldPath | None:
    """The path of the field for ``action``, "forward data" or "forward data-01" of a cut layer; None if it reads no
    data."""
    nodes = partition.phases[phase][0].graph.net.nodes if phase in partition.phases else []
    for node in nodes:
        if node.layer.is_input and re.fullmatch(rf"forward {re.escape(node.name)}(-\d+)*", action):
            return data_path_field(node.conf, node.at)
    return None
