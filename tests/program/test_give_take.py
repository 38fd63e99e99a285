"""A collective is given what it carries, whatever else its source holds."""

from __future__ import annotations

from netpart.collectives.kinds import REDUCE
from netpart.graph.graph import BRIDGE_SRC, GIVE, LAYER, Collective, Part, PartInput
from netpart.program.give_take import insert_give_take
from netpart.spec import FLOAT, Region

HELD: Region = ((0, 1), (1, 3))
WANTED: Region = ((0, 1), (1, 2))


def test_an_addend_may_be_a_box_of_what_its_worker_holds() -> None:
    """Where cuts of the addends differ, the rest goes elsewhere, and its gradient comes from there."""
    layer, bridge = Part(LAYER, "fc", 0, 0, HELD, 0), Part(BRIDGE_SRC, "s-fc", 0, 0, WANTED, 0)
    layer.index, bridge.index = 0, 1
    bridge.feeds = [PartInput(layer, WANTED, 0, 0, True)]
    bridge.collective = Collective(REDUCE, "fc", FLOAT, (1, 0), (), WANTED, True, 1, 2)
    _, give, _ = insert_give_take([layer, bridge])
    assert (give.kind, give.region, give.feeds[0].region) == (GIVE, WANTED, WANTED)
