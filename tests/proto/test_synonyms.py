"""The table of other frameworks' words names what there is."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from google.protobuf.descriptor import Descriptor

from netpart.cli.main import VERBS
from netpart.proto import synonyms as words
from netpart.proto.fields import message_descriptor, message_fields
from netpart.proto.job_pb2 import JobProto
from netpart.proto.layer_pb2 import LayerProto, LayerType
from netpart.proto.override import Override
from netpart.proto.reader import read_job_text
from netpart.resources import zoo_folder

TABLES: dict[str, Mapping[str, object]] = {
    "FIELDS": words.FIELDS,
    "VERBS": words.VERBS,
    "VERB_NOTES": words.VERB_NOTES,
    "ZOO": words.ZOO,
    **words.VALUES,
}


@pytest.mark.parametrize("name", TABLES)
def test_words_are_written_as_they_are_compared(name: str) -> None:
    assert TABLES[name]
    assert all(word == words.plain_word(word) for word in TABLES[name])


@pytest.mark.parametrize("name", words.VALUES)
def test_hints_name_values_that_exist(name: str) -> None:
    text = " ".join(words.VALUES[name].values())
    known = {*LayerType.keys(), *(v for n in words.VALUES if n != "LayerType" for v in names_of(n))}
    assert set(re.findall(r"\bk[A-Z]\w+", text)) <= known


def names_of(enum: str) -> list[str]:
    fields = [f for block in blocks() for f in block.fields if f.enum_type and f.enum_type.name == enum]
    found = fields[0].enum_type
    assert found is not None
    return list(found.values_by_name)


def blocks() -> list[Descriptor]:
    found = [message_descriptor(JobProto)]
    for block in found:
        found += [f.message_type for f in block.fields if f.message_type and f.message_type not in found]
    return found


@pytest.mark.parametrize("word", [word for word, (place, _) in words.FIELDS.items() if place])
def test_a_field_is_where_the_table_says(word: str) -> None:
    place = words.FIELDS[word][0].removeprefix("data.")
    names = [re.sub(r"\[\d+\]", "", step) for step in place.split(".")]
    known = {f.name for block in blocks() for f in block.fields}
    assert set(names) <= known
    assert names[0] in {*message_fields(JobProto), *message_fields(LayerProto)} or len(names) == 1


def test_verbs_and_jobs_exist() -> None:
    assert set(words.VERBS.values()) <= set(VERBS)
    assert all((zoo_folder() / f"{job}.conf").is_file() for job in words.ZOO.values())
    assert not set(words.VERBS) & set(VERBS)


def test_no_word_of_another_framework_is_a_field_already() -> None:
    with pytest.raises(Exception, match="did you mean train_steps"):
        Override("max_steps=3").apply(read_job_text("").proto)
