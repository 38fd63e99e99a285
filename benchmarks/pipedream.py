"""Plans of PipeDream's own optimizer for its published profiles, compared with netpart's stages.

    python -m benchmarks.pipedream FOLDER          FOLDER: a clone of github.com/msr-fiddle/pipedream at 7db6a1c3
    python -m benchmarks.pipedream FOLDER vgg16    one profile; the figures of the others are kept

Runs optimizer_graph_hierarchical.py of the clone on one level of links for 1 to 16 and 32 workers (fewer for two large
nets), and on two levels, with activations priced (``--activation_compression_ratio 1``). It reports a time for each
plan, without what the first stage of each level sends, so each of its plans is priced again by
``price_pipeline``, as netpart prices its own: ``needed``. The clone is neither installed nor copied; an empty module
takes the place of Graphviz, with which it can draw. benchmarks/results/pipedream.json has the figures.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from time import process_time
from types import ModuleType
from typing import Any

from benchmarks.rows import RESULTS as FOLDER
from benchmarks.rows import write_report
from netpart.plan.price.net_profile import NetProfile, read_profile
from netpart.plan.stages.link_levels import LinkLevels, flat_levels
from netpart.plan.stages.pipeline_price import price_pipeline
from netpart.plan.stages.pipeline_stages import Pipeline, PipelineStage, search_pipeline

NETS = {
    **dict.fromkeys(("alexnet", "vgg16", "resnet18", "resnet50", "resnet101", "squeezenet1_0"), "image_classification"),
    **dict.fromkeys(("gnmt", "gnmt_large"), "translation"),
}
WORKERS = (*range(1, 17), 32)
BANDWIDTHS = (1e8, 1e9, 1e10)
TWO_LEVELS = (((4, 4), (10e9, 1.25e9)), ((8, 2), (10e9, 1.25e9)), ((2, 8), (1e9, 1e8)))
NESTED = ("alexnet", "vgg16", "resnet18", "squeezenet1_0", "gnmt")
"""Nets for which its search over two levels takes minutes, not hours."""
MOST_WORKERS = {"resnet101": 16, "gnmt_large": 8}
"""Of these it takes hours for 32 workers."""
RESULTS = FOLDER / "pipedream.json"
Json = dict[str, Any]


class Optimizer:
    """PipeDream's optimizer in the clone ``folder``, and what it computes for one profile."""

    def __init__(self, folder: Path) -> None:
        sys.modules.setdefault("graphviz", ModuleType("graphviz"))
        sys.path[:0] = [str(folder), str(folder / "optimizer")]
        self.module: Any = import_module("optimizer_graph_hierarchical")
        self.module.__dict__.update(straight_pipeline=False, use_memory_constraint=False, use_fewer_machines=True)
        self.module.__dict__.update(activation_compression_ratio=1.0)
        self.tables: list[Any] = []
        self.states: list[Any] = []
        self.graphs: list[Any] = []
        self.watch()

    def watch(self) -> None:
        """Keep the tables, the states and the graph that the optimizer makes."""
        solve, analyse = self.module.compute_partitioning, self.module.analyze_partitioning
        read = self.module.graph.Graph.from_str
        self.module.compute_partitioning = lambda *a, **k: self.kept(self.tables, solve(*a, **k))
        self.module.analyze_partitioning = lambda table, states, *a: analyse(table, self.kept(self.states, states), *a)
        self.module.graph.Graph.from_str = lambda text: self.kept(self.graphs, read(text))

    def kept(self, found: list[Any], one: Any) -> Any:
        """``one``, also added to ``found``."""
        found.append(one)
        return one

    def solve(self, profile: Path, levels: LinkLevels) -> None:
        """Run it on ``profile``."""
        self.tables, self.states = [], []
        with contextlib.redirect_stdout(io.StringIO()):
            self.module.main(
                list(levels.counts), str(profile), list(levels.bandwidths), 0, False, False, True, 1.0, None, False
            )

    def runs(self, level: int, start: int, end: int, machines: int) -> Iterator[tuple[int, int, int]]:
        """Stages of its plan for states start to end - 1 on ``machines`` of ``level``, with the machines of each."""
        found: list[tuple[int, int, int]] = []
        left = machines - 1
        while True:
            _, split, used = self.tables[level][start][end - 1][left]
            if split is None:
                return iter([(start, end, used), *reversed(found)])
            found.append((split[0] + 1, end, used))
            end, left = split[0] + 1, split[1]

    def pipeline(self, net: NetProfile, levels: LinkLevels, machines: int, seconds: float) -> Pipeline:
        """Its plan, with the workers of each stage; ``machines`` of the outermost level are there."""
        end = len(self.tables[0][0])
        stages = list(self.placed(levels, len(self.tables) - 1, 0, end, machines))
        found, done = [], set[int]()
        index = {layer.name: i for i, layer in enumerate(net.layers)}
        for last, workers in stages:
            before = {node.node_id for node in self.graphs[-1].all_predecessors(self.states[0][last - 1].antichain)}
            layers = {index[name] for name in before if name in index} - done
            # Its cuts omit layers that read nothing until one reads them; the last stage has all that is left.
            layers = set(index.values()) - done if last == end else layers
            done |= layers
            found.append(PipelineStage(tuple(sorted(layers)), len(workers), workers))
        return Pipeline(tuple(found), seconds)

    def placed(
        self, levels: LinkLevels, level: int, start: int, end: int, machines: int
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The last state of each stage, and its workers, from the first worker on."""
        first, size = 0, levels.sizes[level]
        for begin, last, used in self.runs(level, start, end, machines):
            inside: list[tuple[int, tuple[int, ...]]] = [(last, (0,))]
            if level:
                inside = list(self.placed(levels, level - 1, begin, last, levels.counts[level - 1]))
            for state, workers in inside:
                yield state, tuple(first + copy * size + w for copy in range(used) for w in workers)
            first += used * size


def compare(optimizer: Optimizer, name: str, path: Path, levels: LinkLevels, counts: tuple[int, ...]) -> Iterator[Json]:
    """The plans of both, for each number of groups of the outermost level in ``counts``."""
    net = read_profile(path)
    started = process_time()
    optimizer.solve(path, levels)
    theirs = process_time() - started
    for count in counts:
        some = LinkLevels((*levels.counts[:-1], count), levels.bandwidths)
        reported = optimizer.tables[-1][0][-1][count - 1][0]
        plan = optimizer.pipeline(net, some, count, reported)
        started = process_time()
        ours = search_pipeline(net, some)
        yield {
            "profile": name, "counts": list(some.counts), "bandwidths": list(some.bandwidths),
            "reported": reported, "needed": price_pipeline(net, plan, some), "replicas": plan.replicas,
            "netpart": ours.seconds, "netpart_replicas": ours.replicas,
            "netpart_takes": round(process_time() - started, 4), "pipedream_takes": round(theirs, 2),
        }  # fmt: skip


def compared_rows(optimizer: Optimizer, name: str, path: Path) -> Iterator[list[Json]]:
    """All rows of one profile, by levels of links."""
    for bandwidth in BANDWIDTHS:
        some = tuple(count for count in WORKERS if count <= MOST_WORKERS.get(name, count))
        yield list(compare(optimizer, name, path, flat_levels(max(some), bandwidth), some))
    for counts, bandwidths in TWO_LEVELS if name in NESTED else ():
        yield list(compare(optimizer, name, path, LinkLevels(counts, bandwidths), counts[-1:]))


def keep_rows(rows: list[Json]) -> None:
    """Write ``rows`` in place of those for the same profile and links."""
    mine = {key_of(row) for row in rows}
    there = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"] if RESULTS.exists() else []
    found = sorted([row for row in there if key_of(row) not in mine] + rows, key=key_of)
    write_report(RESULTS, ("netpart", "numpy"), {"rows": found})


def key_of(row: Json) -> tuple[str, tuple[float, ...], tuple[int, ...]]:
    """What a row is about."""
    return row["profile"], tuple(row["bandwidths"]), tuple(row["counts"])


def main(arguments: list[str]) -> int:
    """Compare all profiles, or those named; 1 if a plan of PipeDream needs less time than netpart's."""
    folder, *names = arguments
    optimizer = Optimizer(Path(folder))
    found: list[Json] = []
    for name in names or NETS:
        path = Path(folder) / "profiler" / NETS[name] / "profiles" / name / "graph.txt"
        for rows in compared_rows(optimizer, name, path):
            keep_rows(rows)
            found += rows
            print(f"{name}: {len(found)} rows", flush=True)
    worse = [row for row in found if row["netpart"] > row["needed"] * (1 + 1e-9)]
    seconds = sum(row["netpart_takes"] for row in found)
    print(f"netpart is worse in {len(worse)} of {len(found)} rows; its search took {seconds:.1f} s", *worse, sep="\n")
    return bool(worse)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
