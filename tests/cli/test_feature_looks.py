"""`netpart data look` at features and targets: names and figures of columns, names of classes, ignored labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netpart.draw.contact_sheet import SheetSection
from netpart.measure.data_look import InputLook, look_at_data
from netpart.measure.row_pictures import sheet_section
from netpart.proto.reader import read_job
from tests.cli.conftest import Netpart

RNG = np.random.default_rng(3)
X = RNG.normal([1, -50, 3], [2, 9, 0], (40, 3))
T = RNG.normal(7, 3, (40, 2))
ARRAYS = 'type: kArrayInput array_conf { path: "x.npy" label_path: "t.npy" target: true batchsize: 8 MORE }'
CSV = """type: kCSVInput store_conf { path: "t.csv" header: true batchsize: 8 label_column: "kind" skip_column: "id"
  skip_column: "goal" classes_file: "kinds.txt" MORE }"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", X)
    np.save("t.npy", T)
    rows = enumerate(zip(X, T, strict=True))
    lines = [f"{k},{('red', 'blue')[k % 2]},{x[0]},{x[1]},{x[2]},{t[0]}" for k, (x, t) in rows]
    Path("t.csv").write_text("\n".join(['id,kind,"width, m",height,depth,goal', *lines]))
    return tmp_path


def look(layer: str, more: str = "") -> InputLook:
    Path("job.conf").write_text(f'neuralnet {{ layer {{ name: "data" {layer} }} {more} }}')
    ((found, shown),) = look_at_data(read_job(Path("job.conf")), "train", 3, 0)
    assert isinstance(sheet_section(found, shown), SheetSection)
    return found


def figures(channels: Any) -> Any:
    return np.array([(c.minimum, c.mean, c.maximum, c.std) for c in channels])


def test_targets_have_their_figures(netpart: Netpart) -> None:
    found = look(ARRAYS.replace("MORE", ""))
    assert found.targets is not None
    wanted = np.stack([T.min(0), T.mean(0), T.max(0), T.std(0)], axis=1)
    assert np.allclose(figures(found.targets.channels), wanted, rtol=1e-6)
    assert (found.targets.nan, found.labels, found.classes) == (0, None, ())
    assert found.first[1].label == f"{T[1, 0]:.4g} {T[1, 1]:.4g}"
    lines = netpart("data", "look", "job.conf").out.splitlines()
    assert lines[2] == "data: kArrayInput, rows of 3, 2 targets, batch 8"
    assert lines[4].split()[:2] == ["row", "targets"]
    at = next(n for n, line in enumerate(lines) if line.startswith("targets"))
    assert [line.split()[0] for line in lines[at + 1 : at + 4]] == ["target", "target", "all"]
    assert json.loads(netpart("data", "look", "job.conf", "--json").out)["inputs"][0]["targets"]["nan"] == 0


@pytest.mark.parametrize(("layer", "end"), [(ARRAYS, "npy"), (CSV, "csv")])
def test_each_column_has_its_own_scaling(layer: str, end: str) -> None:
    """The third column is constant: 1 takes the place of its deviation."""
    for name, values in look(layer.replace("MORE", "")).scaling.items():
        file = Path(f"{name.partition('.')[2].removesuffix('_file')}.{end}")
        file.write_text(",".join(map(str, values)))
        if end == "npy":
            np.save(file, values)
    again = look(layer.replace("MORE", f'mean_file: "mean.{end}" std_file: "std.{end}"'))
    assert again.values is not None
    assert np.allclose(figures(again.values.channels)[:, [1, 3]], [[0, 1], [0, 1], [0, 0]], atol=5e-3)
    assert again.scaling == {}


def test_columns_and_classes_of_a_csv_have_their_names(netpart: Netpart) -> None:
    found = look(CSV.replace("MORE", ""))
    assert found.columns == ("width, m", "height", "depth")
    assert [(c.name, c.count) for c in found.classes] == [("blue", 20), ("red", 20)]
    assert found.first[0].name == "red"
    said = netpart("data", "look", "job.conf").out
    assert "\nwidth, m " in said
    assert '\nstore_conf.std_file: "std.csv", a file with the line ' in said
    found = look(CSV.replace('classes_file: "kinds.txt" MORE', "target: true").replace('"goal"', '"kind"').replace(
        'label_column: "kind"', 'label_column: "goal"'
    ))  # fmt: skip
    assert found.target_columns == ("goal",)
    assert "\ngoal " in netpart("data", "look", "job.conf").out


def test_a_label_that_a_loss_ignores_is_no_class(netpart: Netpart) -> None:
    np.save("y.npy", [0, 1, 255, 1] * 10)
    layer = 'type: kArrayInput array_conf { path: "x.npy" label_path: "y.npy" batchsize: 8 }'
    net = 'layer { name: "ip" type: kInnerProduct srclayers: "data" } layer { name: "loss" type: kSoftmaxLoss '
    net += 'srclayers: "ip" srclayers: "data" SET }'
    ignored = "softmaxloss_conf { ignore_index: 255 }"
    for more in ("", f"exclude: kTrain {ignored}"):
        found = look(layer, net.replace("SET", more))
        assert ([c.label for c in found.classes], found.ignored) == ([0, 1, 255], ())
    found = look(layer, net.replace("SET", ignored))
    assert [(c.label, c.count, c.share) for c in found.ignored] == [(255, 10, 0.25)]
    assert [(c.label, c.count, round(c.share, 3)) for c in found.classes] == [(0, 10, 0.333), (1, 20, 0.667)]
    said = netpart("data", "look", "job.conf").out
    assert "2 classes; class 1 is there 2 times as often as 0\nlabel 255 is ignored: 10 labels, 25.0% of all" in said
