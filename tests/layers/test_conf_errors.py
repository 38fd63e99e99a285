"""A layer that says what its type does not read is refused: the conf of another type, params where there are none."""

from __future__ import annotations

from pathlib import Path

import pytest

import netpart
from netpart.errors import ConfigError, JobError
from netpart.graph.partition import job_field_errors, partition_job
from netpart.layers import layer_class, layer_type_names
from netpart.layers.layer import Layer
from netpart.proto.fields import message_fields
from netpart.proto.job_pb2 import LayerProto
from netpart.proto.reader import read_job, read_job_text
from netpart.resources import zoo_folder
from tests.cli.conftest import JOB
from tools.layer_page import confs_of
from tools.proto_comments import known

POOL = """train_steps: 1
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.05 } }
neuralnet {
  layer { name: "data" type: kSyntheticInput store_conf { batchsize: 8 shape: [3, 12, 12] } }
  layer { name: "pool" type: kPooling srclayers: "data" convolution_conf { kernel: 4 } param { name: "w" } }
  layer { name: "fc" type: kInnerProduct srclayers: "pool" innerproduct_conf { num_output: 10 }
    dropout_conf { dropout_ratio: 0.5 } param { init { type: kConstant } } param { init { type: kConstant } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc" srclayers: "data" }
}
"""


def faults(text: str) -> list[tuple[str, str]]:
    """What is wrong with the job ``text``, as the Python API says it: place and words."""
    with pytest.raises(JobError) as raised:
        netpart.partition(read_job_text(text, "job.conf"))
    return [(f"{fault.position}", fault.describe()) for fault in raised.value.faults]


def test_all_that_is_foreign_is_refused_with_its_place() -> None:
    conf, param, dropout = faults(POOL)
    assert conf == (
        "job.conf:5:57",
        "pool: expected pooling_conf only, as kPooling reads no other conf, got convolution_conf; "
        "it belongs to kConvolution or kTransposedConvolution: remove it, or write its fields in pooling_conf",
    )
    assert param == ("job.conf:5:88", "pool: expected no param, as kPooling has no parameters, got 1; remove it")
    assert dropout[0] == "job.conf:7:5"
    assert "got dropout_conf; it belongs to kDropout: remove it" in dropout[1]


def test_a_phase_that_is_not_played_is_looked_at_too() -> None:
    text = POOL.replace("convolution_conf { kernel: 4 } param", "param").replace('param { name: "w" }', "")
    text = text.replace("dropout_conf { dropout_ratio: 0.5 }", "")
    netpart.partition(read_job_text(text))
    test = 'layer { name: "r" type: kReLU include: kTest srclayers: "fc" lrn_conf { } }'
    ((_, told),) = faults(text.replace("neuralnet {", f"neuralnet {{ {test}"))
    assert told.startswith(
        "r: expected relu_conf only, as kReLU reads no other conf, got lrn_conf; it belongs to kLRN: "
    )


@pytest.mark.parametrize(
    ("layer", "says"),
    [
        ('type: kSTanh srclayers: "data" relu_conf { }', "expected no conf, as kSTanh reads none, got relu_conf"),
        ('type: kFlatten srclayers: "data" reshape_conf { shape: 3 }', "expected no conf, as kFlatten reads none"),
        ('type: kSTanh srclayers: "data" param { } param { }', "expected no param, as kSTanh has no parameters, got 2"),
    ],
)
def test_types_without_a_conf(layer: str, says: str) -> None:
    found = faults(
        POOL.replace('name: "pool" type: kPooling', f'name: "x" {layer} }} layer {{ name: "p" type: kPooling')
    )
    assert next(told for _, told in found if told.startswith("x: ")).startswith(f"x: {says}")


def test_what_a_package_reads_it_declares() -> None:
    class Mine(Layer):
        """A type of somebody else."""

        def infer(self):  # type: ignore[no-untyped-def]
            return ()

        needs = forward = None  # type: ignore[assignment]

    from netpart.layers.conf_errors import find_conf_errors

    conf = LayerProto(name="m", user_type="Mine")
    conf.norm_conf.groups = 2
    (error,) = find_conf_errors(Mine, "Mine", conf)
    assert 'declare confs = ("norm_conf",) in the class ' in error.hint
    Mine.confs = ("norm_conf",)
    assert not list(find_conf_errors(Mine, "Mine", conf))


def test_every_type_declares_the_confs_that_the_language_gives_it() -> None:
    said = known()
    for name in layer_type_names():
        assert set(layer_class(name).confs) == set(confs_of(name, said)), name
        assert set(layer_class(name).confs) <= set(message_fields(LayerProto)), name


def test_all_jobs_of_the_zoo_pass() -> None:
    jobs = [*zoo_folder().rglob("*.conf"), *(Path(__file__).parents[1] / "data").rglob("*.conf")]
    assert len(jobs) > 60
    for path in jobs:
        assert not job_field_errors(read_job(path).proto), path


def test_surplus_params_of_a_type_with_parameters_are_refused() -> None:
    text = JOB.replace('    name: "ip"\n', '    name: "ip"\n    param { name: "c" init { type: kConstant } }\n')
    with pytest.raises(ConfigError, match="ip: expected 2 param blocks"):
        partition_job(read_job_text(text).proto, 1)
