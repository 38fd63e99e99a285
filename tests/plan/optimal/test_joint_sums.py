"""Joint sums: layers that share a parameter, however many, sum its gradients as the ledger counts them."""

from __future__ import annotations

from itertools import product

import pytest

from netpart.plan.optimal.layer_tables import LayerTables
from netpart.plan.optimal.plan_prices import PricedJob
from netpart.plan.optimal.plan_space import PlanSpace, build_plan_space
from netpart.plan.price.devices import equal_devices
from netpart.plan.price.ledger import compute_ledger
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job_text

CHAIN = """
  name: "shared"
  train_one_batch {{ alg: kBP }}
  updater {{ type: kSGD learning_rate {{ type: kFixed base_lr: 0.1 }} }}
  neuralnet {{
  layer {{ name: "data" type: kSyntheticInput store_conf {{ batchsize: 4 shape: 8 }} }}
  {products}
  layer {{ name: "loss" type: kSoftmaxLoss srclayers: "{last}" srclayers: "data" }} }}
"""
PRODUCT = """
  layer {{ name: "fc{n}" type: kInnerProduct srclayers: "{source}"
    innerproduct_conf {{ num_output: 8 bias_term: false }}
    param {{ {param} }} }}
"""


def shared_chain(count: int) -> JobProto:
    """``count`` inner products, one after another, with one weight."""
    own = 'name: "w" init { type: kUniformSqrtFanIn }'
    products = "".join(
        PRODUCT.format(n=n, source=f"fc{n - 1}" if n else "data", param='share_from: "w"' if n else own)
        for n in range(count)
    )
    return read_job_text(CHAIN.format(products=products, last=f"fc{count - 1}")).proto


def space_of(count: int) -> tuple[PricedJob, PlanSpace]:
    """The plans of ``shared_chain`` on two workers."""
    priced = PricedJob(shared_chain(count), None, equal_devices(2, 1e9), {})
    return priced, build_plan_space(LayerTables(priced.net(), priced.setting()))


def test_three_layers_sum_what_the_ledger_counts() -> None:
    priced, space = space_of(3)
    joint = space.joint_sums[0]
    assert len(joint.scope) == 3
    base = dict.fromkeys(space.layers.variables, 0)
    for choices in product(*(range(0, size, 2) for size in joint.sent.shape)):
        assignment = base | dict(zip(joint.scope, choices, strict=True))
        ledger = compute_ledger(priced.partition(space.plan_choices(assignment)))
        assert space.moved_bytes(assignment) == ledger.total


@pytest.mark.parametrize(("count", "proved"), [(2, True), (3, True), (4, False)])
def test_a_bound_is_proved_for_up_to_three_layers(count: int, proved: bool) -> None:
    _, space = space_of(count)
    assert space.proved == proved
    assert len(space.joint_sums) == proved
