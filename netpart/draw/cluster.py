"""Drawing of a cluster as SVG: groups of workers, the servers above them, and the traffic between them.

┌ server 0 ┐ ┌ server 1 ┐              ┌ group 0 ┐ ──▶ ┌ group 1 ┐ ──▶ ┌ group 2 ┐
  ▲ │            ▲ │                   │ (0) (1) │     │ (2) (3) │     │ (4) (5) │
  │ ▼            │ ▼                   └─────────┘     └─────────┘     └─────────┘
┌ group 0 ┐  ┌ group 1 ┐                    ▲                               │
│ (0) (1) │  │ (2) (3) │                    └───────────────────────────────┘
└─────────┘  └─────────┘
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from netpart.draw.font_metrics import FAMILY, text_width, wrap_text
from netpart.draw.palette import worker_colour
from netpart.graph.partition import Partition
from netpart.plan.price.group_traffic import predict_group_traffic
from netpart.proto.cluster import Cluster
from netpart.units import plural_text

WORKER, GAP, MARGIN = 46, 46, 24
"""Pixels: width of a worker, gap between groups, margin of the drawing."""
TOP, SERVER, BETWEEN, GROUP = 58, 44, 92, 92
"""Pixels: space above the first row, height of a server, space between the rows, height of a group."""
TITLE, TEXT, SMALL = 15, 12, 10
"""Font sizes."""
NOTE, LINE = 40, 16
"""Pixels between the last row and the note below it, and between lines of the note."""
SHOWN = 3
"""Number of steps that are named for each group."""
GRADIENTS, PARAMETERS = "#D55E00", "#0072B2"

STYLE = f"""<style>
text {{ font-family: {FAMILY}; font-size: {TEXT}px; fill: #222; text-anchor: middle }}
.title {{ font-size: {TITLE}px; font-weight: bold; text-anchor: start }} .note {{ text-anchor: start }}
.small {{ font-size: {SMALL}px; fill: #555 }}
.frame {{ fill: #fff; stroke: #888; stroke-width: 1.2; stroke-dasharray: 5 3 }}
.server {{ fill: #eee; stroke: #444; stroke-width: 1.4 }}
.arrow {{ fill: none; stroke-width: 2 }}
</style>"""


class ClusterLayout:
    """The positions of the parts of ``cluster``, below a ``title`` and above a ``note``, which is broken into lines."""

    def __init__(self, cluster: Cluster, title: str = "", note: str = "") -> None:
        self.cluster = cluster
        self.group_width = max(108, cluster.workers * WORKER + 20)
        groups = cluster.groups * self.group_width + (cluster.groups - 1) * GAP
        servers = cluster.servers * 108 + max(0, cluster.servers - 1) * GAP
        self.width = max(groups, servers, 540, text_width(title, TITLE, bold=True)) + 2 * MARGIN
        self.note = wrap_text(note, TEXT, self.width - 2 * MARGIN)
        self.first_group = (self.width - groups) / 2
        self.first_server = (self.width - servers) / 2
        self.groups_top = TOP + (SERVER + BETWEEN if cluster.servers else 0)
        self.below = self.groups_top + GROUP + NOTE + (24 if cluster.averages else 0) - 14
        self.height = self.below + LINE * (len(self.note) - 1) + 14

    def group_middle(self, group: int) -> float:
        """The x coordinate of the middle of a group."""
        return self.first_group + group * (self.group_width + GAP) + self.group_width / 2

    def server_middle(self, server: int) -> float:
        """The x coordinate of the middle of a server."""
        return self.first_server + server * (108 + GAP) + 54


def groups_svg(partition: Partition) -> str:
    """Draw the groups and servers that train ``partition``, a result of ``add_job_servers``, and their traffic."""
    found = predict_group_traffic(partition)
    cluster = partition.cluster
    note = str(found).split(": ", 1)[1] if found else "no traffic between groups: there is one group, without servers"
    return cluster_svg(cluster, f"{partition.graph.net.name}: {cluster}", note)


def cluster_svg(cluster: Cluster, title: str, note: str) -> str:
    """Draw ``cluster`` with ``title`` above and ``note`` below."""
    at = ClusterLayout(cluster, title, note)
    size = f'viewBox="0 0 {at.width:g} {at.height:g}" style="max-width: {at.width:g}px"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', f"<title>{escape(title)}</title>", STYLE, *_markers(),
            '<rect width="100%" height="100%" fill="#fff"/>',
            f'<text x="{MARGIN}" y="24" class="title">{escape(title)}</text>',
            *(part for server in range(cluster.servers) for part in _server_box(at, server)),
            *(part for group in range(cluster.groups) for part in _group_box(at, group)),
            *(_server_arrows(at) if cluster.servers else _ring_arrows(at) if cluster.averages else ()),
            *(f'<text x="{MARGIN}" y="{at.below + LINE * i:g}" class="note">{escape(line)}</text>'
              for i, line in enumerate(at.note)),
            "</svg>\n",
        ]
    )  # fmt: skip


def _markers() -> Iterator[str]:
    """Definitions of the arrowheads, one per colour."""
    for name, hue in (("gradients", GRADIENTS), ("parameters", PARAMETERS)):
        shape = f'<path d="M0 0 L8 4 L0 8 z" fill="{hue}"/>'
        frame = 'viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" orient="auto"'
        yield f'<defs><marker id="{name}" {frame}>{shape}</marker></defs>'


def _server_box(at: ClusterLayout, server: int) -> Iterator[str]:
    """The box of a server, with the share of the parameters that it keeps."""
    x = at.server_middle(server)
    count = at.cluster.servers
    share = "all parameters" if count == 1 else f"1/{count} of parameters"
    yield f'<rect x="{x - 54:g}" y="{TOP}" width="108" height="{SERVER}" rx="3" class="server"/>'
    yield f'<text x="{x:g}" y="{TOP + 18}">server {server}</text>'
    yield f'<text x="{x:g}" y="{TOP + 34}" class="small">{share}</text>'


def _group_box(at: ClusterLayout, group: int) -> Iterator[str]:
    """The box of a group, with its workers and its first steps."""
    x = at.group_middle(group)
    top = at.groups_top
    cluster = at.cluster
    yield f'<rect x="{x - at.group_width / 2:g}" y="{top}" width="{at.group_width}" height="{GROUP}" class="frame"/>'
    yield f'<text x="{x:g}" y="{top + 16}">{"group " + str(group) if cluster.groups > 1 else "one group"}</text>'
    for worker in range(cluster.workers):
        rank = group * cluster.workers + worker
        left = x + (worker - (cluster.workers - 1) / 2) * WORKER
        hues = worker_colour(rank)
        yield f'<circle cx="{left:g}" cy="{top + 45}" r="19" fill="{hues.fill}" stroke="{hues.line}"/>'
        yield f'<text x="{left:g}" y="{top + 49}">{rank}</text>'
    steps = ", ".join(str(group + i * cluster.groups) for i in range(SHOWN))
    yield f'<text x="{x:g}" y="{top + GROUP - 10}" class="small">steps {steps}, …</text>'


def _server_arrows(at: ClusterLayout) -> Iterator[str]:
    """The arrows from each group to each server and back, and the line that explains them."""
    low = at.groups_top - 4
    high = TOP + SERVER + 5
    for group in range(at.cluster.groups):
        for server in range(at.cluster.servers):
            x = at.group_middle(group) + _arrow_offset(server, at.cluster.servers)
            to = at.server_middle(server) + _arrow_offset(group, at.cluster.groups)
            yield _arrow_path(f"M{x - 7:g} {low} L{to - 7:g} {high}", "gradients", GRADIENTS)
            yield _arrow_path(f"M{to + 7:g} {high} L{x + 7:g} {low}", "parameters", PARAMETERS)
    meaning = f'<tspan fill="{GRADIENTS}">gradients up</tspan>, <tspan fill="{PARAMETERS}">parameters down</tspan>'
    yield f'<text x="{MARGIN}" y="44" class="note">{meaning}, {_group_pace_text(at.cluster)}</text>'


def _arrow_offset(place: int, count: int) -> float:
    """Pixels between the middle of a box and the arrows of partner ``place`` of ``count``."""
    return (place - (count - 1) / 2) * 72 / count


def _group_pace_text(cluster: Cluster) -> str:
    """The text about how groups wait for each other at the servers."""
    if cluster.groups == 1:
        return "in every step: nothing is stale"
    if cluster.in_turns:
        return "each group in its turn"
    bound = "" if cluster.staleness is None else f", at most {cluster.staleness} steps ahead"
    return f"each group at its own pace{bound}"


def _ring_arrows(at: ClusterLayout) -> Iterator[str]:
    """The arrows of the ring of groups, which closes below them, and the line that explains it."""
    y = at.groups_top + GROUP / 2
    bottom = at.groups_top + GROUP + 3
    cluster = at.cluster
    for group in range(cluster.groups - 1):
        left, right = (
            at.group_middle(group) + at.group_width / 2 + 4,
            at.group_middle(group + 1) - at.group_width / 2 - 4,
        )
        yield _arrow_path(f"M{left:g} {y:g} H{right:g}", "parameters", PARAMETERS)
    last = at.group_middle(cluster.groups - 1)
    first = at.group_middle(0)
    yield _arrow_path(f"M{last:g} {bottom} v20 H{first:g} v-18", "parameters", PARAMETERS)
    every = "every step" if cluster.sync == 1 else f"every {cluster.sync} steps of each"
    late = f"brought in {plural_text(cluster.staleness, 'step')} later" if cluster.staleness else "waited for"
    mean = f'<tspan fill="{PARAMETERS}">mean of the parameters</tspan>'
    yield f'<text x="{MARGIN}" y="44" class="note">{mean} {every}, {late}</text>'


def _arrow_path(path: str, name: str, hue: str) -> str:
    """An arrow along ``path``."""
    return f'<path d="{path}" class="arrow" stroke="{hue}" marker-end="url(#{name})"/>'
