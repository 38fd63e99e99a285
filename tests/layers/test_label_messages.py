"""Labels that do not fit the scores: the error says what each source is and which layers make them fit."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from netpart.errors import ConfigError
from netpart.graph.build import build_net
from netpart.proto.reader import read_job_text

NET = """
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: kArrayInput array_conf { path: "PATH/x.npy" label_path: "PATH/y.npy" batchsize: 4 MORE } }
  layer { name: "scores" type: kReshape srclayers: "data" reshape_conf { shape: SHAPE } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "scores" srclayers: "data" }
}
"""
RESHAPE = r"classes come last, not first: put kReshape with reshape_conf { shape: [3, 8] } and then kTranspose with "


@pytest.mark.parametrize(
    ("shape", "labels", "more", "said"),
    [
        ("[3, 2, 4]", (4, 8), "", f"for the scores (4, 3, 2, 4) of source 0 (scores), got int (4, 8); {RESHAPE}"),
        ("[3, 8]", (4, 8), "", "got int (4, 8); classes come last, not first: put kTranspose with transpose_conf"),
        ("[24]", (4, 24), "", "got int (4, 24); a number per class is no label: save y.argmax(axis=-1)"),
        ("[24]", (4, 5), "", "got int (4, 5); the scores need an axis of classes after the axes of the labels"),
        ("[24]", (4,), "target: true", "labels that are classes, got target: true of data, which makes them numbers"),
    ],
)  # fmt: skip
def test_labels_that_do_not_fit(shape: str, labels: tuple[int, ...], more: str, said: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((4, 24), np.float32))
    np.save(tmp_path / "y.npy", np.zeros(labels, np.int64))
    text = NET.replace("PATH", str(tmp_path)).replace("SHAPE", shape).replace("MORE", more)
    with pytest.raises(ConfigError, match=re.escape(said)) as raised:
        build_net(read_job_text(text).proto)
    assert raised.value.at == ("neuralnet", "layer", 2, "srclayers", 1)
    assert len(raised.value.faults) == 1


def test_the_advice_makes_the_scores_fit(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((4, 24), np.float32))
    np.save(tmp_path / "y.npy", np.zeros((4, 8), np.int64))
    layers = """
      layer { name: "flat" type: kReshape srclayers: "scores" reshape_conf { shape: [3, 8] } }
      layer { name: "last" type: kTranspose srclayers: "flat" transpose_conf { axis: [2, 1] } }
      layer { name: "loss" type: kSoftmaxLoss srclayers: "last" """
    text = NET.replace('layer { name: "loss" type: kSoftmaxLoss srclayers: "scores" ', layers)
    text = text.replace("PATH", str(tmp_path)).replace("SHAPE", "[3, 2, 4]").replace("MORE", "")
    assert build_net(read_job_text(text).proto).by_name["loss"].layer.output.shape == (4, 8, 3)
