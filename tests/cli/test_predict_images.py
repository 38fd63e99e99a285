"""netpart predict for images: labels and masks are not read, files and classes are named, label maps are files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from netpart.data.images.unlabelled_images import find_images
from tests.cli.conftest import Netpart

HEAD = """name: "photos" train_steps: 0 dtype: FLOAT64
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
"""
INPUT = 'layer { name: "data" type: kImageInput image_conf { path: "photos" batchsize: 3 shape: [1, 4, 6] %s } }\n'
CLASSES = """layer { name: "ip" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 2 }
    param { init { type: kGaussian } } param { init { type: kConstant } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "ip" srclayers: "data" }
}
"""
PLACES = """layer {
    name: "conv" type: kConvolution srclayers: "data" convolution_conf { num_filters: 3 kernel: 3 pad: 1 }
    param { init { type: kGaussian } } param { init { type: kConstant } }
  }
  layer { name: "flat" type: kReshape srclayers: "conv" reshape_conf { shape: [3, 24] } }
  layer { name: "places" type: kTranspose srclayers: "flat" transpose_conf { axis: [2, 1] } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "places" srclayers: "data" }
}
"""
NAMES = "cat/a.png", "cat/b2.png", "cat/b10.png", "dog/a.png"
"""The images of the job, in the order of its rows."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Photos of two classes and their masks, and jobs for both in the current folder, with initial values."""
    monkeypatch.chdir(tmp_path)
    drawn = np.random.default_rng(0)
    for name in NAMES:
        for kind, most in (("photos", 256), ("masks", 3)):
            path = Path(kind, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(drawn.integers(0, most, (4, 6), np.uint8)).save(path)
    Path("classes.conf").write_text(HEAD + INPUT % "" + CLASSES)
    Path("places.conf").write_text(HEAD + INPUT % 'masks: "masks"' + PLACES)
    return tmp_path


def predict(netpart: Netpart, job: str, *options: str) -> list[str]:
    """The lines of out.csv after a prediction of ``job``."""
    answer = netpart("predict", job, "--launcher", "threads", *options, "-o", "out.csv")
    assert answer.code == 0, answer.err
    return Path("out.csv").read_text().splitlines()


def test_images_need_no_classes_and_are_named(folder: Path, netpart: Netpart) -> None:
    assert netpart("run", "classes.conf", "--launcher", "threads").code == 0
    own = predict(netpart, "classes.conf")
    assert own[0] == "row,file,class,name,probability"
    assert [line.split(",")[1] for line in own[1:]] == [*NAMES]
    assert all(line.split(",")[3] == ("cat", "dog")[int(line.split(",")[2])] for line in own[1:])
    assert predict(netpart, "classes.conf", "--input", "photos", "--workers", "2") == own
    Path("paths.csv").write_text("path\nphotos/dog/a.png\nphotos/cat/a.png\n")
    found = predict(netpart, "classes.conf", "--input", "paths.csv")
    assert [line.split(",", 1)[1] for line in found[1:]] == ["photos/" + own[row].split(",", 1)[1] for row in (4, 1)]
    one = predict(netpart, "classes.conf", "--input", "photos/cat/b10.png")
    assert one[1:] == [own[3].replace("2,cat/", "0,")]


def test_images_are_found_in_files_folders_and_lists(folder: Path) -> None:
    """Images directly in a folder are first; then its folders, those of ``classes`` before the others."""

    def found(name: str, *classes: str) -> list[str]:
        return [str(Path(image)) for image in find_images(Path(name), classes).images]

    Path("photos/z.png").write_bytes(b"")
    Path("photos/.hidden.png").write_bytes(b"")
    assert found("photos") == [f"photos/{name}" for name in ("z.png", *NAMES)]
    assert found("photos", "dog") == [f"photos/{name}" for name in ("z.png", NAMES[3], *NAMES[:3])]
    assert found("photos/cat") == [f"photos/{name}" for name in NAMES[:3]]
    assert found("photos/cat/a.png") == ["photos/cat/a.png"]
    Path("unnamed").write_bytes(Path("photos/dog/a.png").read_bytes())
    assert found("unnamed") == ["unnamed"]
    for text in (
        "b.png\na.png\n",
        "path\nb.png\na.png\n",
        "path,label\nb.png,none\na.png,\n",
        "label,path\n1,b.png\n,a.png\n",
    ):
        Path("list.csv").write_text(text)
        assert found("list.csv") == ["b.png", "a.png"]


def test_masks_are_not_read_and_label_maps_are_pictures(folder: Path, netpart: Netpart) -> None:
    assert netpart("run", "places.conf", "--launcher", "threads").code == 0
    options = "--launcher", "threads", "--input", "photos"
    for path in Path("masks").rglob("*.png"):
        path.unlink()
    assert netpart("predict", "places.conf", *options, "-o", "maps.npy").code == 0
    assert netpart("predict", "places.conf", *options, "-o", "maps").code == 0
    for name, labels in zip(NAMES, np.load("maps.npy"), strict=True):
        with Image.open(Path("maps", name)) as found:
            assert found.mode == "L"
            assert np.array_equal(np.asarray(found), labels)
    answer = netpart("predict", "places.conf", *options, "-o", "photos")
    assert answer.code == 2
    assert "--output: expected other files than those of the input, got photos/cat/a.png" in answer.err
    np.save("x.npy", np.zeros((2, 1, 4, 6)))
    assert netpart("predict", "places.conf", "--launcher", "threads", "--input", "x.npy", "-o", "x").code == 0
    assert sorted(path.name for path in Path("x").iterdir()) == ["0.png", "1.png"]


def test_values_of_a_layer_are_a_table(folder: Path, netpart: Netpart) -> None:
    assert netpart("run", "classes.conf", "--launcher", "threads").code == 0
    found = predict(netpart, "classes.conf", "--layer", "ip")
    assert found[0] == "row,file,v0,v1"
    assert netpart("predict", "classes.conf", "--launcher", "threads", "--layer", "ip", "-o", "v.npy").code == 0
    shown = [[float(cell) for cell in line.split(",")[2:]] for line in found[1:]]
    assert np.allclose(shown, np.load("v.npy"), rtol=1e-11)
    wide = (folder / "classes.conf").read_text().replace("num_output: 2", "num_output: 1001")
    (folder / "wide.conf").write_text(wide.replace('"photos" train', '"wide" train'))
    checkpoint = str(next(Path().rglob("*.safetensors")))
    answer = netpart("predict", "wide.conf", "--checkpoint", checkpoint, "--layer", "ip", "-o", "v.csv")
    assert "--output: expected at most 1000 values per row for a table, got 1001 in v.csv; write a .npy" in answer.err


WRONG = [
    (
        "nothing",
        "expected an image (.jpeg, .jpg, .png, .webp), a folder of images, or a list of them, got nothing there",
    ),
    ("empty", "expected images (.jpeg, .jpg, .png, .webp), got none; correct --input"),
    ("cut.png", "expected "),
    ("bytes.bin", "expected an image (.jpeg, .jpg, .png, .webp), a folder of images, or a list of them in UTF-8"),
    ("gap.csv", "gap.csv:2: expected the path of an image in column 1, got ',1'; correct it"),
    ("missing.csv", "missing.csv:5: {}/none.png: expected an image, got nothing there"),
]


def test_errors_of_the_input_name_it_and_no_line_of_the_job(folder: Path, netpart: Netpart) -> None:
    assert netpart("run", "classes.conf", "--launcher", "threads").code == 0
    Path("empty").mkdir()
    Path("cut.png").write_bytes(Path("photos/cat/a.png").read_bytes()[:30])
    Path("bytes.bin").write_bytes(b"\xfe\xff\x00")
    Path("gap.csv").write_text("photos/cat/a.png,0\n,1\n")
    Path("missing.csv").write_text("photos/cat/a.png\n" * 4 + "none.png\n")
    for name, message in WRONG:
        answer = netpart("predict", "classes.conf", "--launcher", "threads", "--input", name, "-o", "p.csv")
        assert answer.code == 1, name
        assert answer.err.startswith("error: --input: "), answer.err
        assert name in answer.err
        assert message.format(folder) in answer.err
        assert "classes.conf" not in answer.err
        assert "image_conf" not in answer.err
        assert answer.err.count("\n") == 1
        assert not Path("p.csv").exists()
