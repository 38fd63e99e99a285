"""ResultLoop: a worker of ``netpart predict``. It plays the net forward, and sends the values of the result layer.

The values go to the coordinator over the control plane, as regions of checkpoints do. So they arrive from any host, and
the worker continues only when the coordinator has taken them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from netpart.choices import RESULT
from netpart.graph.graph import LAYER
from netpart.launch.member.checkpoint_files import RemoteFile
from netpart.launch.member.loop import WorkerLoop
from netpart.program.buffers import View
from netpart.program.program import Program
from netpart.spec import whole_region


class ResultLoop(WorkerLoop):
    """Play one phase over ``batches`` mini-batches, and send the results of each."""

    def evaluate_if(self, step: int, now: bool, phase: str, batches: int) -> None:
        if not now or phase not in self.player.program.phases:
            return
        for batch in range(batches):
            # The mini-batch is also the step that messages name: nothing is trained.
            self.drive(phase, batch, batch)
            self._send_result(phase, batch)

    def _send_result(self, phase: str, batch: int) -> None:
        """Send the whole result of a mini-batch, if this worker has it."""
        view = _result_view(self.player.program.phases[phase], self.player.program.worker)
        if view is None:
            return
        self.finish(phase, batch)
        self.player.doing = f"sending the results of mini-batch {batch}"
        # The result layer is the last one of the net, so nothing has overwritten its values yet.
        values = np.ascontiguousarray(self.player.machine.held(view, phase))
        file = RemoteFile(self.control, Path(RESULT))
        file.write_region(str(batch), whole_region(values.shape), values, values.shape)


def _result_view(program: Program, worker: int) -> View | None:
    """The view of the result layer's values; None for a worker without that layer."""
    graph = program.micros[0].graph
    node = graph.net.by_name[RESULT].index
    parts = (p for p in graph.parts_of_worker(worker) if p.kind == LAYER and p.node == node)
    return next((program.values[0, part.index, 0] for part in parts), None)
