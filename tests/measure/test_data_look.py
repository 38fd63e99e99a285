"""Looks at data: the rows are those that a run trains on, and the figures are those that NumPy finds in all of them."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netpart.data.stores.store import KvWriter
from netpart.errors import ConfigError
from netpart.graph.uncut import partition_uncut
from netpart.measure.data_look import InputLook, ShownRows, look_at_data
from netpart.measure.row_pictures import sheet_section
from netpart.measure.value_statistics import ChannelValues
from netpart.program.compile import compile_worker
from netpart.proto.reader import read_job
from netpart.spec import INT
from netpart.worker.player import Player
from tests.datasets.samples import pixels
from tests.measure.input_jobs import LAYERS, input_files, input_job

STEPS = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the files of all inputs."""
    path = tmp_path_factory.mktemp("inputs")
    input_files(path)
    return path


def look(folder: Path, name: str, rows: int = 7, sample: int = 0, phase: str = "train") -> tuple[InputLook, ShownRows]:
    ((found, shown),) = look_at_data(input_job(folder, name), phase, rows, sample)
    return found, shown


def figures(channels: tuple[ChannelValues, ...], name: str) -> Any:
    """One figure of all channels."""
    return np.array([getattr(channel, name) for channel in channels], "f8")


def trained_rows(folder: Path, name: str) -> dict[str, Any]:
    """The values and the labels of the first steps of a training run on one worker."""
    job = input_job(folder, name)
    partition = partition_uncut(job.proto, job.folder, ("train",))
    player = Player(compile_worker(partition, 0, keep=True), None, np, seed=job.proto.seed)
    graph = partition.phases["train"][0].graph
    found: dict[str, list[Any]] = {"data": [], "label": []}
    for step in range(STEPS):
        assert not list(player.play("train", step))
        for (_, part, output), view in player.program.phases["train"].values.items():
            node = graph.net.nodes[graph.parts[part].node]
            if node.layer.outputs[output].shape:
                labels = node.layer.outputs[output].dtype == INT and (output or node.name == "labels")
                found["label" if labels else "data"].append(player.machine.held(view, "train").copy())
    return {kind: np.concatenate(each) for kind, each in found.items()}


@pytest.mark.parametrize("name", LAYERS)
def test_the_rows_are_those_that_a_run_trains_on(name: str, folder: Path) -> None:
    expected = trained_rows(folder, name)
    found, shown = look(folder, name, rows=7, sample=7)
    count = len(found.first)
    assert count == min(7, found.epoch.rows or 7)
    for values, kind in ((shown.data, "data"), (shown.label, "label")):
        assert values is not None
        assert values.tobytes() == expected[kind][:count].tobytes()
        assert values.dtype == expected[kind].dtype
    assert np.ptp(expected["data"]) > 0


@pytest.mark.parametrize("name", [name for name in LAYERS if name not in ("drawn", "volumes", "words")])
def test_the_figures_are_those_of_all_rows_of_an_epoch(name: str, folder: Path) -> None:
    found, shown = look(folder, name, rows=1000)
    epoch = found.epoch
    assert shown.data is not None
    assert shown.label is not None
    assert (epoch.rows, epoch.steps) == (len(shown.data), -(-len(shown.data) // found.batch))
    assert epoch.value_bytes == shown.data.nbytes + shown.label.nbytes
    assert found.values is not None
    overall = found.values.overall
    x = shown.data.astype("f8")
    assert (overall.minimum, overall.maximum) == (x.min(), x.max())
    assert np.allclose(figures((overall,), "mean"), x.mean(), rtol=1e-12, atol=1e-12)
    assert np.allclose(figures((overall,), "std"), x.std(), rtol=1e-12, atol=1e-12)
    if x.ndim > 3:
        axes = (0, *range(2, x.ndim))
        channels = found.values.channels
        assert np.allclose(figures(channels, "mean"), x.mean(axes), rtol=1e-12, atol=1e-12)
        assert np.allclose(figures(channels, "std"), x.std(axes), rtol=1e-12, atol=1e-12)
    if found.classes:
        assert {c.label: c.count for c in found.classes} == dict(
            zip(*np.unique(shown.label, return_counts=True), strict=True)
        )
    assert found.cost.rows == len(x)
    assert found.cost.epoch_seconds is not None
    assert found.cost.epoch_seconds >= found.cost.reading


FILES = {
    "images": ["photos"], "masks": ["photos", "masks"], "tar": ["photos-0.tar", "photos-1.tar"],
    "arrays": ["x.npy", "y.npy"], "records": ["r.bin"], "lmdb": ["lmdb/data.mdb"], "csv": ["t.csv"],
    "scans": ["scans.csv", "0.nii.gz", "1.nii.gz", "2.nii.gz"],
    "masked scans": ["masked.csv", *(f"{kind}{k}.nii.gz" for kind in ("", "mask-") for k in range(3))],
    "text": ["t.csv"], "tokens": ["tokens.bin"],
    "drawn": [], "volumes": [], "words": [], "shard": ["grey.bin"],
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_the_bytes_of_an_epoch_are_those_of_its_files(name: str, folder: Path) -> None:
    found = look(folder, name, rows=2, sample=2)[0].epoch
    each = [path for name in FILES[name] for path in (folder / name, *(folder / name).rglob("*")) if path.is_file()]
    assert (found.files, found.file_bytes) == (len(each), sum(path.stat().st_size for path in each))
    assert found.exact
    assert found.endless == (not each)


def test_the_fields_of_images_scale_them_to_mean_0_and_deviation_1(folder: Path) -> None:
    first = look(folder, "images")[0]
    assert first.sizes == "11 images opened: 30x40 to 40x40, 11 sizes"
    fields = {name.rpartition(".")[2]: values for name, values in first.scaling.items()}
    job = input_job(folder, "images")
    conf = job.proto.neuralnet.layer[0].image_conf
    conf.mean[:], conf.std[:] = fields["mean"], fields["std"]
    ((again, _),) = look_at_data(job, "train", 3, 0)
    assert again.values is not None
    assert np.allclose(figures(again.values.channels, "mean"), 0, atol=2e-3)
    assert np.allclose(figures(again.values.channels, "std"), 1, atol=2e-3)


def test_values_that_are_not_finite_are_counted_with_their_rows(folder: Path) -> None:
    with KvWriter(folder / "r.bin") as store:
        for k in range(11):
            x = np.full((3, 4, 4), k, "f4")
            x[0, 0, 0] = {2: np.nan, 7: -np.inf}.get(k, k)
            store.add(x, k % 3)
    job = input_job(folder, "records")
    job.proto.neuralnet.layer[0].store_conf.shuffle = False
    job.proto.neuralnet.layer[0].store_conf.random_skip = 0
    ((found, _),) = look_at_data(job, "train", 3, 0)
    assert found.values is not None
    assert (found.values.nan, found.values.infinite, found.values.rows) == (1, 1, (2, 7))
    assert found.values.overall.maximum == 10
    assert found.values.channels[0].minimum == 0
    assert found.first[2].minimum == found.first[2].maximum == 2


def array_look(folder: Path, fields: str) -> InputLook:
    """The look of a kArrayInput with ``fields``."""
    text = f'neuralnet {{ layer {{ name: "data" type: kArrayInput array_conf {{ batchsize: 4 {fields} }} }} }}'
    (folder / "job.conf").write_text(text)
    ((found, shown),) = look_at_data(read_job(folder / "job.conf"), "train", 3, 0)
    sheet_section(found, shown)
    return found


def test_classes_of_rows_of_tokens_are_counted_and_tokens_are_not_scaled(folder: Path) -> None:
    np.save(folder / "words.npy", pixels(11, (5,)).astype("i4"))
    np.save(folder / "kinds.npy", np.arange(11) % 2)
    found = array_look(folder, 'path: "words.npy" label_path: "kinds.npy" tokens: true')
    assert [row.label for row in found.first] == ["0", "1", "0"]
    assert [each.count for each in found.classes] == [6, 5]
    assert not found.scaling


def test_targets_are_shown_as_numbers(folder: Path) -> None:
    np.save(folder / "wide.npy", np.ones((11, 8)) * np.arange(11)[:, None] / 4)
    found = array_look(folder, 'path: "x.npy" label_path: "wide.npy" target: true')
    assert (found.labels, found.classes) == (None, ())
    assert found.targets is not None
    assert found.targets.channels[0].maximum == 2.5
    assert [row.label for row in found.first] == [" ".join([number] * 8) for number in ("0", "0.25", "0.5")]


def test_a_sample_is_no_larger_than_wanted_and_an_epoch_of_endless_data_is_refused(folder: Path) -> None:
    assert look(folder, "drawn", rows=2, sample=9)[0].cost.rows == 9
    assert look(folder, "arrays", rows=2, sample=9)[0].cost.rows == 9
    assert look(folder, "arrays", rows=2, sample=99)[0].cost.rows == 11
    with pytest.raises(ConfigError, match="--sample: expected a number of rows, as the data has no end, got 0"):
        look(folder, "drawn")


def test_another_phase_has_its_own_rows(folder: Path) -> None:
    train, test = (look(folder, "text", phase=phase)[1].data for phase in ("train", "test"))
    assert train is not None
    assert test is not None
    assert train.tobytes() != test.tobytes()
    assert prod(test.shape[1:]) == 6
