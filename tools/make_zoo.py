"""Writes the published nets of the zoo: graphs/FAMILY/NAME.conf, from the builders in tools/zoo.

``python -m tools.make_zoo`` writes them; ``--check`` writes nothing and exits 1 if the committed files differ from
those of the builders today.
"""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from pathlib import Path

from tools import command
from tools.zoo.job import MADE

ROOT = Path(__file__).resolve().parent.parent
MARK = f"# {MADE}\n"
FAMILIES = ("alexnet", "densenet", "gpt", "mobilenet", "resattnet", "resnet", "unet", "vgg", "vit")
"""Modules of tools/zoo, and the folders of graphs/ to which they write jobs; some also have hand-written ones."""


def fresh() -> dict[str, str]:
    """The jobs of the builders: FAMILY/NAME.conf -> content."""
    nets = ((family, net) for family in FAMILIES for net in import_module(f"tools.zoo.{family}").jobs())
    return {f"{family}/{net.name}.conf": net.text() for family, net in nets}


def committed(root: Path) -> dict[str, str]:
    """The generated jobs below ``root``: FAMILY/NAME.conf -> content."""
    found = sorted(path for family in FAMILIES for path in (root / "graphs" / family).glob("*.conf"))
    texts = {f"{path.parent.name}/{path.name}": path.read_text(encoding="utf-8") for path in found}
    return {name: text for name, text in texts.items() if MARK in text}


def stale(root: Path) -> list[str]:
    """Names of jobs that are missing, left over or different from those of the builders."""
    wanted, present = fresh(), committed(root)
    return sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name))


def write(root: Path) -> None:
    """Replace the generated jobs below ``root``."""
    wanted = fresh()
    for name in committed(root).keys() - wanted.keys():
        (root / "graphs" / name).unlink()
    for name, text in wanted.items():
        path = root / "graphs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit status: 0 done or up to date, 1 stale."""
    about = "Writes the published nets of the zoo to graphs/."
    return command.run("make_zoo", about, partial(stale, ROOT), partial(write, ROOT), arguments)


if __name__ == "__main__":
    sys.exit(main())
