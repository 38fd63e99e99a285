"""Where the elements of a layer lie: a net of means gives a ramp back, at its elements' places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job_text
from netpart.trained.input_lattice import LatticeAxis, block_lattice, interpolate_map, layer_lattice
from netpart.trained.session import Session

MEANS = """
name: "means" train_steps: 1 train_one_batch { alg: kBP }
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: kSyntheticInput store_conf { batchsize: 1 shape: [1, 80, 72] }
    synthetic_conf { classes: 2 } }
  layer { name: "halve" type: kConvolution srclayers: "data"
    convolution_conf { num_filters: 1 kernel: 3 stride: 2 pad: 1 }
    param { init { type: kConstant value: 0.1111111111111111 } } }
  layer { name: "pool" type: kPooling srclayers: "halve" pooling_conf { pool: AVG kernel: 3 stride: 2 pad: 1 } }
  layer { name: "wide" type: kConvolution srclayers: "pool"
    convolution_conf { num_filters: 1 kernel: 3 pad: 1 dilation_x: 2 }
    param { init { type: kConstant value: 0.1111111111111111 } } }
  layer { name: "patch" type: kConvolution srclayers: "wide"
    convolution_conf { num_filters: 1 kernel: 2 stride: 2 pad_end_x: 1 }
    param { init { type: kConstant value: 0.25 } } }
  layer { name: "double" type: kUpsampling srclayers: "patch" upsampling_conf { factor: 2 method: LINEAR } }
  layer { name: "relu" type: kReLU srclayers: "double" }
  layer { name: "flat" type: kReshape srclayers: "pool" reshape_conf { shape: [1, 360] } }
  layer { name: "folded" type: kReshape srclayers: "flat" reshape_conf { shape: [1, 20, 18] } }
  layer { name: "sum" type: kAdd srclayers: ["folded", "pool"] }
}
"""
WAYS = ["data", "halve", "pool", "wide", "patch", "double", "relu"]


def means(*names: str) -> Session:
    job = read_job_text(MEANS)
    job.proto.dtype = JobProto.FLOAT64
    return Session(job, names)


def inner(values: NDArray[Any]) -> NDArray[Any]:
    """Those that no padding has touched."""
    return values[len(values) // 3 : -(len(values) // 3)]


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("axis", [0, 1])
def test_a_net_of_means_gives_a_ramp_back_at_the_places_of_its_elements(name: str, axis: int) -> None:
    session = means("relu")
    session.run({"data": np.indices((80, 72))[axis]})
    found = session.value(name)[0, 0].take(session.value(name).shape[3 - axis] // 2, 1 - axis)
    at = layer_lattice(session.nodes, "data", name)[axis]
    places = at.start + at.step * np.arange(len(found))
    np.testing.assert_allclose(inner(found), inner(places), atol=1e-9)
    np.testing.assert_allclose(at.start + at.step * at.places(80), np.arange(80), atol=1e-9)


def test_behind_a_reshape_elements_fill_the_samples_unless_another_way_keeps_space() -> None:
    nodes = means("sum").nodes
    assert layer_lattice(nodes, "data", "pool") == (LatticeAxis(0, 4), LatticeAxis(0, 4))
    assert layer_lattice(nodes, "data", "sum") == layer_lattice(nodes, "data", "pool")
    assert (
        layer_lattice(nodes, "data", "folded")
        == (LatticeAxis(1.5, 4), LatticeAxis(1.5, 4))
        == block_lattice((80, 72), (20, 18))
    )


def test_values_are_spread_from_where_they_lie() -> None:
    values = np.zeros((3, 4))
    values[1, 2] = 1
    found = interpolate_map(values, (LatticeAxis(0, 4), LatticeAxis(1.5, 4)), (12, 16))
    assert found.shape == (12, 16)
    assert found[4].argmax() in (9, 10)
    assert found[4, 9] == found[4, 10] == pytest.approx(0.875)
    assert found[6, 9] == pytest.approx(0.875 / 2)
    assert np.array_equal(interpolate_map(values, block_lattice((3, 4), (3, 4)), (3, 4)), values)
