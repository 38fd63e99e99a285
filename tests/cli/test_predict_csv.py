"""netpart predict for CSV files: the columns of labels may be absent, and are not read."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf import text_format

from netpart.proto.job_pb2 import StoreProto
from netpart.trained.unlabelled_csv import omit_labels
from tests.cli.conftest import Netpart

JOB = """name: "pets" train_steps: 0 dtype: FLOAT64
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: kCSVInput store_conf { path: "pets.csv" batchsize: 2 %s } }
  layer { name: "ip" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 3 }
    param { init { type: kGaussian } } param { init { type: kConstant } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "ip" srclayers: "data" }
}
"""
NAMED = 'header: true skip_column: "id" label_column: "kind" classes_file: "kinds.txt"'
ROWS = [("a", "0.5", "2", "dog"), ("b", "-1", "3.5", "cat"), ("c", "4", "0.25", 'the "hen", red')]


def write_rows(name: str, columns: str, header: bool = True) -> None:
    """Write ``columns`` of the rows, by their letters: i(d), x, y, k(ind), u(nknown kind)."""
    names = {"i": "id", "x": "x", "y": "y", "k": "kind", "u": "kind"}
    lines = [",".join(names[each] for each in columns)] * header
    for ident, x, y, kind in ROWS:
        quoted = '"{}"'.format(kind.replace('"', '""'))
        cells = {"i": ident, "x": x, "y": y, "k": quoted, "u": "cow"}
        lines.append(",".join(cells[each] for each in columns))
    Path(name).write_text("\n".join(lines) + "\n")


def predict(netpart: Netpart, name: str) -> str:
    """The file of a prediction for ``name``."""
    answer = netpart("predict", "job.conf", "--launcher", "threads", "--input", name, "-o", "out.csv")
    assert answer.code == 0, answer.err
    return Path("out.csv").read_text()


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_columns_by_name_may_be_absent(netpart: Netpart) -> None:
    write_rows("pets.csv", "ixyk")
    Path("job.conf").write_text(JOB % NAMED)
    assert netpart("run", "job.conf", "--launcher", "threads").code == 0
    assert netpart("predict", "job.conf", "--launcher", "threads", "-o", "own.csv").code == 0
    own = Path("own.csv").read_text()
    assert own.startswith("row,class,name,probability\n0,")
    assert {line.split(",", 2)[1] for line in own.splitlines()[1:]} <= {"0", "1", "2"}
    write_rows("new.csv", "ixy")
    Path("kinds.txt").rename("kept.txt")  # the names alone need it
    bare = predict(netpart, "new.csv")
    assert bare.startswith("row,class,probability\n0,")
    Path("kept.txt").rename("kinds.txt")
    for columns in ("ixy", "xy", "uxy"):
        write_rows("new.csv", columns)
        assert predict(netpart, "new.csv") == own
    write_rows("new.csv", "xy", header=False)
    answer = netpart("predict", "job.conf", "--launcher", "threads", "--input", "new.csv", "-o", "out.csv")
    assert answer.err.startswith("error: --input: ")
    assert "new.csv:1: expected a header, as header: true of the job says, got values" in answer.err


@pytest.mark.parametrize(("conf", "columns", "skipped"), [
    ("", "xy", []),
    ("", "uxy", ["1"]),
    ("skip_column: '1'", "ixy", ["1"]),
    ("skip_column: '1'", "iuxy", ["1", "2"]),
    ("label_column: '1' skip_column: '4'", "xyi", ["3"]),
    ("label_column: '1' skip_column: '4'", "uxyi", ["4", "1"]),
    ("target: true label_column: '3'", "xy", []),
    ("target: true label_column: '3'", "xyu", ["3"]),
    ("has_label: false", "xy", []),
])  # fmt: skip
def test_columns_by_number_may_be_absent(conf: str, columns: str, skipped: list[str]) -> None:
    """The number of columns decides. Numbers of a job count its label, so they are lower in a file without it."""
    write_rows("new.csv", columns, header=False)
    store = text_format.Parse(conf, StoreProto())
    omit_labels(store, Path("new.csv"), 2)
    assert (list(store.skip_column), store.has_label) == (skipped, False)
    assert not any(store.HasField(name) for name in ("classes_file", "target"))
    assert not store.label_column


def test_errors_of_the_input_name_it_and_its_line(netpart: Netpart) -> None:
    write_rows("pets.csv", "ixyk")
    Path("job.conf").write_text(JOB % NAMED)
    assert netpart("run", "job.conf", "--launcher", "threads").code == 0
    Path("bad.csv").write_text("id,x,y\na,1,2\nb,1,2\nc,1,two\n")
    Path("wide.csv").write_text("id,x,y,z\na,1,2,3\n")
    Path("binary.csv").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    for name, message in (
        ("none.csv", "none.csv: expected a data file, got nothing there; correct --input"),
        ("bad.csv", "bad.csv:4: column 3: expected a number, got 'two'"),
        ("wide.csv", "expected rows of shape (2,), as data reads them, got (3,) in wide.csv"),
        ("binary.csv", "binary.csv: expected "),
    ):
        answer = netpart("predict", "job.conf", "--launcher", "threads", "--input", name, "-o", "p.csv")
        assert answer.err.startswith("error: --input: "), answer.err
        assert message in answer.err
        assert "job.conf" not in answer.err
        assert answer.err.count("\n") == 1
