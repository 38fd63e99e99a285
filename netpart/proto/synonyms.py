"""Words of other frameworks and their counterparts in netpart: the tables for the hints of error messages.

Words are compared in small letters and without separators: batch_size, BatchSize and batchsize are one word.
A line of a table has all words for one thing, then (for a field) "=" and its --set path, then a colon and the hint.
"""

from __future__ import annotations

import re
from collections.abc import Iterable


def _read_word_table(text: str) -> dict[str, tuple[str, str]]:
    """Parse a table: by each word the --set path of what it means, or "", and the hint.

    A line that begins with spaces continues the line above.
    """
    found: dict[str, tuple[str, str]] = {}
    for line in re.sub(r"\n +", " ", text).strip().split("\n"):
        words, _, hint = line.partition(": ")
        names, _, place = words.partition(" = ")
        found |= dict.fromkeys(names.split(), (place, hint))
    return found


def _read_hint_table(text: str) -> dict[str, str]:
    """Parse a table of hints without --set paths."""
    return {word: hint for word, (_, hint) in _read_word_table(text).items()}


LAYER_TYPES: dict[str, str] = _read_hint_table("""
linear dense fc fullyconnected ip affine: a fully connected layer is kInnerProduct
conv conv2d cnn: a convolution is kConvolution
depthwiseconv2d separableconv2d: a depthwise convolution is kConvolution with as many groups as channels
conv1d: it is kConvolution with convolution_conf { spatial_axes: 1 }
conv3d: it is kConvolution with convolution_conf { spatial_axes: 3 }
convtranspose convtranspose2d convtranspose3d conv2dtranspose deconvolution deconv: a transposed convolution is
    kTransposedConvolution
maxpool maxpool2d maxpooling maxpooling2d pool: max pooling is kPooling
maxpool1d maxpooling1d: it is kPooling with pooling_conf { spatial_axes: 1 }
maxpool3d maxpooling3d: it is kPooling with pooling_conf { spatial_axes: 3 }
avgpool avgpool2d averagepooling averagepooling2d: average pooling is kPooling with pooling_conf { pool: AVG }
adaptiveavgpool2d globalaveragepooling2d globalmaxpooling2d globalavgpool gap: the mean or the maximum of each
    channel is kGlobalPooling
batchnorm batchnorm1d batchnorm2d batchnorm3d batchnormalization batchnormalisation bn syncbatchnorm: batch
    normalisation is kBM
layernorm layernormalization: it is kLayerNorm
groupnorm groupnormalization: it is kGroupNorm
localresponsenorm localresponsenormalization: it is kLRN
leakyrelu prelu: it is kReLU with relu_conf { negative_slope: 0.01 }
tanh: it is kActivation with activation_conf { type: TANH }; kSTanh is the scaled one
gelu: it is kActivation with activation_conf { type: GELU }
silu swish: it is kActivation with activation_conf { type: SILU }
mish: it is kActivation with activation_conf { type: MISH }
elu: it is kActivation with activation_conf { type: ELU }
softplus: it is kActivation with activation_conf { type: SOFTPLUS }
relu6: it is kActivation with activation_conf { type: RELU6 }
crossentropy crossentropyloss softmaxwithloss softmaxcrossentropy nllloss categoricalcrossentropy
    sparsecategoricalcrossentropy logsoftmax: softmax and cross-entropy together are kSoftmaxLoss
mse mseloss meansquarederror l2loss: the squared error is kEuclideanLoss
mae l1 maeloss meanabsoluteerror: the distance is kL1Loss
smoothl1 smoothl1loss huber: the squared error near 0 and the distance further out are kHuberLoss
bce bceloss bcewithlogits bcewithlogitsloss binarycrossentropy sigmoidcrossentropy sigmoidcrossentropyloss
    multilabelsoftmarginloss: the cross-entropy of labels of 0 and 1 is kBinaryLoss, of logits
concat concatenate cat: layers are joined by kConcate
permute permutation: axes change places in kTranspose
view unflatten: it is kReshape
eltwise elementwise residual shortcut: a sum is kAdd, a product kMul, a maximum kMax
multiply product: a product of its sources is kMul
upsample upsampling2d interpolate resize: it is kUpsampling
multiheadattention selfattention scaleddotproductattention: kAttention has no weights: queries, keys and values come
    from kInnerProduct with axis: 2
input data dataset inputlayer: data comes from kRecordInput, kCSVInput, kImageInput or, made up, kSyntheticInput
imagedata imagefolder jpeg png webp: images are read by kImageInput
webdataset tar: images in tar files are read by kTarInput
csv csvdata: CSV files are read by kCSVInput
lstm rnn gru bilstm simplernn: recurrent layers are not there yet
""")
"""Types of layers. Names that differ from netpart's only by the k, such as ReLU, need no line here."""

FIELDS: dict[str, tuple[str, str]] = _read_word_table("""
lr baselr learningrate = updater.learning_rate.base_lr: the rate is written learning_rate { type: kFixed base_lr:
    0.05 } in updater
lrpolicy = updater.learning_rate.type: the rate is written learning_rate { type: kFixed base_lr: 0.05 } in updater
epochs epoch numepochs maxepochs maxiter iterations numsteps steps maxsteps = train_steps: a run is as long as
    train_steps: 1000, in mini-batches; an epoch is the number of samples / batchsize of them
batchsize batch = data.store_conf.batchsize: rows per step are store_conf { batchsize: 64 } of the input layer
units outfeatures hiddensize hiddenunits neurons numoutput numoutputs numhidden outputdim =
    innerproduct_conf.num_output: neurons are written innerproduct_conf { num_output: 10 }
outchannels filters nfilters channels numfilters = convolution_conf.num_filters: output channels are written
    convolution_conf { num_filters: 32 }
kernelsize ksize poolsize kernelh kernelw = kernel: the window is written kernel: 3, or kernel_x and kernel_y
padding pads padh padw = pad: zeros at the border are written pad: 1
strides subsample = stride: the step of a window is written stride: 2
dilationrate = dilation: it is written dilation: 2
inchannels infeatures inputdim inputshape insize: it is not written: a layer knows it from its source
bias usebias = bias_term: a layer without a bias is written bias_term: false
weightfiller biasfiller kernelinitializer biasinitializer initializer init = param[0].init: initial values are
    written param { init { type: kUniformSqrtFanIn } }, a block for each parameter
weights weight w blobs = param: initial values are written param { init { type: kUniformSqrtFanIn } }, a block for
    each parameter
activation nonlinearity: an activation is a layer of its own: type: kReLU, or kActivation
dropout droprate dropprob p = dropout_conf.dropout_ratio: dropout is a layer of its own: type: kDropout dropout_conf
    { dropout_ratio: 0.5 }
rate = dropout_conf.dropout_ratio: of kDropout write dropout_ratio: 0.5; of an updater learning_rate { type: kFixed
    base_lr: 0.05 }
bottom bottoms input inputs source sources src srclayer from = srclayers: a layer names what it reads, each by
    itself: srclayers: "data"
top tops output outputs = name: what a layer gives has the layer's own name
layers net model network = neuralnet.layer: layers are written neuralnet { layer { ... } layer { ... } }
optimizer optimiser solver solvertype = updater.type: it is written updater { type: kSGD ... }
loss criterion lossfunction: a loss is a layer: type: kSoftmaxLoss, of a prediction and the labels
metrics accuracy: an accuracy is a layer: type: kAccuracy; kSoftmaxLoss reports it too
wd decay l2 l2reg = updater.weight_decay: it is written weight_decay: 0.0005 in updater
gradclip clipgradnorm clipnorm clipgradients clipvalue = updater.clip_norm: it is written clip_norm: 1, or clip_low
    and clip_high, in updater
betas = updater.adam_conf.beta1: they are written beta1 and beta2 in adam_conf or adamw_conf
eps = updater.delta: of an updater it is delta, of a normalisation epsilon
nesterov = updater.type: it is an updater of its own: type: kNesterov
workers numworkers nworkers gpus worldsize = cluster.nworkers_per_group: workers are written cluster {
    nworkers_per_group: 2 }; --workers overrides it
numclasses nclasses classes = innerproduct_conf.num_output: a net has as many classes as its last layer has
    num_output; made-up data have synthetic_conf { classes: 10 }
display loginterval printfreq = disp_freq: steps between lines of a run are disp_freq
testinterval evalinterval evalfreq = test_freq: steps between tests are test_freq
testiter evalsteps = test_steps: mini-batches of a test are test_steps
snapshot savefreq saveinterval saveevery = checkpoint_freq: steps between checkpoints are checkpoint_freq
earlystopping earlystop = early_stop: a run ends with early_stop { patience: 5 }
savebest savebestonly = checkpoint_best: the best checkpoint is kept with checkpoint_best: "loss/accuracy"
savetotallimit savetopk keepcheckpointmax maxtokeep = checkpoint_keep: how many checkpoints stay is checkpoint_keep
snapshotprefix logdir outputdir savedir outdir = cluster.workspace: files of a run go to cluster { workspace:
    "out/name" }
pretrained loadfrom weightsfile = checkpoint_path: a run starts from checkpoint_path: "file.safetensors"
randomseed rngseed manualseed = seed: it is seed
accumulategradbatches gradientaccumulationsteps microbatchsize = neuralnet.micro_batches: a mini-batch in pieces is
    neuralnet { micro_batches: 4 }
fp16 bf16 amp mixedprecision halfprecision = precision: numbers are rounded with precision: BFLOAT16
file filename root datapath datadir = data.store_conf.path: the file of an input is store_conf { path: "..." }
numheads nheads heads: heads are an axis before the positions, made with kReshape and kTranspose: docs/language.md
embeddingdim embeddim = embedding_conf.feature_dim: it is embedding_conf { feature_dim: 64 }
numembeddings vocabsize = embedding_conf.vocab_size: it is embedding_conf { vocab_size: 256 }
phase train training = include: the phases of a layer are written include: kTrain
skipheader hasheader headerrow skiprows = data.store_conf.header: a first line of names is skipped with store_conf {
    header: true }
delimiter sep = data.store_conf.separator: it is store_conf { separator: ";" }
""")
"""Fields of a job."""

VALUES: dict[str, dict[str, str]] = {
    "LayerType": LAYER_TYPES,
    "InitMethod": _read_hint_table("""
xavier glorot xavieruniform glorotuniform kaiming he kaiminguniform heuniform msra lecun: kUniformSqrtFanIn and
    kGaussianSqrtFanIn scale by the inputs, kUniformSqrtFanInOut by inputs and outputs
zeros zero: zeros are kConstant with value: 0
ones one: ones are kConstant with value: 1
normal randomnormal truncatednormal: it is kGaussian
random randomuniform: it is kUniform
"""),
    "UpdaterType": _read_hint_table("""
momentum: it is kSGD with momentum: 0.9
adamax: it is kAdamMax
nag: it is kNesterov
"""),
    "ChangeMethod": _read_hint_table("""
constant const: it is kFixed
exp exponentiallr: it is kExponential
multistep multisteplr piecewise: it is kFixedStep
steplr: it is kStep
cosineannealing cosineannealinglr: it is kCosine
poly polynomial: kLinear falls in a straight line, kCosine along half a cosine
"""),
    "AlgType": _read_hint_table("""
backprop backpropagation sgd: it is kBP
"""),
    "Scheme": _read_hint_table("""
dataparallel ddp dp: it is DATA
tensorparallel tp megatron modelparallel: it is COLUMN_ROW
pp gpipe: it is PIPELINE
"""),
    "DType": _read_hint_table("""
float fp32 single f32: it is FLOAT32
double fp64 f64: it is FLOAT64
float16 half fp16 bfloat16 bf16: parameters stay float32, all else is rounded with precision: BFLOAT16
"""),
}
"""Values of enums, by the name of the enum."""

VERBS: dict[str, str] = _read_hint_table("""
train fit start launch exec: run
join node: worker
generate write: sample
visualize visualise viz graph show view render: draw
validate lint info summary inspect describe cost: check
compare: diff
trace time bench benchmark: profile
split shard cut: partition
optimize optimise search: plan
download dataset prepare: data
models list examples init new: zoo
heatmap cam saliency: gradcam
eval score: evaluate
format prettify beautify reformat: fmt
schema keywords completion lsp: fields
infer inference classify segment: predict
""")
"""Verbs of the command line."""

VERB_NOTES: dict[str, str] = _read_hint_table("""
test: run tests as it trains; `netpart evaluate JOB --checkpoint F` tests a checkpoint
""")
"""Hints for verbs of other tools that have no single counterpart here."""

OPTIONS: dict[str, str] = _read_hint_table("""
lr baselr learningrate: write --set updater.learning_rate.base_lr=0.1
epochs epoch numepochs maxiter iterations numsteps maxsteps: write --steps N; an epoch is the samples / batchsize
np n numworkers nworkers nproc nprocpernode gpus: write --workers 3
batchsize batch b: write --set data.store_conf.batchsize=64, where data is the input layer
""")
"""Options of the command line."""

ZOO: dict[str, str] = _read_hint_table("""
lenet lenet5 mnist cnn convnet digits: mnist/conv
mlp perceptron: mlp/column-row
gpt nanogpt transformer llm: gpt/tiny
mobilenet: mobilenet/mobilenetv2
vit: vit/vit-b16-small
vgg: vgg/vgg16
densenet: densenet/densenet121
resnet: resnet/resnet18
unet: unet/unet2d
mri alzheimer: resattnet/resattnet18
""")
"""Jobs of the zoo by the common names of their nets."""


def plain_word(word: str) -> str:
    """``word`` in the form of the tables: small letters and digits alone."""
    return "".join(letter for letter in word.lower() if letter.isalnum())


def same_word(word: str, known: Iterable[str]) -> str:
    """The one of ``known`` that differs from ``word`` only by case, separators or the k of type names; "" if none."""
    wanted = plain_word(word)
    return next((name for name in known if wanted in (plain_word(name), plain_word(name.removeprefix("k")))), "")
