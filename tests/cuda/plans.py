"""Builds, without a GPU, cuDNN's plan for every convolution of jobs, from the description of one.

    python -m tests.cuda.plans FOLDER JOB...     {"plans": how many were built, "refused": problems without an engine}

Data of jobs are looked for from FOLDER. Of each job, whole and cut over two workers, all convolutions and gradients,
in every precision.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import cudnn

from netpart.kernels import reference
from netpart.kernels.activation import Kind
from netpart.kernels.cuda.convolution import cudnn_problem
from netpart.kernels.cuda.geometry import ConvolutionGeometry
from netpart.kernels.cuda.problem import (
    DATA,
    FORWARD,
    WEIGHTS,
    ConvolutionProblem,
    CudnnRefused,
    build_engines,
    propose_engines,
)
from netpart.kernels.op import Array, Op, Window
from netpart.kernels.verbs import NOTHING
from netpart.worker.ensemble import Ensemble
from tests.graphs.test_onednn import of_few_rows

DEVICE = Path(__file__).parents[1] / "data/cuda/h200.json"
CAPABILITY = 90
PRECISIONS = [("float32", "float32"), ("float32", "tf32"), ("float32", "bfloat16"), ("float64", "float32")]
Asked = tuple[str, ConvolutionGeometry, bool, bool]


class Recorder(reference.Kernels):
    """Kernels that write down which convolutions they are asked for."""

    channels_last = True
    fuses: ClassVar[tuple[str, ...]] = ("relu",)
    asked: ClassVar[set[Asked]] = set()

    def convolution(
        self, x: Array, w: Array, b: Array | None, y: Array, window: Window, groups: int = 1,
        activation: Kind | None = None,
    ) -> Op:  # fmt: skip
        return self._note(FORWARD, x, w, y, window, groups, b is not None, activation == "relu")

    def convolution_data(self, dy: Array, w: Array, dx: Array, window: Window, groups: int = 1) -> Op:
        return self._note(DATA, dx, w, dy, window, groups)

    def convolution_weights(
        self, x: Array, dy: Array, dw: Array, db: Array | None, window: Window, groups: int = 1
    ) -> Op:
        return self._note(WEIGHTS, x, dw, dy, window, groups)

    def _note(
        self, kind: str, x: Array, w: Array, y: Array, window: Window, groups: int, bias: bool = False,
        relu: bool = False,
    ) -> Op:  # fmt: skip
        if x.size and w.size and y.size:
            self.asked.add((kind, ConvolutionGeometry.of(x, w, y, window, groups), bias, relu))
        return NOTHING


def asked(folder: Path, confs: Iterable[Path]) -> set[Asked]:
    """The convolutions of jobs."""
    for conf in confs:
        for cut in (False, True):
            Ensemble(of_few_rows(conf, cut, folder), kernels=Recorder)
    return Recorder.asked


def problems(found: Iterable[Asked]) -> Iterator[ConvolutionProblem]:
    """Those of ``found`` in every precision, none twice."""
    yield from dict.fromkeys(
        cudnn_problem(kind, geometry, dtype, precision, bias, relu)
        for kind, geometry, bias, relu in found
        for dtype, precision in PRECISIONS
    )


def buildable(wanted: ConvolutionProblem, device: Any) -> bool:
    """True if cuDNN has an engine that can be built for ``device``."""
    try:
        made = propose_engines(cudnn, wanted, device_property=device, sm_version=CAPABILITY)
    except CudnnRefused:
        return False
    return next(build_engines(cudnn, made), None) is not None


def main(folder: Path, confs: Iterable[Path]) -> None:
    """Writes what was found to the standard output."""
    device = cudnn.create_device_properties(DEVICE.read_text())
    found = {wanted: buildable(wanted, device) for wanted in problems(asked(folder, confs))}
    refused = [str(wanted) for wanted, built in found.items() if not built]
    sys.stdout.write(json.dumps({"plans": len(found) - len(refused), "refused": refused}, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]), map(Path, sys.argv[2:]))
