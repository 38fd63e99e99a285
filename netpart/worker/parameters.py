"""WorkerParameters: the parameters and updater state that a worker holds from step to step."""

from __future__ import annotations

from netpart.initialisers import draw_initial_values
from netpart.kernels.op import Array
from netpart.kernels.philox import stream_key
from netpart.spec import relative_slices, split_box
from netpart.worker.machine import Machine, box_slices


class WorkerParameters:
    """The holdings of a Machine by their numbers: values, and the updater's state.

    Each parameter has as many versions as steps may be in flight. Between steps the first one is valid.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.program = machine.program
        copy = machine.kernels.copy
        found = [machine.versions[view.buffer] for view in self.program.parameters]
        versions = [each for each in found if len(each) > 1]
        self.spreads = [copy(other, newest).run for newest, *others in versions for other in others]
        self.settles = [[copy(first, each).run for each in (first, *others)] for first, *others in versions]

    def initialise(self) -> None:
        """Fill every parameter with its initial values, a function of seed, name and global element index.

        Then initialise the updater's state from them.
        """
        for h, holding in enumerate(self.program.holdings):
            spec = holding.parameter.spec
            target = self.values(h)
            random = stream_key(self.machine.seed, holding.parameter.name, "init")
            for box in split_box(holding.box):
                values = draw_initial_values(spec.proto.init, random, box, spec.shape, spec.matrix)
                target[relative_slices(box, holding.box)] = self.machine.xp.asarray(values.astype(self.machine.dtype))
        self.begin_state()

    def begin_state(self) -> None:
        """Initialise the updater's state of all parameters, once these have their first values."""
        updater = self.machine.updater
        for holding, state in enumerate(self.machine.state):
            if updater is not None:
                updater.begin(self.at_home(holding), list(state.values()))

    def values(self, holding: int) -> Array:
        """Values of a holding, on the device."""
        return self.machine.fixed[self.program.parameters[holding].buffer]

    def at_home(self, holding: int) -> Array:
        """Values of the part of a holding that this worker updates, on the device."""
        return self.values(holding)[box_slices(self.program.at_home(self.program.parameters[holding], holding))]

    def copy_to_versions(self) -> None:
        """Copy the valid version of every parameter to all its versions."""
        for copy in self.spreads:
            copy()

    def settle(self, mini: int) -> None:
        """Make the version that the update of mini-batch ``mini`` wrote the valid one."""
        for copies in self.settles:
            copies[mini % len(copies)]()
