"""The command line of the benchmarks that time nets."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from benchmarks.load import add_loaded_option
from benchmarks.nets import NETS, Net, smaller

ROUNDS, SECONDS = 3, 2.0
FLOAT32, BFLOAT16 = "float32", "bfloat16"
PACKAGES = ("netpart", "numpy", "pyzmq", "torch")


def parse(
    name: str, about: str, known: Mapping[str, Net] = NETS, narrow: Mapping[str, Net] | None = None
) -> argparse.Namespace:
    """The options of benchmark ``name``: ``arguments`` for netpart run, ``nets`` of ``known`` that are timed.

    With ``narrow``, which are then the nets of ``--precision bfloat16``, there is a ``precision``.
    """
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=about)
    nets = partial(chosen, known={**known, **(narrow or {})})
    parser.add_argument("--nets", type=nets, help=f"of {','.join({**known, **(narrow or {})})}")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help="runs of each contender")
    parser.add_argument("--seconds", type=float, default=SECONDS, metavar="S", help="that a run's steps take, roughly")
    parser.add_argument("--quick", action="store_true", help="tiny nets: does it work? writes nothing without -o")
    parser.add_argument("--kernels", help="what netpart computes with (default: as it chooses)")
    if narrow:
        parser.add_argument("--precision", choices=(FLOAT32, BFLOAT16), default=FLOAT32, help="of netpart's numbers")
    parser.add_argument("-o", "--output", type=Path, metavar="F.json", help="where the figures go")
    add_loaded_option(parser)
    args = parser.parse_args()
    if find_spec("torch") is None:
        parser.error("expected PyTorch, got none; `make` installs it: see the Makefile")
    narrowed = narrow if narrow and args.precision == BFLOAT16 else None
    args.nets = args.nets or list((narrowed or known).values())
    args.arguments = ["--kernels", args.kernels] if args.kernels else []
    if args.quick:
        args.nets = [smaller(net) for net in args.nets]
        args.rounds = 1
        args.seconds = 0.01
        args.loaded = True
    return args


def chosen(text: str, known: Mapping[str, Net] = NETS) -> list[Net]:
    """Nets by their names."""
    unknown = [name for name in text.split(",") if name not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"expected some of {','.join(known)}, got {','.join(unknown)}")
    return [known[name] for name in text.split(",")]
