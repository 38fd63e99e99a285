"""The table of what random jobs are made of: per layer type and option, the values that are drawn.

The generator (``makers.py``, ``nets.py``) takes every value from here, and the law (``test_workers.py``) holds that
each was drawn. ``None`` leaves a field unset, ``ANY`` is a value that fits the shapes. ``test_options.py`` holds that
no type and no field of the language is missing: what is not drawn is in ``OMITTED``, with the reason.
"""

from __future__ import annotations

from typing import Any, Final

from netpart.families import UPDATERS
from netpart.proto.job_pb2 import Collectives, Phase, Schedule, Sharding
from netpart.proto.neuron_pb2 import ActivationProto, PoolingProto, SoftmaxLossProto, UpsamplingProto
from netpart.proto.param_pb2 import InitMethod
from netpart.proto.updater_pb2 import ChangeMethod, UpdaterType

ANY: Final = "any"
Options = dict[str, tuple[Any, ...]]
"""Values by the path of a field; ``type`` are the names under which a layer type is known, ``param`` numbers of param
blocks."""

BOTH = (False, True)
METHODS = (PoolingProto.MAX, PoolingProto.AVG)


def per_axis(conf: str, field: str, values: tuple[int, ...]) -> Options:
    """A field for all spatial axes, and those that override it on one; unset in some jobs."""
    return {f"{conf}.{field}{axis}": (*values, None) for axis in ("", "_x", "_y", "_z")}


def windows(conf: str) -> Options:
    """Strides above kernels leave gaps in what is read; pads above kernels make windows of nothing but padding."""
    found = {f"{conf}.spatial_axes": (1, 2, 3)}
    found |= per_axis(conf, "kernel", (1, 2, 3)) | per_axis(conf, "stride", (2, 1, 3))
    return found | per_axis(conf, "pad", (0, 1, 2)) | per_axis(conf, "pad_end", (1, 0, 2))


CONVOLUTION = windows("convolution_conf") | per_axis("convolution_conf", "dilation", (1, 2, 2)) | {
    "convolution_conf.groups": (1, 2, None),
}  # fmt: skip
NORM: Options = {"norm_conf.epsilon": (0.1, 0.3)}

LAYERS: dict[str, Options] = {
    "kConvolution": {
        **CONVOLUTION, "type": ("kConvolution", "kCConvolution", "kCudnnConv"), "param": (2, 1),
        "convolution_conf.num_filters": (2, 4, 3, 1),
    },
    "kTransposedConvolution": {
        **CONVOLUTION, "convolution_conf.num_filters": (2, 4, 3, 1), "convolution_conf.output_pad": (0, 1, None),
        "param": (2, 1),
    },
    "kPooling": {
        **windows("pooling_conf"), "type": ("kPooling", "kCPooling", "kCudnnPool"), "pooling_conf.pool": METHODS,
        "pooling_conf.ceil_mode": BOTH, "pooling_conf.count_include_pad": (None, False, True),
    },
    "kGlobalPooling": {"globalpooling_conf.pool": METHODS},
    "kUpsampling": {
        "upsampling_conf.factor": (2, 3, 1, None),
        "upsampling_conf.method": (UpsamplingProto.LINEAR, UpsamplingProto.NEAREST, None),
    },
    "kInnerProduct": {
        "innerproduct_conf.num_output": (4, 3, 2, 1, 6), "innerproduct_conf.bias_term": BOTH,
        "innerproduct_conf.transpose": BOTH, "innerproduct_conf.axis": (3, 1, 2, None),
    },
    "kLRN": {
        "type": ("kLRN", "kCudnnLRN"), "lrn_conf.local_size": (3, 5, 1, None), "lrn_conf.alpha": (0.7, None),
        "lrn_conf.beta": (0.5, None), "lrn_conf.knorm": (1.5, None),
    },
    "kLayerNorm": {**NORM, "norm_conf.axis": (-1, None, 1, 2), "param": (0, 1, 2)},
    "kRMSNorm": {**NORM, "norm_conf.axis": (-1, None, 1, 2), "param": (0, 1)},
    "kGroupNorm": {**NORM, "norm_conf.groups": (1, 2, None), "param": (0, 1, 2)},
    "kBM": {
        "type": ("kBM", "kCudnnBM"), "bm_conf.epsilon": (0.3, 0.1), "bm_conf.momentum": (0.9, 0.5, None),
        "bm_conf.frozen": BOTH, "param": (0, 1, 2, 3, 4),
    },
    "kAttention": {
        "attention_conf.causal": BOTH, "attention_conf.scale": (None, 2.0), "attention_conf.pad_value": (None, 1),
        "attention_conf.dropout_ratio": (None, 0.3, 0.2, None),
    },
    "kMatmul": {"matmul_conf.transpose_a": (False, True), "matmul_conf.transpose_b": (False, False, True, True)},
    "kPositions": {},
    "kRotary": {"rotary_conf.base": (10.0, None)},
    "kEmbedding": {"embedding_conf.vocab_size": (3, 5), "embedding_conf.feature_dim": (2, 3, 1)},
    "kClassToken": {},
    "kCrop": {"crop_conf.shape": (ANY,), "crop_conf.start": (ANY,)},
    "kGate": {},
    "kReLU": {"relu_conf.negative_slope": (None, 0.25)},
    "kSigmoid": {},
    "kSTanh": {},
    "kActivation": {
        "type": ("kActivation", "kCudnnActivation"),
        "activation_conf.type": (*ActivationProto.ActivationType.values(), None), "activation_conf.alpha": (None, 0.7),
    },
    "kDropout": {"dropout_conf.dropout_ratio": (0.3, None)},
    "kSoftmax": {
        "type": ("kSoftmax", "kCudnnSoftmax"), "softmax_conf.num_softmax_per_instance": (1, 2, None),
        "softmax_conf.axis": (None, 1, -1, 2, None, 2),
    },
    "kSplit": {"type": ("kSplit", "kBridgeSrc", "kBridgeDst")},
    "kAdd": {"type": ("kAdd", "kSum")},
    "kMul": {},
    "kMax": {},
    "kConcate": {"concate_conf.concate_dim": (1, 2, 3)},
    "kSlice": {"slice_conf.slice_dim": (0, 1, 3, 2), "slice_conf.num_slices": (2, 1, 3)},
    "kFlatten": {},
    "kReshape": {"reshape_conf.shape": (ANY,)},
    "kTranspose": {"transpose_conf.axis": (ANY,)},
    "kImagePreprocess": {
        "rgbimage_conf.cropsize": (3, 2, None), "rgbimage_conf.mirror": BOTH, "rgbimage_conf.scale": (0.5, None),
    },
    "kSoftmaxLoss": {
        "type": ("kSoftmaxLoss", "kCudnnSoftmaxLoss"), "softmaxloss_conf.topk": (1, 2, None),
        "softmaxloss_conf.scale": (0.5, None), "softmaxloss_conf.label_smoothing": (0.1, None),
        "softmaxloss_conf.bits": BOTH, "softmaxloss_conf.class_weight": (ANY,),
        "softmaxloss_conf.ignore_index": (1, None, 255),
        "softmaxloss_conf.normalisation": (SoftmaxLossProto.WEIGHTS, SoftmaxLossProto.ROWS, None),
    },
    "kEuclideanLoss": {},
    "kBinaryLoss": {"loss_conf.scale": (0.5, None), "loss_conf.positive_weight": (0, 1, ANY)},
    "kL1Loss": {"loss_conf.scale": (0.5, None)},
    "kHuberLoss": {"loss_conf.scale": (0.5, None), "loss_conf.delta": (0.3, None)},
    "kAccuracy": {"argsort_conf.topk": (1, 2, None), "argsort_conf.ignore_index": (None, 1, 255)},
    "kConfusion": {"argsort_conf.topk": (None, 1), "argsort_conf.ignore_index": (None, 1, 255)},
    "kSyntheticInput": {
        "store_conf.batchsize": (ANY,), "store_conf.shape": (ANY,), "synthetic_conf.classes": (2, 3),
        "synthetic_conf.noise": (None, 0.5), "synthetic_conf.batches": (None, 2),
    },
    "kSyntheticMasks": {
        "store_conf.batchsize": (ANY,), "store_conf.shape": (ANY,), "synthetic_conf.classes": (2, 3),
        "synthetic_conf.noise": (None, 0.5), "synthetic_conf.batches": (None, 2),
    },
    "kSyntheticTokens": {
        "store_conf.batchsize": (ANY,), "store_conf.shape": (ANY,), "synthetic_conf.classes": (2, 3),
        "synthetic_conf.noise": (None, 0.5), "synthetic_conf.batches": (None, 2),
    },
}  # fmt: skip
"""Per layer type, known by its first name. A type with no options has none in the language."""

JOB: Options = {
    "bucket_bytes": (64, 8, None), "collectives": tuple(Collectives.Algorithm.values()),
    "shard_updates": (Sharding.YES, Sharding.NO, None), "test_steps": (1, None),
    "neuralnet.micro_batches": (3, 1, 2, None), "neuralnet.recompute": BOTH,
    "neuralnet.schedule": (Schedule.ONE_F_ONE_B, Schedule.GPIPE, Schedule.DELAYED),
    "neuralnet.partition_dim": (None, -1, 0, 1, 2), "neuralnet.remainder": (None, 0, 1), "seed": (ANY,),
}  # fmt: skip
"""Of the job and its net."""

UPDATER: Options = {
    "updater.type": (*(UpdaterType.Value(name) for name, _ in UPDATERS.items()), UpdaterType.kAdam),
    "updater.momentum": (0.9, None), "updater.weight_decay": (0.01, None), "updater.delta": (0.1,),
    "updater.delta_outside_root": (None, True),
    "updater.clip_low": (None, -0.05), "updater.clip_high": (None, 0.05), "updater.clip_norm": (None, 0.1, 10.0),
    "updater.ema_decay": (None, 0.5, 0.5), "updater.ema_eval": BOTH, "updater.ema_warmup": BOTH,
    "updater.adam_conf.bias_correction": BOTH, "updater.rmsprop_conf.rho": (0.8,),
    "updater.learning_rate.type": (
        ChangeMethod.kFixed, ChangeMethod.kInverse, ChangeMethod.kCosine,
    ),
    "updater.learning_rate.base_lr": (0.01,), "updater.learning_rate.warmup_steps": (None, 2),
}  # fmt: skip

PARAM: Options = {
    "init.type": (
        InitMethod.kGaussian, InitMethod.kUniform, InitMethod.kConstant, InitMethod.kGaussianSqrtFanIn,
        InitMethod.kUniformSqrtFanIn, InitMethod.kUniformSqrtFanInOut,
    ),
    "lr_scale": (None, 0.5), "wd_scale": (None, 2.0), "share_from": (None, ANY),
}  # fmt: skip
"""Of a param block."""

CUT: Options = {
    "partition_dim": (-1, 0, 1, 2, 3, None), "location": (None, ANY), "cut": (0, 1, 2, 3), "remainder": (None, 0, 1),
    "cut.axis": (0, 1, 2, 3, 4), "cut.over": (1, 2), "cut.sizes": (None, ANY), "cut.parts": (None, ANY),
    "cut.location": (None, ANY), "cut.phase": (None, Phase.kTrain), "recompute": (None, True, False),
}  # fmt: skip
"""Of a layer and its ``cut`` blocks; ``cut`` are numbers of these."""

CROSSINGS: dict[str, tuple[str, ...]] = {
    "kPooling": ("a gap in what is read of addends", "broadcast"),
    "kInnerProduct": ("all-gather", "reduce-scatter", "all-reduce", "addends", "replicas"),
    "kConvolution": ("all-to-all", "uneven parts"),
    "cut": ("a grid",),
    "job": ("several micro-batches", "a test net"),
}
"""What must meet in the examples of a type, or of the job."""

WHY: dict[str, str] = {
    "reads files, which have a law of their own, tests/layers/test_inputs.py":
        "kArrayInput kCSVInput kLMDBData kLabel kMnist kNiftiInput kRecordInput kShardData kTextInput kTokenInput "
        "StoreProto.label_column StoreProto.skip_column StoreProto.classes_file StoreProto.backend StoreProto.path "
        "StoreProto.separator StoreProto.mean_file StoreProto.std_file StoreProto.mean_value StoreProto.std_value "
        "StoreProto.encoded StoreProto.random_skip StoreProto.has_label StoreProto.prefetching StoreProto.shuffle "
        "StoreProto.header StoreProto.target kImageInput kTarInput image_conf tar_conf kRGBImage "
        "RGBImageProto.meanfile",
    "SINGA's count of readers, without effect": "ConcateProto.num_concates SplitProto.num_splits",
    "a limit of cuDNN, changes no number": "ConvolutionProto.workspace_byte_limit",
    "LOCAL is meant to differ from one worker, tests/layers/test_batch_norm.py": "BMProto.bn_mode",
    "another type has it, which reads the same conf":
        "NormProto.axis NormProto.groups ConvolutionProto.output_pad LossProto.positive_weight LossProto.delta",
    "a number of a rule that sees each element by itself, tests/updaters":
        "updater.adadelta_conf updater.adam_conf.beta1 updater.adam_conf.beta2 updater.adammax_conf "
        "updater.adamw_conf updater.learning_rate.fixedstep_conf updater.learning_rate.step_conf "
        "updater.learning_rate.linear_conf updater.learning_rate.exponential_conf "
        "updater.learning_rate.inverse_conf updater.learning_rate.inverset_conf "
        "updater.learning_rate.cosine_conf updater.learning_rate.onecycle_conf updater.learning_rate.warmup_factor "
        "updater.learning_rate.plateau_conf",
    "how wide an initial value is, drawn to keep numbers near 1":
        "ParamGenProto.value ParamGenProto.mean ParamGenProto.std ParamGenProto.low ParamGenProto.high",
    "starts from a checkpoint, tests/checkpoint": "updater.ema_start checkpoint_path",
    "names what users bring, docs/extending.md":
        "LayerProto.user_type UpdaterProto.user_type LRGenProto.user_type ParamProto.user_type ParamProto.type "
        "ParamGenProto.user_type neuralnet.user_scheme train_one_batch",
    "groups and servers have laws of their own, tests/laws/test_groups.py": "cluster warmup_steps",
    "schemes keep the law in tests/plan/test_schemes.py, stages in tests/program/schedules/test_schedule.py":
        "neuralnet.scheme neuralnet.replicas neuralnet.stages",
    "float32 and other kernels have a law of their own, tests/laws/test_kernel_sets.py and tests/cuda":
        "dtype device kernels precision gpu num_openblas_threads",
    "says any placement, as those of the law over placements; tests/laws/test_plans.py reads them back":
        "shard sum_gradient",
    "a validation net is a test net by another name": "validate_freq validate_steps validate_after",
    "how a run goes on and what it prints, not what a step computes":
        "name train_steps disp_freq disp_after test_freq test_after checkpoint_freq checkpoint_after checkpoint_keep "
        "debug resume step id deadline reset_param_version",
    "which workers go on, tests/launch/elastic": "elastic",
    "what a run decides after validations, tests/launch/test_verdicts.py": "early_stop checkpoint_best",
    "where data at URLs is kept, tests/datasets/remote": "data_cache",
    "recurrent nets, which netpart refuses":
        "unroll_len unroll_index unroll_conn_type shift neuralnet.unroll_len",
    "without effect, or set by SINGA at run time":
        "neuralnet.layer_group share_src_blobs partition_id num_partitions exclude ParamProto.id ParamProto.owner "
        "ParamProto.partition_dim ParamProto.shape",
    "how a net is written, tests/laws/test_blocks.py":
        "neuralnet.block neuralnet.let neuralnet.include LayerProto.block_conf kBlock",
    "how the net is wired": "LayerProto.name srclayers include param neuralnet.layer ParamProto.name",
}  # fmt: skip
"""What is not drawn, by the reason: layer types, fields of messages, and paths in a job or a layer."""
OMITTED = {name: reason for reason, names in WHY.items() for name in names.split()}
