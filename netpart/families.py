"""Families of things that a job or an option chooses by name, and the module of each member that netpart brings.

A new member takes a file and one line here; a planner has its line in plan/search/planners.py, next to the planners
that are made from schemes. Packages add members without a line here, as entry points of the group
``netpart.FAMILY`` in the same form, ``module:attribute``; docs/extending.md has an example. Members are named by
text and not imported, so that a command loads only the ones that it uses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from netpart.registry import Registry

if TYPE_CHECKING:
    from netpart.initialisers.methods import Initialiser
    from netpart.launch.report.events import ListenerMaker
    from netpart.launch.teams.team import TeamMaker
    from netpart.plan.schemes.placing import Scheme
    from netpart.plan.search.planners import Planner
    from netpart.proto.updater_pb2 import LRGenProto
    from netpart.transport.transport import TransportMaker
    from netpart.updaters.base import Updater
    from netpart.updaters.schedule import Schedule

UPDATERS: Registry[type[Updater]] = Registry(
    "updater type",
    "netpart.updaters",
    {
        "kSGD": "netpart.updaters.sgd:SGD",
        "kNesterov": "netpart.updaters.nesterov:Nesterov",
        "kAdaGrad": "netpart.updaters.adagrad:AdaGrad",
        "kRMSProp": "netpart.updaters.rmsprop:RMSProp",
        "kAdaDelta": "netpart.updaters.adadelta:AdaDelta",
        "kAdam": "netpart.updaters.adam:Adam",
        "kAdamMax": "netpart.updaters.adammax:AdamMax",
        "kAdamW": "netpart.updaters.adamw:AdamW",
    },
)
"""Update rules by the name of their UpdaterType; those of packages by the name that jobs give as ``user_type``."""

RATES: Registry[Callable[[LRGenProto], Schedule]] = Registry(
    "learning-rate method",
    "netpart.rates",
    {
        "kFixed": "netpart.updaters.schedule:fixed_rate",
        "kLinear": "netpart.updaters.schedule:linear_rate",
        "kExponential": "netpart.updaters.schedule:exponential_rate",
        "kInverseT": "netpart.updaters.schedule:inverse_t_rate",
        "kInverse": "netpart.updaters.schedule:inverse_rate",
        "kStep": "netpart.updaters.schedule:step_rate",
        "kFixedStep": "netpart.updaters.schedule:fixed_step_rate",
        "kCosine": "netpart.updaters.schedule:cosine_rate",
        "kOneCycle": "netpart.updaters.schedule:one_cycle_rate",
        "kPlateau": "netpart.updaters.plateau:plateau_rate",
    },
)
"""Learning-rate schedules by the name of their ChangeMethod; those of packages by the job's ``user_type``."""

INITIALISERS: Registry[Initialiser] = Registry(
    "initialiser",
    "netpart.initialisers",
    {
        "kConstant": "netpart.initialisers.methods:CONSTANT",
        "kGaussian": "netpart.initialisers.methods:GAUSSIAN",
        "kUniform": "netpart.initialisers.methods:UNIFORM",
        "kGaussianSqrtFanIn": "netpart.initialisers.methods:GAUSSIAN_SQRT_FAN_IN",
        "kUniformSqrtFanIn": "netpart.initialisers.methods:UNIFORM_SQRT_FAN_IN",
        "kUniformSqrtFanInOut": "netpart.initialisers.methods:UNIFORM_SQRT_FAN_IN_OUT",
    },
)
"""Initialisers by the name of their InitMethod; those of packages by the name that jobs give as ``user_type``."""

SCHEMES: Registry[Scheme] = Registry(
    "scheme",
    "netpart.schemes",
    {
        "SEQUENTIAL": "netpart.plan.schemes.sequential:sequential_scheme",
        "NAIVE": "netpart.plan.schemes.naive:naive_scheme",
        "GATHER_SCATTER": "netpart.plan.schemes.gather_scatter:gather_scatter",
        "ALTSPLIT": "netpart.plan.schemes.altsplit:altsplit",
        "COLUMN_ROW": "netpart.plan.schemes.column_row:column_row",
        "DATA": "netpart.plan.schemes.data:data_parallel_scheme",
        "ONE_WEIRD_TRICK": "netpart.plan.schemes.one_weird_trick:one_weird_trick",
        "PIPELINE": "netpart.plan.schemes.pipeline:pipeline_scheme",
        "OPTIMAL": "netpart.plan.optimal.optimal_scheme:optimal_scheme",
    },
)
"""Functions that place all layers of a net, by the job's ``scheme``; those of packages by the job's ``user_scheme``."""

PLANNERS: Registry[Planner] = Registry("planner", "netpart.planners")
"""Planners by the name of their row in ``netpart plan``; netpart.plan.search.planners registers those of netpart."""

TRANSPORTS: Registry[TransportMaker] = Registry(
    "transport",
    "netpart.transports",
    {
        "zeromq": "netpart.transport.zeromq:open_transport",
        "shm": "netpart.transport.shm:open_transport",
        "cuda-ipc": "netpart.transport.cuda_ipc:open_transport",
    },
    source="--transport auto chooses one; ",
)
"""Transports, through which processes exchange tensors, by the name that ``--transport`` takes."""

LAUNCHERS: Registry[TeamMaker] = Registry(
    "launcher",
    "netpart.launchers",
    {
        "local": "netpart.launch.teams.processes:local_team",
        "threads": "netpart.launch.teams.threads:thread_team",
        "mpi": "netpart.launch.teams.mpi:mpi_team",
        "join": "netpart.launch.teams.meeting:join_team",
        "ray": "netpart.launch.teams.ray_team:ray_team",
    },
)
"""Launchers, which start the workers, by the name that ``--launcher`` takes."""

LISTENERS: Registry[ListenerMaker] = Registry(
    "listener",
    "netpart.listeners",
    {
        "events": "netpart.launch.report.event_lines:event_lines",
        "tensorboard": "netpart.launch.report.tensorboard_events:tensorboard_events",
        "page": "netpart.live.page_listener:page_listener",
    },
)
"""Listeners, which receive the events of a run, by the name that ``--listener`` takes."""
