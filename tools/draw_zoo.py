"""Draws every job of the zoo: graphs/FAMILY/JOB.conf becomes JOB.svg, the net, or the groups that train it.

Those of graphs/schemes are drawn once under every scheme: JOB-SCHEME.svg. Of the published nets the small ones are
drawn, cut on data, on layers and both ways: JOB-{data,layers,mixed}.svg, where the last two are jobs of their own or
schemes. One published net is drawn with its blocks folded.

Drawings that a page shows are in docs/images and committed. All others take megabytes, and are written to out/zoo.

``python -m tools.draw_zoo`` draws them; ``--check`` writes nothing and exits 1 if the committed drawings differ from
those that the pages show and netpart draws today.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tools.drawn import run, same

ROOT = Path(__file__).resolve().parent.parent
IMAGES, OTHERS = "docs/images", "out/zoo"
PAGES = ("*.md", "docs/**/*.md", "graphs/*.md")
SMALL = "-small"
CUTS = {"data": "DATA", "layers": "GATHER_SCATTER", "mixed": "ONE_WEIRD_TRICK"}
"""Schemes that cut a small net if no other job of its folder has that cut."""
FOLDED = {"gpt2": "COLUMN_ROW"}
"""Published nets that are drawn with folded blocks, and the scheme of the drawing."""
ALIKE = ("resattnet34-small", "resnet34-small")
"""Jobs that are not drawn: they have more of the same blocks as another one."""

Drawing = tuple[Path, "str | None"]
"""A job, and the scheme it is drawn under if not its own."""


def jobs(root: Path) -> dict[str, Drawing]:
    """The zoo's jobs by the name of their drawing. Raises ValueError if two would share one."""
    confs = sorted((root / "graphs").rglob("*.conf"))
    doubled = [name for name, count in Counter(conf.stem for conf in confs).items() if count > 1]
    if doubled:
        raise ValueError(f"graphs: expected one job of each name, got {', '.join(doubled)} twice; rename one")
    return {name: drawing for conf in confs for name, drawing in drawings(conf).items()}


def drawings(conf: Path) -> dict[str, Drawing]:
    """The drawings of one job by name."""
    from netpart.families import SCHEMES

    if conf.stem in FOLDED:
        return {f"{conf.stem}-folded.svg": (conf, FOLDED[conf.stem])}
    if is_published(conf) or conf.stem in ALIKE:
        return {}
    if is_published(conf.with_stem(conf.stem.removesuffix(SMALL))):
        cuts = {cut: scheme for cut, scheme in CUTS.items() if not conf.with_stem(f"{conf.stem}-{cut}").exists()}
        return {f"{conf.stem}-{cut}.svg": (conf, scheme) for cut, scheme in cuts.items()}
    if conf.parent.name != "schemes":
        return {f"{conf.stem}.svg": (conf, None)}
    return {f"{conf.stem}-{scheme.lower().replace('_', '-')}.svg": (conf, scheme) for scheme in SCHEMES.names()}


def is_published(conf: Path) -> bool:
    """True for a net at its published size, or nearly: too large for a drawing, so the zoo has a small one as well."""
    small = (path.stem.removesuffix(SMALL) for path in conf.parent.glob(f"*{SMALL}.conf"))
    return SMALL not in conf.stem and conf.stem.startswith(tuple(small))


def fresh(conf: Path, scheme: str | None) -> str:
    """The drawing of a job, cut over as many workers as it asks for."""
    from netpart.choices import BLOCKS, NONE
    from netpart.draw import render
    from netpart.draw.cluster import groups_svg
    from netpart.draw.look import DrawingLook
    from netpart.graph.server_pieces import add_job_servers
    from netpart.plan.partition import partition_by_scheme
    from netpart.proto.reader import read_job
    from netpart.proto.worker_count import default_workers

    job = read_job(conf)
    with job.explaining():
        cut = partition_by_scheme(job.proto, default_workers(job.proto), job.folder, scheme, phases=("train",))
    found = add_job_servers(cut)
    if found.cluster.size > cut.workers:
        return groups_svg(found)
    return render(cut.graph, "svg", look=DrawingLook(BLOCKS if conf.stem in FOLDED else NONE))


def shown(root: Path) -> set[str]:
    """Names of the drawings that the pages below ``root`` show."""
    pages = [page.read_text(encoding="utf-8") for pattern in PAGES for page in root.glob(pattern)]
    return {name for page in pages for name in re.findall(r"images/([\w-]+\.svg)", page)}


def on_pages(root: Path) -> dict[str, Drawing]:
    """Those of the jobs' drawings that are committed, by name."""
    names = shown(root)
    return {name: drawing for name, drawing in jobs(root).items() if name in names}


def committed(root: Path) -> dict[str, str]:
    """The drawings below ``root``: name -> content."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted((root / IMAGES).glob("*.svg"))}


def stale(root: Path) -> list[str]:
    """Names of drawings that are missing, shown by no page or different from a fresh one."""
    wanted, present = on_pages(root), committed(root)
    changed = [n for n in wanted.keys() & present.keys() if not same(present[n], fresh(*wanted[n]))]
    return sorted({*changed, *(wanted.keys() ^ present.keys())})


def write(root: Path) -> None:
    """Replace the drawings below ``root``."""
    wanted = on_pages(root)
    renew(root / IMAGES, wanted)
    renew(root / OTHERS, {name: drawing for name, drawing in jobs(root).items() if name not in wanted})


def renew(folder: Path, wanted: Mapping[str, Drawing]) -> None:
    """Make ``folder`` hold the drawings that are ``wanted``, and no others."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.svg"):
        if path.name not in wanted:
            path.unlink()
    for name, drawing in wanted.items():
        (folder / name).write_text(fresh(*drawing), encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit status as ``tools.drawn.run`` does."""
    description = f"Draws graphs/**/*.conf: what pages show in {IMAGES}, all others in {OTHERS}."
    return run("draw_zoo", description, ROOT, stale, write, arguments)


if __name__ == "__main__":
    sys.exit(main())
