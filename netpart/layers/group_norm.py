"""kGroupNorm: normalisation of every group of channels of a row by the mean and variance of that group."""

from __future__ import annotations

from typing import ClassVar, final

from netpart.layers.checks import at_least, fault, one_source
from netpart.layers.normalisation import Normalisation
from netpart.spec import Region, Spec


@final
class GroupNorm(Normalisation):
    """Input (batch, channels, ...). With as many groups as channels this is instance normalisation.

    Wu and He, Group Normalization, 2018. If a cut divides a group, both parts compute the statistics of that group.
    """

    types: ClassVar[tuple[str, ...]] = ("kGroupNorm",)
    confs: ClassVar[tuple[str, ...]] = ("norm_conf",)

    def infer(self) -> tuple[Spec, ...]:
        source = one_source(self)
        at = ("norm_conf", "groups")
        groups = at_least(self, 1, self.conf.norm_conf.groups, *at)
        if source.shape[1] % groups:
            got = f"{groups} over {source.shape[1]} channels"
            raise fault(self, "groups that divide the channels", got, "change groups", *at)
        self.axes = range(1, 2)
        self.share = source.shape[1] // groups
        return (source,)

    def cuts(self) -> tuple[int | str, ...]:
        return (0, 1)

    def touched(self, region: Region) -> Region:
        # Widened to whole groups: a part computes the statistics of each group that it touches from all its channels.
        lo, hi = region[1]
        return (region[0], (lo // self.share * self.share, -(-hi // self.share) * self.share), *region[2:])

    def blocks(self, region: Region) -> int:
        (lo, hi), (first, stop) = region[:2]
        return (hi - lo) * (stop - first) // self.share
