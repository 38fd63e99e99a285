"""AverageSchedule: when groups that keep their own parameters average them.

    round    0   1   2   3   4   5   6   7        sync_freq: 4, staleness: 2
    begin                B               B        after the last round of every sync_freq
    bring in                     I                staleness rounds later; the steps between do not wait

In a round each group takes one step. Before a step at which something is saved or tested, all groups meet: every
average is brought in, and all state of a group, the updater's included, becomes the mean. So all groups are equal
there, and a run resumed from a checkpoint computes the same as one that never stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from netpart.launch.control.due_steps import is_average_due
from netpart.proto.cluster import Cluster
from netpart.worker.group_averaging import GroupAveraging
from netpart.worker.player import Player
from netpart.worker.server_player import AppliedUpdate
from netpart.worker.wait_reasons import WaitReason


class AverageSchedule:
    """The averages of one worker of group ``group``, from step ``first`` on.

    ``meetings`` are the steps before which all groups meet. ``note`` receives an AppliedUpdate for each average brought
    in.
    """

    def __init__(
        self, averaging: GroupAveraging, player: Player, cluster: Cluster, group: int, first: int,
        meetings: Sequence[int],
        note: Callable[[AppliedUpdate], None],
    ) -> None:  # fmt: skip
        self.averaging = averaging
        self.cluster = cluster
        self.group = group
        self.report_update = note
        self.first = first
        self.meetings = meetings
        self.met = first
        self.values = averaging.of([player.parameters.values(h) for h in range(len(player.program.holdings))])
        slots = player.machine.updater.states if player.machine.updater else ()
        self.states = [averaging.of([state[slot] for state in player.machine.state]) for slot in slots]
        self.done, self.begun = 0, -1

    def run_due(self, step: int) -> Iterator[WaitReason]:
        """Begin and bring in the averages that are due after a step of this group."""
        self.done += 1
        bound = self.cluster.staleness or 0
        # Bring in before beginning: all averages share one pair of buffers, so only one can be in flight.
        if self.begun >= 0 and self.done - self.begun >= bound:
            yield from self.bring_in(step)
        if is_average_due(self.cluster, self.first, self.meetings, step):
            self.values.begin()
            self.begun = self.done
            if bound == 0:
                yield from self.bring_in(step)

    def bring_in(self, step: int) -> Iterator[WaitReason]:
        """Wait for the average in flight, if there is one."""
        if self.begun >= 0:
            yield from self.values.finish()
            self.report_update(AppliedUpdate(self.group, step, self.begun, self.done))
            self.begun = -1

    def equalise_groups(self, step: int) -> Iterator[WaitReason]:
        """Make the state of all groups equal before ``step``."""
        if step > self.met:
            yield from self.bring_in(step)
            # One after another, in the same order in every group: the averages share their buffers and message
            # channels.
            for average in (self.values, *self.states):
                average.begin()
                yield from average.finish()
            self.report_update(AppliedUpdate(self.group, step, self.done, self.done))
            self.met = step
