"""ONE_WEIRD_TRICK: convolutions cut on the batch, inner products on their neurons (Krizhevsky, arXiv 1404.5997)."""

from __future__ import annotations

from netpart.graph.net import Net
from netpart.layers.convolution import Convolution
from netpart.layers.inner_product import InnerProduct
from netpart.plan.schemes.gather_scatter import place_on_neurons
from netpart.plan.schemes.placing import BATCH, cut_on_axis, is_reporting_layer
from netpart.spec import Placement


def one_weird_trick(net: Net, workers: int) -> list[Placement]:
    """Cut layers above the first inner product on the batch, and all others on their neurons.

    Sends 2(N-1)P_conv + (N-1)b[d_0 + sum of d_l] + (N-1)b[d_0 + sum of d_l, l < L] elements; d_0 is the number of
    features of the convolutions. The labels, which the inputs read row by row, are sent to the replicated losses:
    4(N-1)b bytes. Without convolutions the scheme is GATHER_SCATTER.
    """
    on_rows: list[bool] = []
    convolves = any(isinstance(node.layer, Convolution) for node in net.nodes)
    for node in net.nodes:
        above = all(on_rows[source.node] for source in node.sources)
        on_rows.append(
            convolves and above and not isinstance(node.layer, InnerProduct) and not is_reporting_layer(node)
        )
    return [
        cut_on_axis(node, BATCH, workers) if rows else place_on_neurons(node, workers)
        for node, rows in zip(net.nodes, on_rows, strict=True)
    ]
