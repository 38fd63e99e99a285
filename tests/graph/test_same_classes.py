"""A class keeps its number in every phase: folders that number classes otherwise are refused before a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from netpart.checkpoint.steps import step_file
from netpart.errors import DataError
from netpart.graph.partition import partition_job
from netpart.graph.ready import find_run_faults
from netpart.launch.evaluate import evaluate_job
from netpart.launch.run import run_job
from netpart.proto.reader import Job, read_job_text

JOB = """
name: "photos" train_steps: 1 test_steps: 1 train_one_batch { alg: kBP }
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: kImageInput include: kTrain
    image_conf { path: "PATH/train" batchsize: 2 shape: [1, 4, 4] } }
  layer { name: "data" type: kImageInput include: kTest
    image_conf { path: "PATH/test" batchsize: 2 shape: [1, 4, 4] CLASSES } }
  layer { name: "ip" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 3 }
    param { init { type: kUniform } } param { init { type: kConstant } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "ip" srclayers: "data" }
}
"""
CLASSES = 'classes: ["cat", "dog", "fox"]'


def photos(folder: Path, classes: str) -> None:
    for k, name in enumerate(classes.split()):
        (folder / name).mkdir(parents=True)
        Image.fromarray(np.full((4, 4), 60 * k, np.uint8)).save(folder / name / "a.png")


def job(folder: Path, test: str, classes: str = "") -> Job:
    photos(folder / "train", "cat dog fox")
    photos(folder / "test", test)
    return read_job_text(JOB.replace("PATH", str(folder)).replace("CLASSES", classes))


@pytest.mark.parametrize(
    ("test", "classes", "said"),
    [
        ("cat fox", "", r"got no dog; write classes: \[\"cat\", \"dog\", \"fox\"\] in image_conf of every layer"),
        ("cat dog fox owl", "", "got owl besides; rename the folders"),
        ("cat fox owl", "", "got no dog, owl besides; rename the folders"),
        ("cat dog fox", 'classes: ["fox", "dog", "cat"]', 'got the order fox, dog, cat; write classes: '),
        ("cat dog fox", "", ""),
        ("cat fox", CLASSES, ""),
    ],
)  # fmt: skip
def test_classes_differ_from_those_of_the_training(test: str, classes: str, said: str, tmp_path: Path) -> None:
    found = find_run_faults(partition_job(job(tmp_path, test, classes).proto, 1))
    assert len(found) == bool(said)
    for error in found:
        assert isinstance(error, DataError)
        assert error.at == ("neuralnet", "layer", 1, "image_conf", "path")
        with pytest.raises(
            DataError, match=rf"data: .*/test: expected the classes of the training, cat.*train, {said}"
        ):
            raise error


def test_a_run_and_an_evaluation_refuse_them(tmp_path: Path) -> None:
    given = job(tmp_path, "cat fox")
    with pytest.raises(DataError, match="got no dog"):
        run_job(given, launcher="threads", workspace=tmp_path / "run")
    sound = read_job_text(JOB.replace("PATH", str(tmp_path)).replace("CLASSES", CLASSES))
    run_job(sound, launcher="threads", workspace=tmp_path / "run")
    with pytest.raises(DataError, match="got no dog"):
        evaluate_job(given, step_file(tmp_path / "run" / "checkpoint", 1))


def test_a_test_set_without_a_class_keeps_the_numbers(tmp_path: Path) -> None:
    given = job(tmp_path, "cat fox", CLASSES)
    layer = partition_job(given.proto, 1).phases["test"][0].graph.net.by_name["data"].layer
    assert layer.samples().labels.tolist() == [[0], [2]]  # type: ignore[attr-defined]


def test_a_training_set_without_a_class_is_refused(tmp_path: Path) -> None:
    photos(tmp_path / "train", "cat fox")
    photos(tmp_path / "test", "cat dog fox")
    text = JOB.replace("PATH", str(tmp_path)).replace("CLASSES", "").replace("[1, 4, 4] }", f"[1, 4, 4] {CLASSES} }}")
    (error, *_) = find_run_faults(partition_job(read_job_text(text).proto, 1))
    assert "train: expected a folder for each class, got none for 'dog'" in str(error)


def test_a_hint_to_set_a_path_names_the_phase_of_a_layer_that_has_another_of_its_name(tmp_path: Path) -> None:
    found = find_run_faults(
        partition_job(read_job_text(JOB.replace("CLASSES", "").replace("PATH", str(tmp_path / "no"))).proto, 1)
    )
    assert "(--set data@train.image_conf.path=FOLDER, say)" in str(found[0])
    assert "(--set data@test.image_conf.path=FOLDER, say)" in str(found[1])
    read_job_text(JOB.replace("CLASSES", ""), overrides=["data@test.image_conf.path=other"])
