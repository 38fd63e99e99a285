"""Positions point at the field's name, however the text is laid out."""

from __future__ import annotations

import re

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given
from hypothesis import strategies as st

from netpart.errors import FieldPath
from netpart.proto.fields import message_descriptor
from netpart.proto.job_pb2 import JobProto
from netpart.proto.positions import field_positions
from netpart.proto.reader import read_job_text

Item = tuple[str, FieldPath | None]
"""A piece of text and the field whose position it has, if any."""


@st.composite
def fillers(draw: st.DrawFn, least: int = 0) -> str:
    """Whitespace and comments that may stand between two tokens."""
    pieces = st.sampled_from([" ", "\t", "\n", "\r\n", ' # a { comment: "x\n', "#\n"])
    return "".join(draw(st.lists(pieces, min_size=least, max_size=3)))


def strings(text: str) -> st.SearchStrategy[list[Item]]:
    """A string in either quotes, or in two adjacent pieces."""
    whole: list[list[Item]] = [[(f'"{text}"', None)], [(f"'{text}'", None)]]
    return st.sampled_from([*whole, [(f'"{text[:1]}"', None), (f"'{text[1:]}'", None)]])


@st.composite
def scalar(draw: st.DrawFn, path: FieldPath, value: st.SearchStrategy[list[Item]]) -> list[Item]:
    name = next(step for step in reversed(path) if isinstance(step, str))
    return [(name, path), (":", None), *draw(value), *separator(draw)]


@st.composite
def numbers(draw: st.DrawFn, path: FieldPath) -> list[Item]:
    """A repeated number: several fields, or one list, or both."""
    items: list[Item] = []
    count = 0
    for length in draw(st.lists(st.sampled_from([None, 0, 1, 3]), max_size=3)):
        if length is None:
            items += [(str(path[-1]), (*path, count)), (":", None), ("-7", None)]
        else:
            listed: list[Item] = []
            for k in range(length):
                listed += [("3", (*path, count + k)), (",", None)]
            items += [(str(path[-1]), None), (":", None), ("[", None), *listed[:-1], ("]", None)]
        count += 1 if length is None else length
        items += separator(draw)
    return items


def separator(draw: st.DrawFn) -> list[Item]:
    return draw(st.sampled_from([[], [(",", None)], [(";", None)]]))


def bracketed(draw: st.DrawFn, inner: list[Item]) -> list[Item]:
    opening, closing = draw(st.sampled_from([("{", "}"), ("<", ">")]))
    colon: list[Item] = [(":", None)] if draw(st.booleans()) else []
    return [*colon, (opening, None), *inner, (closing, None), *separator(draw)]


@st.composite
def layers(draw: st.DrawFn, path: FieldPath) -> list[Item]:
    fields = [
        draw(scalar((*path, "name"), strings("conv"))),
        draw(numbers((*path, "shift"))),
        [("relu_conf", (*path, "relu_conf")), *bracketed(draw, draw(scalar((*path, "relu_conf", "negative_slope"),
                                                                           st.just([("-1.5e-3", None)]))))],
        draw(scalar((*path, "type"), st.just([("kReLU", None)]))),
    ]  # fmt: skip
    return [item for field in draw(st.permutations(fields)) for item in field]


@st.composite
def jobs(draw: st.DrawFn) -> list[Item]:
    net: FieldPath = ("neuralnet",)
    inner: list[Item] = []
    for i in range(draw(st.integers(0, 3))):
        inner += [("layer", (*net, "layer", i)), *bracketed(draw, draw(layers((*net, "layer", i))))]
    head = draw(scalar(("name",), strings("a # b")))
    return [*head, ("neuralnet", net), *bracketed(draw, inner), ("seed", ("seed",)), (":", None), ("5", None)]


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, dict[FieldPath, tuple[int, int]]]:
    """The text of a job, and where each field's name was put."""
    text, expected = draw(fillers()), {}
    for token, path in draw(jobs()):
        words = re.search(r"[\w.+-]$", text) and re.match(r"[\w.+-]", token)
        text += draw(fillers(least=1 if words else 0))
        if path is not None:
            expected[path] = (text.count("\n") + 1, len(text) - text.rfind("\n"))
        text += token
    return text + draw(fillers()), expected


@given(texts())
def test_positions_point_at_names(case: tuple[str, dict[FieldPath, tuple[int, int]]]) -> None:
    text, expected = case
    job = read_job_text(text, "job.conf")
    for path, (line, column) in expected.items():
        found = job.locate(path)
        assert found is not None, path
        assert (found.line, found.column) == (line, column), path


def test_adjacent_strings_and_a_list_of_blocks() -> None:
    text = 'neuralnet { layer: [{ name: "a" \'b\' }, <name: "c">],\nlayer { name: "d" } }'
    found = field_positions(text, "job.conf", message_descriptor(JobProto))
    places = {path: (at.line, at.column) for path, at in found.items()}
    net = ("neuralnet", "layer")
    assert places == {
        ("neuralnet",): (1, 1), net: (1, 21), (*net, 0): (1, 21), (*net, 0, "name"): (1, 23), (*net, 1): (1, 40),
        (*net, 1, "name"): (1, 41), (*net, 2): (2, 1), (*net, 2, "name"): (2, 9),
    }  # fmt: skip
    assert read_job_text(text).proto.neuralnet.layer[0].name == "ab"


def test_extensions() -> None:
    file = descriptor_pb2.FileDescriptorProto(name="tests/user.proto", package="user")
    file.message_type.add(name="Conf").extension_range.add(start=100, end=200)
    inner = file.message_type.add(name="Inner")
    inner.field.add(name="x", number=1, type="TYPE_INT32", label="LABEL_REPEATED")
    file.extension.add(
        name="inner", number=101, type="TYPE_MESSAGE", type_name=".user.Inner", extendee=".user.Conf",
        label="LABEL_OPTIONAL",
    )  # fmt: skip
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    conf = message_factory.GetMessageClass(pool.FindMessageTypeByName("user.Conf"))
    found = field_positions("\n [ user . inner ] { x: 1 x: 2 }", "job.conf", message_descriptor(conf))
    assert {path: at.column for path, at in found.items()} == {
        ("[user.inner]",): 2, ("[user.inner]", "x"): 21, ("[user.inner]", "x", 0): 21, ("[user.inner]", "x", 1): 26,
    }  # fmt: skip
