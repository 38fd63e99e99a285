"""kCSVInput with columns by name and number, several labels, words as labels and quoted fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format

from netpart.errors import ConfigError, DataError, MissingData
from netpart.layers import layer_class
from netpart.layers.inputs.csv_input import CSVInput
from netpart.proto.job_pb2 import LayerProto
from netpart.spec import INT, Spec

TABLE = """id,width,"species, common",height,grade
"a, 1",1.5,"tit, blue",2,7
b,"3",owl,4.25,8
"c
2",5,"tit, blue",6,9
d,7,"a ""gull""\",8,7
"""
WORDS = 'header: true skip_column: "id" skip_column: "5" label_column: "species, common" classes_file: "classes.txt"'
TRAIN, TEST = 1, 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.csv").write_text(TABLE)
    return tmp_path


def layer(folder: Path, conf: str, path: str = "a.csv") -> CSVInput:
    text = f'name: "it" type: kCSVInput store_conf {{ path: "{path}" batchsize: 4 {conf} }}'
    made = layer_class("kCSVInput")(text_format.Parse(text, LayerProto()), (), folder=folder)
    assert isinstance(made, CSVInput)
    return made


def first_rows(made: CSVInput, phase: int = TRAIN) -> tuple[Any, Any]:
    """Data and labels of step 0."""
    data = np.full(made.output.shape, np.nan)
    label = np.full(made.outputs[-1].shape, -7, np.int32) if made.labelled else None
    made.open(4, 1, phase, np.float64).read(0, 0, 4, data, label)
    return data, label


def test_words_are_classes_in_their_order(folder: Path) -> None:
    made = layer(folder, WORDS)
    assert made.outputs == (Spec((4, 2)), Spec((4,), INT))
    data, label = first_rows(made)
    assert data.tolist() == [[1.5, 2], [3, 4.25], [5, 6], [7, 8]]
    assert label.tolist() == [2, 1, 2, 0]
    assert (folder / "classes.txt").read_text() == 'a "gull"\nowl\ntit, blue\n'


def test_classes_that_were_learned_are_kept(folder: Path) -> None:
    """Testing, a resumed run and other data have the numbers of the first training, whatever words they have."""
    first_rows(layer(folder, WORDS))
    (folder / "b.csv").write_text("id,width,s,height,grade\n" + "x,1,owl,2,3\n" * 3 + 'x,1,"tit, blue",2,3\n')
    other = WORDS.replace("species, common", "3")
    for phase in (TEST, TRAIN):
        assert first_rows(layer(folder, other, "b.csv"), phase)[1].tolist() == [1, 1, 1, 2]
    (folder / "b.csv").write_text("id,width,s,height,grade\n" + "x,1,hawk,2,3\n" * 4)
    with pytest.raises(DataError, match=r"b\.csv:2: column 3: expected one of the 3 words of the classes_file, got 'h"):
        first_rows(layer(folder, other, "b.csv"), TEST)


def test_testing_learns_no_classes(folder: Path) -> None:
    with pytest.raises(MissingData, match=r"classes\.txt: expected the classes, a word per line, got nothing there"):
        first_rows(layer(folder, WORDS), TEST)
    assert not (folder / "classes.txt").exists()


def test_more_classes_than_outputs_are_refused_before_a_run(folder: Path) -> None:
    layer(folder, WORDS).check_labels(3)
    with pytest.raises(DataError, match=r"classes\.txt: expected at most 2 classes, got 3"):
        layer(folder, WORDS).check_labels(2)
    layer(folder, WORDS).check_labels(2, 2)
    with pytest.raises(DataError, match=r"classes\.txt: expected at most 2 classes, got 3"):
        layer(folder, WORDS).check_labels(2, 1)


@pytest.mark.parametrize(("content", "said"), [("", "got 0 lines"), ("a\nb\na\n", "got 3 lines with 2 words")])
def test_a_file_of_classes_that_is_none(content: str, said: str, folder: Path) -> None:
    (folder / "classes.txt").write_text(content)
    with pytest.raises(DataError, match=f"expected different words, one per line, {said}"):
        first_rows(layer(folder, WORDS))


def test_several_labels_by_name_and_number(folder: Path) -> None:
    (folder / "n.csv").write_text("a;x;b;c\n" + "".join(f"{i};{i}.5;{i + 1};{i + 2}\n" for i in range(4)))
    made = layer(folder, 'separator: ";" header: true label_column: "c" label_column: "1"', "n.csv")
    assert made.outputs == (Spec((4, 2)), Spec((4, 2), INT))
    data, label = first_rows(made)
    assert data.tolist() == [[i + 0.5, i + 1] for i in range(4)]
    assert label.tolist() == [[i + 2, i] for i in range(4)]


def test_the_first_column_that_is_not_skipped_is_the_label(folder: Path) -> None:
    (folder / "n.csv").write_text("".join(f"k{i},{i},{i}.5\n" for i in range(4)))
    data, label = first_rows(layer(folder, 'skip_column: "1"', "n.csv"))
    assert (data.tolist(), label.tolist()) == ([[i + 0.5] for i in range(4)], [0, 1, 2, 3])
    data, none = first_rows(layer(folder, 'skip_column: "1" has_label: false', "n.csv"))
    assert (data.tolist(), none) == ([[i, i + 0.5] for i in range(4)], None)


@pytest.mark.parametrize(
    ("conf", "said"),
    [
        (
            'header: true label_column: "9"',
            "expected a column of the file: 1 to 5, or one of 'id', 'width', '",
        ),
        (
            'header: true label_column: "depth"',
            "expected a column of the file: 1 to 5, or one of 'id', 'width', '",
        ),
        ('header: true label_column: "1" skip_column: "1"', "expected each column once"),
        ('header: true label_column: "1" has_label: false', "expected no label_column, got has_label: false"),
    ],
)
def test_a_column_that_is_not_there_is_refused(conf: str, said: str, folder: Path) -> None:
    with pytest.raises(ConfigError, match=said):
        layer(folder, conf)


@pytest.mark.parametrize("name", ["4", "0", "height"])
def test_a_column_of_a_file_without_names_is_a_number(name: str, folder: Path) -> None:
    (folder / "n.csv").write_text("1,2,3\n")
    with pytest.raises(
        ConfigError, match=f"expected a number from 1 to 3, got '{name}'; no names without header: true"
    ):
        layer(folder, f'label_column: "{name}"', "n.csv")


def test_columns_that_do_not_fit_the_shape_are_refused(folder: Path) -> None:
    with pytest.raises(DataError, match=r"a\.csv:2: expected 3 for shape \(3,\), got 2 columns of values"):
        layer(folder, f"{WORDS} shape: 3").open(4, 1, TRAIN)


def test_an_error_after_a_quoted_line_feed_names_its_line(folder: Path) -> None:
    (folder / "a.csv").write_text(TABLE.replace("d,7", "d,x"))
    with pytest.raises(DataError, match=r"a\.csv:6: column 2: expected a number, got 'x'"):
        first_rows(layer(folder, WORDS))


def test_names_are_quoted_in_messages_and_each_hint_is_there_once(tmp_path: Path) -> None:
    """A name with a comma is one name; one in other letters is suggested."""
    (tmp_path / "t.csv").write_text('a,"b, m",Kind\n1,2,dog\n')

    with pytest.raises(ConfigError, match=r"or one of 'a', 'b, m', 'Kind', got 'kind'; did you mean 'Kind'\?"):
        layer(tmp_path, 'header: true label_column: "kind"', "t.csv")
    with pytest.raises(DataError) as found:
        first_rows(layer(tmp_path, 'header: true label_column: "Kind"', "t.csv"))
    said = str(found.value)
    assert said.count("name a classes_file") == 1
    assert "column 3: expected a label, a whole number from 0, got 'dog'; correct it or delete the line" in said
