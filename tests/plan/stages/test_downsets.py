"""Down-sets: few of many cuts are those with the fewest bytes across them."""

from __future__ import annotations

from netpart.plan.price.net_profile import LayerProfile, NetProfile
from netpart.plan.stages.downsets import find_downsets

BYTES = (5.0, 1.0, 4.0, 3.0, 2.0, 6.0, 7.0, 0.0)


def test_of_each_share_of_the_work_the_cheapest_cut_is_kept() -> None:
    layers = tuple(LayerProfile(f"l{i}", "Linear", 1.0, 1.0, size, 0.0) for i, size in enumerate(BYTES))
    cuts = find_downsets(NetProfile(layers, tuple((i, i + 1) for i in range(7))), most=0)
    few = cuts.few(2)
    assert len(cuts) == 9
    assert few.members.sum(axis=1).tolist() == [0, 2, 5, 8]
    assert few.crossing.tolist() == [0.0, 1.0, 2.0, 0.0]
    assert cuts.few(4).members.sum(axis=1).tolist() == [0, 2, 4, 5, 7, 8]
