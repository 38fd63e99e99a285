"""Construction of the Net of one phase from a JobProto: filters phases, resolves sources, sorts, infers shapes."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from netpart.errors import ConfigError, DataError, FaultList, FieldPath, clip_text
from netpart.graph.label_readers import tell_inputs_their_classes
from netpart.graph.narrow_storage import stores_bfloat16
from netpart.graph.net import Net, Node, Parameter, Source
from netpart.graph.slices import SliceAssignment
from netpart.layers import layer_class
from netpart.layers.conf_errors import find_conf_errors, refuse_surplus_params
from netpart.layers.layer import Layer, ParamSpec
from netpart.proto.phase import PHASE_VALUES, in_phase, override_target
from netpart.proto.phase_pb2 import Phase
from netpart.spec import RECORD, Spec

if TYPE_CHECKING:
    from netpart.proto.job_pb2 import DataCacheProto, JobProto, LayerProto

LayerEntry = tuple[int, "LayerProto"]

DATA_PATHS = (
    ("store_conf", "path"),
    ("lmdbdata_conf", "path"),
    ("sharddata_conf", "path"),
    ("text_conf", "files"),
    ("nifti_conf", "path"),
    ("tar_conf", "path"),
    ("image_conf", "path"),
    ("array_conf", "path"),
    ("token_conf", "files"),
)
"""The fields of a layer that name its data: conf and field."""


def build_net(job: JobProto, phase: str = "train", folder: Path | None = None, rows: int | None = None) -> Net:
    """Build the uncut net of ``phase``. ``rows`` overrides the batch size of its inputs (for a micro-batch).

    Raises ConfigError for missing, duplicate or unknown names, cycles, wrong ranks and sizes, and missing or unknown
    confs. All faults that can be found in one pass are reported together. A layer is omitted if a layer that it reads
    has a fault.
    """
    entries = [(i, conf) for i, conf in enumerate(job.neuralnet.layer) if in_phase(conf, phase, _layer_path(i))]
    if not entries:
        raise ConfigError("neuralnet", f"at least one layer in phase {phase}", "none", "add layers", at=("neuralnet",))
    faults = FaultList()
    nodes = list[Node]()
    sound = _valid_entries(entries, phase, faults, job.neuralnet.layer)
    with faults.collecting():
        parts = SliceAssignment(job.neuralnet.layer, phase, _layer_class_at)
        nodes = _build_nodes(_sort_topologically(sound), parts, faults, phase, folder, rows, job.data_cache)
    faults.raise_found()
    net = Net(job.name or "net", phase, nodes, _batch_rows(nodes), narrow=stores_bfloat16(job))
    tell_inputs_their_classes(net)
    return net


def _build_nodes(
    ordered: Sequence[LayerEntry],
    parts: SliceAssignment,
    faults: FaultList,
    phase: str,
    folder: Path | None,
    rows: int | None,
    data_cache: DataCacheProto,
) -> list[Node]:
    """Build the nodes of ``ordered`` and note the faults of each; omit nodes that read a layer that cannot be built."""
    nodes = list[Node]()
    shared = SharedParameters()
    built = dict[str, Node]()
    for i, conf in ordered:
        shares = any(param.share_from for param in conf.param)
        # After a fault, the layer that owns a shared parameter may be missing from ``shared``. To resolve
        # ``share_from`` then could report a second fault that only follows from the first.
        if any(s not in built for s in conf.srclayers) or (faults.found and shares):
            continue
        read = list[Node]()
        with faults.collecting(), locate_errors(_layer_path(i), conf, read):
            read += parts.sources(i, conf, built)
            made = _build_node(len(nodes), conf, phase, read, shared, _layer_path(i), folder, rows, data_cache)
            _refuse_lost_targets(made, nodes)
            found = parts.of(made)
            # One layer can yield several nodes: a kSlice is one node for each of its parts that a layer reads.
            nodes += found
            built |= {node.name: node for node in found}
    return nodes


@contextmanager
def locate_errors(at: FieldPath, conf: LayerProto, sources: Sequence[Node] = ()) -> Iterator[None]:
    """Add the place of the layer at ``at`` to an error raised in the block.

    A DataError that comes from data read by one of ``sources`` gets the place of that source instead.
    """
    try:
        yield
    except ConfigError as error:
        error.at = error.at if error.at and error.at[0] == "neuralnet" else at + (error.at or ())
        raise
    except DataError as error:
        # A parser reads records that its source opened, so the field to correct is that of the source.
        reader = next(((s.conf, s.at) for s in sources if s.layer.output.dtype == RECORD), (conf, at))
        field = (*at, *error.at) if error.at else data_path_field(*reader)
        raise error.of_layer(reader[0].name, field, override_target(reader[0])) from None


def _layer_path(i: int) -> FieldPath:
    """Path of layer ``i`` in the JobProto."""
    return ("neuralnet", "layer", i)


def data_path_field(conf: LayerProto, at: FieldPath) -> FieldPath:
    """Path of the field that names the data of the layer at ``at``; the path of the layer if it names no data."""
    return next(((*at, *field) for field in DATA_PATHS if conf.HasField(field[0])), at)


def _valid_entries(
    entries: Sequence[LayerEntry], phase: str, faults: FaultList, every: Sequence[LayerProto]
) -> list[LayerEntry]:
    """The layers with valid name, type and sources; notes the faults of all others, and of confs.

    If any name is wrong, sources are not checked, because a source may be meant for the layer with that name.
    ``every``: the layers of all phases.
    """
    first: dict[str, int] = {}
    for i, conf in entries:
        first.setdefault(conf.name, i)
        with faults.collecting():
            _check_name(i, conf, first)
    # Taken here, before faults of types and confs are added: those do not make a source ambiguous.
    named = not faults.found
    sound = list[LayerEntry]()
    for i, conf in entries:
        with faults.collecting():
            faults.found += layer_field_errors(i, conf)
            if named:
                _check_sources(i, conf, first, phase, every)
                sound.append((i, conf))
    return sound


def layer_field_errors(i: int, conf: LayerProto) -> list[ConfigError]:
    """Errors for the fields of layer ``i`` that its type does not read; raises ConfigError for an unknown type."""
    kind = layer_class(type_name(conf), who=conf.name, at=(*_layer_path(i), "type"))
    found = list(find_conf_errors(kind, type_name(conf), conf))
    for error in found:
        error.at = _layer_path(i) + (error.at or ())
    return found


def _check_name(i: int, conf: LayerProto, first: Mapping[str, int]) -> None:
    """Raise ConfigError unless layer ``i`` has a unique name. ``first`` maps a name to the first layer that has it."""
    if not conf.name:
        raise ConfigError(f"layer {i}", "a name", "none", 'add name: "..."', at=_layer_path(i))
    if first[conf.name] != i:
        hint = "rename one, or give them different phases with include"
        raise ConfigError(
            conf.name, "a name of its own", "a second layer of that name", hint, at=(*_layer_path(i), "name")
        )


def _check_sources(i: int, conf: LayerProto, known: Mapping[str, int], phase: str, every: Sequence[LayerProto]) -> None:
    """Raise ConfigError for a source that is not among the ``known`` layers."""
    for s, name in enumerate(conf.srclayers):
        if name not in known:
            at = (*_layer_path(i), "srclayers", s)
            raise ConfigError(
                conf.name,
                f"srclayers that exist in phase {phase}",
                repr(name),
                _several_names_hint(name)
                or _other_phases_hint(name, phase, every)
                or _nearest_names_hint(name, _readable_layers(conf.name, known, every)),
                at=at,
            )


def _several_names_hint(names: str) -> str:
    """Hint for a string ``names`` that holds several names; "" if it holds one."""
    found = [name.strip(" \"'") for name in names.replace(";", ",").split(",")]
    written = " ".join(f'srclayers: "{name}"' for name in found)
    return f"write one name each: {written}" if len(found) > 1 else ""


def _other_phases_hint(name: str, phase: str, every: Sequence[LayerProto]) -> str:
    """Hint if layers called ``name`` exist only in other phases than ``phase``; "" otherwise."""
    value = Phase.Name(PHASE_VALUES[phase])
    named = [conf for conf in every if conf.name == name]
    if not named:
        return ""
    phases = [other for other in PHASE_VALUES if any(in_phase(conf, other) for conf in named)]
    if any(conf.exclude for conf in named):
        return f"{name} is only in phase {' and '.join(phases)}; drop its exclude"
    return f"{name} is only in phase {' and '.join(phases)}; drop its include, or add include: {value}"


def _readable_layers(name: str, known: Mapping[str, int], every: Sequence[LayerProto]) -> list[str]:
    """The layers of ``known`` that layer ``name`` may read: not itself, nor any layer that depends on it."""
    below = {name}
    while more := {conf.name for conf in every if below.intersection(conf.srclayers)} - below:
        below |= more
    return [other for other in known if other not in below]


def _nearest_names_hint(name: str, known: Sequence[str] | Mapping[str, int]) -> str:
    """Hint with the known names closest to ``name``."""
    close = difflib.get_close_matches(name, list(known), 3)
    if close or not known:
        return f"did you mean {' or '.join(close)}?" if close else ""
    return clip_text(f"known: {', '.join(list(known)[:12])}")


def _sort_topologically(entries: Sequence[LayerEntry]) -> list[LayerEntry]:
    """Sort layers so that each follows its sources, otherwise in written order; raise ConfigError for a cycle.

    The error lists the layers of the cycle. Sources that are missing from ``entries`` are ignored.
    """
    position = {conf.name: n for n, (_, conf) in enumerate(entries)}
    if all(position.get(s, -1) < n for n, (_, conf) in enumerate(entries) for s in conf.srclayers):
        return list(entries)
    # Only now: networkx takes 11 MB of each worker, and most jobs are written in order.
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(position)
    graph.add_edges_from((s, conf.name) for _, conf in entries for s in conf.srclayers if s in position)
    try:
        # The key is the position in the job, so the order is unique. A plan refers to nodes by index, and every worker
        # builds the net again.
        return [entries[position[n]] for n in nx.lexicographical_topological_sort(graph, key=position.__getitem__)]
    except nx.NetworkXUnfeasible:
        path = [a for a, *_ in nx.find_cycle(graph)]
        at = (*_layer_path(entries[position[path[0]]][0]), "srclayers", 0)
        cycle = " -> ".join([*path, path[0]])
        raise ConfigError(path[0], "layers without a cycle", cycle, "remove one of these srclayers", at=at) from None


def _build_node(
    n: int, conf: LayerProto, phase: str, read: Sequence[Node], shared: SharedParameters, at: FieldPath,
    folder: Path | None, rows: int | None, data_cache: DataCacheProto,
) -> Node:  # fmt: skip
    """Make the layer of ``conf`` from the specs of the nodes that it reads, and resolve its parameters."""
    kind = layer_class(type_name(conf), who=conf.name, at=("type",))
    _refuse_targets_as_labels(kind, conf, read)
    picked = [(source, _pick_output(kind, source, k)) for k, source in enumerate(read)]
    labels = [(source, _label_output(source)) for source in read] if kind.carries_labels(conf) else []
    # Labels are attached only if every source has them: a concatenation of rows needs the labels of all rows.
    picked += [(source, label) for source, label in labels if all(found is not None for _, found in labels) and label]
    specs: tuple[Spec, ...] = tuple(source.layer.outputs[s.output] for source, s in picked)
    layer = kind(
        conf, specs, rows=rows if kind.is_input else None, folder=folder, training=phase == "train",
        data_cache=data_cache,
    )  # fmt: skip
    refuse_surplus_params(layer, type_name(conf))
    params = tuple(shared.resolve(n, layer, spec, j) for j, spec in enumerate(layer.params))
    return Node(n, layer, tuple(source for _, source in picked), params, at)


def _layer_class_at(i: int, conf: LayerProto) -> type[Layer]:
    """The class of layer ``i`` of a job; raises ConfigError with the place of its type."""
    return layer_class(type_name(conf), who=conf.name, at=(*_layer_path(i), "type"))


def type_name(conf: LayerProto) -> str:
    """The registered name of a layer's type: its LayerType, or ``user_type`` of a user layer."""
    from netpart.proto.job_pb2 import LayerType

    name = LayerType.Name(conf.type)
    return conf.user_type if name == "kUserLayer" and conf.user_type else name


def _pick_output(kind: type[Layer], source: Node, k: int) -> Source:
    """The output of ``source`` that input ``k`` of a layer of ``kind`` reads: the one it names, or else output 0."""
    names = source.layer.output_names[: len(source.layer.outputs)]
    wanted = kind.read_output(k)
    return Source(source.index, names.index(wanted) if wanted in names else 0)


def _refuse_targets_as_labels(kind: type[Layer], conf: LayerProto, read: Sequence[Node]) -> None:
    """Raise ConfigError if a layer that reads labels names an input with targets.

    It would read the data instead, and say that this has the wrong shape.
    """
    for k, source in enumerate(read):
        if kind.read_output(k) == "label" and "target" in source.layer.output_names:
            got = f"target: true of {source.name}, which makes them numbers to predict"
            hint = "omit it, or read them by kEuclideanLoss, kL1Loss or kHuberLoss"
            raise ConfigError(conf.name, "labels that are classes", got, hint, at=("srclayers", k))


def _refuse_lost_targets(node: Node, nodes: Sequence[Node]) -> None:
    """Raise ConfigError if ``node`` names, for its target, a layer that passes on data of an input without its targets.

    The data would be the target then, without a word.
    """
    for k, source in enumerate(node.sources[: len(node.conf.srclayers)]):
        if node.layer.read_output(k) == "target" and _drops_targets(nodes[source.node], nodes):
            got = f"{node.conf.srclayers[k]}, which passes on the data alone"
            hint = "name the input layer here, or omit its target: true"
            raise ConfigError(node.name, "a layer with targets", got, hint, at=("srclayers", k))


def _drops_targets(node: Node, nodes: Sequence[Node]) -> bool:
    """True for a layer that passes on labels, but not the targets that a source of it has."""
    above = [nodes[source.node] for source in node.sources] if type(node.layer).carries_labels(node.conf) else []
    return any("target" in each.layer.output_names or _drops_targets(each, nodes) for each in above)


def _label_output(source: Node) -> Source | None:
    """The label output of ``source``; None if it has none."""
    names = source.layer.output_names[: len(source.layer.outputs)]
    return Source(source.index, names.index("label")) if "label" in names else None


def _batch_rows(nodes: Sequence[Node]) -> int:
    """Rows of the (micro-)batch: extent of axis 0 of the first node whose output has axes."""
    return next((n.layer.output.shape[0] for n in nodes if n.layer.output.shape), 0)


class SharedParameters:
    """Registry that names parameters ``layer/param`` and resolves ``share_from``."""

    def __init__(self) -> None:
        self.by_name: dict[str, list[Parameter]] = {}

    def resolve(self, node: int, layer: Layer, spec: ParamSpec, j: int) -> Parameter:
        """The parameter for slot ``j`` of ``layer``: its own, or the one that it shares."""
        if spec.proto.share_from:
            return self.find(layer, spec, j)
        own = Parameter(f"{layer.name}/{spec.proto.name or spec.key}", spec, node)
        if own.name in self.by_name:
            raise ConfigError(layer.name, "param names of their own", own.name, "rename one", at=("param", j, "name"))
        # Registered under the full name and the short one. A short name may be ambiguous; ``find`` then asks for the
        # full one.
        for name in {own.name, spec.proto.name or own.name}:
            self.by_name.setdefault(name, []).append(own)
        return own

    def find(self, layer: Layer, spec: ParamSpec, j: int) -> Parameter:
        """The one parameter that ``share_from`` names.

        Raises ConfigError if there is not exactly one, or its shape differs.
        """
        wanted = spec.proto.share_from
        at = ("param", j, "share_from")
        found = self.by_name.get(wanted, [])
        if len(found) != 1:
            got = "no param of that name above" if not found else f"{len(found)} of them"
            near = _nearest_names_hint(wanted, list(self.by_name)) or "no layer before it has a parameter"
            hint = near if not found else "write layer/param"
            raise ConfigError(layer.name, f"one param named {wanted!r} to share", got, hint, at=at)
        if found[0].spec.shape != spec.shape:
            shapes = f"{found[0].spec.shape} of {found[0].name}"
            raise ConfigError(
                layer.name, f"a shared param of shape {spec.shape}", shapes, "make the layers match", at=at
            )
        return found[0]
