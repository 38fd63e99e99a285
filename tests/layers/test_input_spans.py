"""Inputs of texts and scans: their cuts, their phases, their changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netpart.errors import DataError
from netpart.kernels.op import Clock
from netpart.kernels.reference import Kernels
from netpart.layers.part import Call
from netpart.spec import INT, Region, extent
from netpart.testing.play_part import poisoned_array, run_poisoned
from tests.layers.input_layers import ALTERED, BATCH, CONFS, TEXT, make, read


def test_a_text_may_be_cut_within_its_windows(folder: Path) -> None:
    layer = make("kTextInput", folder)[0]
    whole = read((layer, None), 3, 0, BATCH)
    for lo, hi in ((0, 2), (2, 7)):
        region = ((1, 4), (lo, hi))
        y = [poisoned_array(extent(r), INT) for r in layer.outputs_of(region)]
        run_poisoned(
            layer.forward(Kernels(np, "float64"), Call(region, layer.needs(region), None, [], [], y, clock=Clock(3)))
        )
        assert all(np.array_equal(part, full[1:4, lo:hi]) for part, full in zip(y, whole, strict=True))


@pytest.mark.parametrize("space", [((0, 2), (0, 5), (1, 2)), ((2, 4), (1, 4), (0, 3))])
def test_scans_may_be_cut_in_space(space: Region, folder: Path) -> None:
    layer = make("kNiftiInput", folder)[0]
    whole, _ = read((layer, None), 3, 0, BATCH)
    region = (1, 4), (0, 1), *space
    y = [poisoned_array(extent(r), s.dtype) for r, s in zip(layer.outputs_of(region), layer.outputs, strict=True)]
    call = Call(region, layer.needs(region), None, [], [], y, rows=BATCH, clock=Clock(3))
    run_poisoned(layer.forward(Kernels(np, "float64"), call))
    assert np.allclose(y[0], whole[tuple(slice(*ends) for ends in region)], atol=1e-6)


def test_scans_are_mirrored_in_training_only(folder: Path) -> None:
    layers = make("kNiftiInput", folder, CONFS["kNiftiInput"].replace(ALTERED, "flip: true"))
    plain = read(layers, 0, 0, BATCH, phase=4)[0]
    turned = [read(layers, step, 0, BATCH)[0] for step in range(4)]
    as_is = {bool(np.array_equal(a, b)) for data in turned for a, b in zip(data, plain, strict=True)}
    assert as_is == {True, False}
    for data in turned:
        assert all(np.array_equal(a, b) or np.array_equal(a[:, ::-1], b) for a, b in zip(data, plain, strict=True))


def test_scans_drift_in_training_only(folder: Path) -> None:
    plain = CONFS["kNiftiInput"].replace(ALTERED, "")
    still = read(make("kNiftiInput", folder, plain), 0, 0, BATCH)[0]
    layers = make("kNiftiInput", folder, CONFS["kNiftiInput"].replace(ALTERED, "drift: 0.5"))
    assert np.array_equal(read(layers, 0, 0, BATCH, phase=4)[0], still)
    added = [(read(layers, step, 0, BATCH)[0] - still)[still != 0] for step in range(2)]
    assert 0.01 < abs(added[0]).max() <= 0.5
    assert not np.allclose(*added)


@pytest.mark.parametrize(("phase", "lo", "hi"), [(1, 0, 240), (2, 240, 270), (4, 270, 300)])
def test_each_phase_reads_its_own_span_of_a_text(phase: int, lo: int, hi: int, folder: Path) -> None:
    layers, starts = make("kTextInput", folder), set[int]()
    for step in range(60):
        data, label = read(layers, step, 0, BATCH, phase=phase)
        assert np.array_equal(data[:, 1:], label[:, :-1])
        starts |= {
            TEXT.index(bytes(row + after)) for row, after in zip(data.tolist(), label[:, -1:].tolist(), strict=True)
        }
    assert min(starts) >= lo
    assert max(starts) + 8 <= hi
    assert len(starts) > 0.7 * (hi - lo - 7)


def test_windows_of_a_text_are_drawn_anew_per_seed_and_name(folder: Path) -> None:
    first = [read(make("kTextInput", folder), 0, 0, BATCH, seed=seed)[0].tolist() for seed in (1, 1, 2)]
    assert first[0] == first[1] != first[2]


def test_a_text_too_short_for_its_window_is_found_by_check_data(folder: Path) -> None:
    conf = CONFS["kTextInput"].replace("window: 7", "window: 250")
    with pytest.raises(DataError, match="2 files: expected 251 bytes or more for training, got 240 of 300"):
        make("kTextInput", folder, conf)[0].check_data()
    layer = make("kTextInput", folder, CONFS["kTextInput"].replace("window: 7", "window: 30"))[0]
    layer.check_data()
    with pytest.raises(DataError, match="expected 31 bytes or more for testing, got 30 of 300"):
        layer.check_data(4)
