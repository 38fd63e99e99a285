"""Made by tools/gen_builder.py: a change belongs there."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack

from netpart.builder.layer_list import LayerHandle
from netpart.builder.named_value import NamedValue

Whole = int | NamedValue
Number = float | NamedValue
Truth = bool | NamedValue

class LayerFields(TypedDict, total=False):
    """Fields that every layer may have."""

    include: Literal["kUnknown", "kTrain", "kVal", "kTest", "kPositive", "kNegative", "kForward", "kBackward", "kLoss", "kDeploy", "kAggGrad"] | NamedValue | Sequence[Literal["kUnknown", "kTrain", "kVal", "kTest", "kPositive", "kNegative", "kForward", "kBackward", "kLoss", "kDeploy", "kAggGrad"] | NamedValue]
    exclude: Literal["kUnknown", "kTrain", "kVal", "kTest", "kPositive", "kNegative", "kForward", "kBackward", "kLoss", "kDeploy", "kAggGrad"] | NamedValue | Sequence[Literal["kUnknown", "kTrain", "kVal", "kTest", "kPositive", "kNegative", "kForward", "kBackward", "kLoss", "kDeploy", "kAggGrad"] | NamedValue]
    partition_dim: Whole
    location: Whole | Sequence[Whole]
    cut: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    remainder: Literal["LAST", "SPREAD"] | NamedValue
    shard: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    sum_gradient: Truth
    recompute: Truth

def method_types() -> dict[str, str]: ...

class LayerMethods:
    def add_layer(
        self,
        type: str,
        /,
        *given: Any,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        **fields: Any,
    ) -> LayerHandle: ...

    def accuracy(
        self,
        *sources: LayerHandle | Whole,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        topk: Whole | None = None,
        ignore_index: Whole | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kAccuracy: share of rows whose label is among the topk.

        After the sources: topk, ignore_index.

        topk: number of indices per row, largest value first
        ignore_index: positions with this label are not counted; it need not be a class. Unset: none
        """

    def activation(
        self,
        *sources: LayerHandle | Literal["RELU", "SIGMOID", "TANH", "STANH", "GELU", "GELU_TANH", "SILU", "MISH", "ELU", "SOFTPLUS", "RELU6"] | NamedValue | Number,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        type: Literal["RELU", "SIGMOID", "TANH", "STANH", "GELU", "GELU_TANH", "SILU", "MISH", "ELU", "SOFTPLUS", "RELU6"] | NamedValue | None = None,
        alpha: Number | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kActivation: the function named in activation_conf.

        After the sources: type, alpha.

        type: the function
        alpha: limit of ELU for small x is -alpha
        """

    def add(
        self,
        *sources: LayerHandle,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kAdd: element-wise sum of its sources; extents of 1 are stretched."""

    def array_input(
        self,
        *sources: LayerHandle | str,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        path: str | None = None,
        data: str | None = None,
        label_path: str | None = None,
        label: str | None = None,
        batchsize: Whole | Sequence[Whole] | None = None,
        shuffle: Truth | None = None,
        prefetching: Truth | None = None,
        random_skip: Whole | None = None,
        mean_value: Number | None = None,
        std_value: Number | None = None,
        mean_file: str | None = None,
        std_file: str | None = None,
        shape: Whole | Sequence[Whole] | None = None,
        labels: Whole | None = None,
        target: Truth | None = None,
        tokens: Truth | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kArrayInput: rows of arrays in files of NumPy and HDF5.

        After the sources: path, data.

        path: file of the array; relative: as StoreProto.path
        data: name of the array in an .npz or HDF5 file; unset: its only one but label
        label_path: file of the labels; unset: path, if label names an array in it
        label: name of the array of labels in an .npz or HDF5 file
        batchsize: rows per step; repeated: rows of each part
        shuffle: new random order in every pass over the rows; false: file order
        prefetching: reads the next batch while the current one is computed
        random_skip: skips 0..random_skip rows once, before the first step
        mean_value: subtracted from every element
        std_value: divides every element
        mean_file: .npy file or record whose values are subtracted, element by element
        std_file: .npy file or record whose values divide, element by element
        shape: extent of each axis of a row, without the batch axis; unset: the file's
        labels: labels of a row; unset: 1 if shape is set, else as in the file
        target: labels are numbers to predict (regression), no classes
        tokens: data are whole numbers, for kEmbedding and as the mask of kAttention
        """

    def attention(
        self,
        *sources: LayerHandle | Truth | Number,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        causal: Truth | None = None,
        scale: Number | None = None,
        dropout_ratio: Number | None = None,
        pad_value: Whole | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kAttention: scaled dot-product attention of queries, keys and values.

        After the sources: causal, scale.

        causal: a query reads only the keys up to its own position
        scale: factor on the scores; 0: 1 / sqrt(width of a query)
        dropout_ratio: probability that a weight becomes 0 while training, below 1
        pad_value: keys with this number in the mask are not read
        """

    def binary_loss(
        self,
        *sources: LayerHandle | Number | Number | Sequence[Number],
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        scale: Number | None = None,
        positive_weight: Number | Sequence[Number] | None = None,
        delta: Number | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kBinaryLoss: cross-entropy of several labels of 0 or 1 per row, each after a logistic function.

        After the sources: scale, positive_weight.

        scale: factor on loss and gradient
        positive_weight: kBinaryLoss: factor on the loss of labels 1; one, or one per element of axis 1
        delta: kHuberLoss: distance from which on the loss is linear
        """

    def bm(
        self,
        *sources: LayerHandle | Literal["SYNC", "LOCAL"] | NamedValue | Number,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        bn_mode: Literal["SYNC", "LOCAL"] | NamedValue | None = None,
        epsilon: Number | None = None,
        momentum: Number | None = None,
        frozen: Truth | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kBM: batch normalisation.

        After the sources: bn_mode, epsilon.

        bn_mode: which elements the statistics are taken over
        epsilon: added to the variance
        momentum: share of the running statistics kept at each step, 0..1
        frozen: training uses the running statistics, too, and does not change them
        """

    def class_token(
        self,
        *sources: LayerHandle,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kClassToken: a learned vector before the first position."""

    def concate(
        self,
        *sources: LayerHandle | Whole,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        concate_dim: Whole | None = None,
        num_concates: Whole | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kConcate: joins pieces.

        After the sources: concate_dim, num_concates.

        concate_dim: axis joined; 0 batch
        num_concates: number of readers
        """

    def confusion(
        self,
        *sources: LayerHandle | Whole,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        topk: Whole | None = None,
        ignore_index: Whole | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kConfusion: confusion matrix; for two classes also AUC.

        After the sources: topk, ignore_index.

        topk: number of indices per row, largest value first
        ignore_index: positions with this label are not counted; it need not be a class. Unset: none
        """

    def convolution(
        self,
        *sources: LayerHandle | Whole,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        num_filters: Whole | None = None,
        kernel: Whole | None = None,
        pad: Whole | None = None,
        stride: Whole | None = None,
        kernel_x: Whole | None = None,
        kernel_y: Whole | None = None,
        pad_x: Whole | None = None,
        pad_y: Whole | None = None,
        stride_x: Whole | None = None,
        stride_y: Whole | None = None,
        workspace_byte_limit: Whole | None = None,
        spatial_axes: Whole | None = None,
        kernel_z: Whole | None = None,
        pad_z: Whole | None = None,
        stride_z: Whole | None = None,
        dilation: Whole | None = None,
        dilation_x: Whole | None = None,
        dilation_y: Whole | None = None,
        dilation_z: Whole | None = None,
        groups: Whole | None = None,
        output_pad: Whole | None = None,
        pad_end_x: Whole | None = None,
        pad_end_y: Whole | None = None,
        pad_end_z: Whole | None = None,
        pad_end: Whole | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kConvolution: convolution.

        After the sources: num_filters, kernel.

        num_filters: output channels
        kernel: window extent on every spatial axis
        pad: zeros on each side of every spatial axis
        stride: step of the window on every spatial axis
        kernel_x: window width; overrides kernel on the last axis
        kernel_y: window height; overrides kernel on the last axis but one
        pad_x: overrides pad on the last axis
        pad_y: overrides pad on the last axis but one
        stride_x: overrides stride on the last axis
        stride_y: overrides stride on the last axis but one
        workspace_byte_limit: largest workspace of cuDNN, MiB
        spatial_axes: axes the window moves on, 1..3; input rank = it + 1: one channel
        kernel_z: window depth; overrides kernel on the third axis from the end
        pad_z: overrides pad on the third axis from the end
        stride_z: overrides stride on the third axis from the end
        dilation: distance of neighbouring window elements on every spatial axis
        dilation_x: overrides dilation on the last axis
        dilation_y: overrides dilation on the last axis but one
        dilation_z: overrides dilation on the third axis from the end
        groups: number of groups: equal shares of filters read equal shares of channels
        output_pad: kTransposedConvolution: elements added at the end of every axis
        pad_end_x: overrides pad_end on the last axis
        pad_end_y: overrides pad_end on the last axis but one
        pad_end_z: overrides pad_end on the third axis from the end
        pad_end: zeros after the last element of every axis; unset: as pad
        """

    def crop(
        self,
        *sources: LayerHandle | Whole | Sequence[Whole],
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        shape: Whole | Sequence[Whole] | None = None,
        start: Whole | Sequence[Whole] | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kCrop: a box of its source.

        After the sources: shape, start.

        shape: extents of the box, in elements
        start: first element of the box on each axis; -1: the box is centred
        """

    def csv_input(
        self,
        *sources: LayerHandle | str,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        backend: str | None = None,
        path: str | None = None,
        separator: str | None = None,
        mean_file: str | None = None,
        std_file: str | None = None,
        mean_value: Number | None = None,
        std_value: Number | None = None,
        batchsize: Whole | Sequence[Whole] | None = None,
        shape: Whole | Sequence[Whole] | None = None,
        encoded: Truth | None = None,
        random_skip: Whole | None = None,
        has_label: Truth | None = None,
        prefetching: Truth | None = None,
        shuffle: Truth | None = None,
        header: Truth | None = None,
        label_column: str | Sequence[str] | None = None,
        skip_column: str | Sequence[str] | None = None,
        classes_file: str | None = None,
        target: Truth | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kCSVInput: text records.

        After the sources: backend, path.

        backend: kvfile, textfile, lmdb, ...
        path: file; relative to the conf's folder, then the working directory
        separator: between the values of a text record
        mean_file: record whose values are subtracted, element by element
        std_file: record whose values divide, element by element
        mean_value: subtracted from every element
        std_value: divides every element
        batchsize: rows per step; repeated: rows of each part
        shape: extent of each axis of one sample, without the batch axis
        encoded: values are an encoded image
        random_skip: skips 0..random_skip records once, before the first step
        has_label: the first column of a text record is its class index
        prefetching: reads the next batch while the current one is computed
        shuffle: new random order in every pass over the data; false: file order
        header: the first line of a text file has the column names; it is skipped
        label_column: name or number (from 1) of each column of labels; unset: the first column
        skip_column: names or numbers (from 1) of columns that are neither values nor labels
        classes_file: labels are words, the lines of this file; training makes it if it is missing
        target: kCSVInput: the label columns are numbers to predict (regression), no classes
        """

    def dropout(
        self,
        *sources: LayerHandle | Number,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        dropout_ratio: Number | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kDropout: inverted dropout.

        After the sources: dropout_ratio.

        dropout_ratio: probability that an element becomes 0
        """

    def embedding(
        self,
        *sources: LayerHandle | Whole,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        vocab_size: Whole | None = None,
        feature_dim: Whole | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kEmbedding: row of a table by index.

        After the sources: vocab_size, feature_dim.

        vocab_size: rows of the table
        feature_dim: values per row
        """

    def euclidean_loss(
        self,
        *sources: LayerHandle,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kEuclideanLoss: half the squared distance, averaged over the rows."""

    def gate(
        self,
        *sources: LayerHandle,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kGate: multiplication by one learned number."""

    def global_pooling(
        self,
        *sources: LayerHandle | Literal["MAX", "AVG"] | NamedValue,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        pool: Literal["MAX", "AVG"] | NamedValue | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kGlobalPooling: the mean or the maximum of each channel.

        After the sources: pool.

        pool: the result of a channel
        """

    def group_norm(
        self,
        *sources: LayerHandle | Whole,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        axis: Whole | None = None,
        groups: Whole | None = None,
        epsilon: Number | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kGroupNorm: normalisation of groups of channels by their mean and variance.

        After the sources: axis, groups.

        axis: kLayerNorm, kRMSNorm: the first axis of the features; -1: the last one
        groups: kGroupNorm: number of equal groups of channels
        epsilon: added to the variance or the mean square
        """

    def huber_loss(
        self,
        *sources: LayerHandle | Number | Number | Sequence[Number],
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        scale: Number | None = None,
        positive_weight: Number | Sequence[Number] | None = None,
        delta: Number | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kHuberLoss: half the squared distance near 0, the distance further out, averaged over all elements.

        After the sources: scale, positive_weight.

        scale: factor on loss and gradient
        positive_weight: kBinaryLoss: factor on the loss of labels 1; one, or one per element of axis 1
        delta: kHuberLoss: distance from which on the loss is linear
        """

    def image_input(
        self,
        *sources: LayerHandle | str | Whole | Sequence[Whole],
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        path: str | None = None,
        batchsize: Whole | Sequence[Whole] | None = None,
        shape: Whole | Sequence[Whole] | None = None,
        masks: str | None = None,
        classes: str | Sequence[str] | None = None,
        resize: Whole | None = None,
        least_area: Number | None = None,
        mirror: Truth | None = None,
        brightness: Number | None = None,
        contrast: Number | None = None,
        saturation: Number | None = None,
        mean: Number | Sequence[Number] | None = None,
        std: Number | Sequence[Number] | None = None,
        shuffle: Truth | None = None,
        prefetching: Truth | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kImageInput: images of folders or of a list.

        After the sources: path, batchsize.

        path: folder of one folder per class, or CSV file (kImageInput); relative: as StoreProto.path
        batchsize: rows per step; repeated: rows of each part
        shape: channels (1: grey, 3: colours), height, width; unset: as the first image
        masks: folder with a mask for each image; pixels are classes (kImageInput)
        classes: names of the folders, in the order of their classes; unset: all, sorted (kImageInput)
        resize: shorter side before the crop, pixels; 0: the crop is as large as possible
        least_area: smallest share of an image's area that a random crop has; 1: crops of one size
        mirror: flips left and right at random
        brightness: colours are multiplied by a random factor, at most so far from 1
        contrast: the same for the distance of colours from the mean grey
        saturation: the same for the distance of colours from their own grey
        mean: subtracted from the values; one, or one per channel
        std: then divides them; one, or one per channel
        shuffle: new random order in every pass over the images; false: their order
        prefetching: reads the next batch while the current one is computed
        """

    def image_preprocess(
        self,
        *sources: LayerHandle | Number | Whole,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        scale: Number | None = None,
        cropsize: Whole | None = None,
        mirror: Truth | None = None,
        meanfile: str | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kImagePreprocess: crop, mirror, scale.

        After the sources: scale, cropsize.

        scale: factor on every value
        cropsize: height and width of the crop, pixels; 0: no crop
        mirror: flips left and right at random while training
        meanfile: record that is subtracted (kRGBImage)
        """

    def inner_product(
        self,
        *sources: LayerHandle | Whole | Truth,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        num_output: Whole | None = None,
        bias_term: Truth | None = None,
        transpose: Truth | None = None,
        axis: Whole | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kInnerProduct: fully connected.

        After the sources: num_output, bias_term.

        num_output: neurons
        bias_term: adds b
        transpose: W is stored as (inputs, outputs)
        axis: first axis of the features; every position before it is a row of its own
        """

    def l1_loss(
        self,
        *sources: LayerHandle | Number | Number | Sequence[Number],
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        scale: Number | None = None,
        positive_weight: Number | Sequence[Number] | None = None,
        delta: Number | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kL1Loss: distance, averaged over all elements.

        After the sources: scale, positive_weight.

        scale: factor on loss and gradient
        positive_weight: kBinaryLoss: factor on the loss of labels 1; one, or one per element of axis 1
        delta: kHuberLoss: distance from which on the loss is linear
        """

    def label(
        self,
        *sources: LayerHandle,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kLabel: labels of a data layer (deprecated)."""

    def layer_norm(
        self,
        *sources: LayerHandle | Whole,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        axis: Whole | None = None,
        groups: Whole | None = None,
        epsilon: Number | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kLayerNorm: normalisation of each row's features by their mean and variance.

        After the sources: axis, groups.

        axis: kLayerNorm, kRMSNorm: the first axis of the features; -1: the last one
        groups: kGroupNorm: number of equal groups of channels
        epsilon: added to the variance or the mean square
        """

    def lmdb_data(
        self,
        *sources: LayerHandle | str | Whole,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        path: str | None = None,
        batchsize: Whole | None = None,
        random_skip: Whole | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kLMDBData: records of an LMDB store.

        After the sources: path, batchsize.

        path: folder or file of the store
        batchsize: rows per step
        random_skip: skips 0..random_skip records once, before the first step
        """

    def lrn(
        self,
        *sources: LayerHandle | Whole | Number,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        local_size: Whole | None = None,
        alpha: Number | None = None,
        beta: Number | None = None,
        knorm: Number | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kLRN: local response normalisation across channels.

        After the sources: local_size, alpha.

        local_size: channels in the window; odd
        alpha: weight of the sum
        beta: exponent
        knorm: added to the sum
        """

    def matmul(
        self,
        *sources: LayerHandle | Truth,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        transpose_a: Truth | None = None,
        transpose_b: Truth | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kMatmul: matrix product of two sources.

        After the sources: transpose_a, transpose_b.

        transpose_a: the first source is (batch, ..., columns, rows)
        transpose_b: the second source is (batch, ..., columns, rows)
        """

    def max(
        self,
        *sources: LayerHandle,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kMax: element-wise maximum of its sources."""

    def mnist(
        self,
        *sources: LayerHandle | Number,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        norm_a: Number | None = None,
        norm_b: Number | None = None,
        kernel: Whole | None = None,
        sigma: Number | None = None,
        alpha: Number | None = None,
        beta: Number | None = None,
        gamma: Number | None = None,
        resize: Whole | None = None,
        elastic_freq: Whole | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kMnist: digits of a data layer (deprecated).

        After the sources: norm_a, norm_b.

        norm_a: divides every pixel
        norm_b: then subtracted
        kernel: width of the elastic distortion's filter, pixels
        sigma: standard deviation of that filter, pixels
        alpha: strength of the elastic distortion, pixels
        beta: largest rotation or shear, degrees
        gamma: largest scaling, per cent
        resize: new height and width, pixels; 0: as stored
        elastic_freq: steps between elastic distortions
        """

    def mul(
        self,
        *sources: LayerHandle,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kMul: element-wise product of its sources."""

    def nifti_input(
        self,
        *sources: LayerHandle | str | Whole | Sequence[Whole],
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        path: str | None = None,
        batchsize: Whole | Sequence[Whole] | None = None,
        shape: Whole | Sequence[Whole] | None = None,
        normalise: Truth | None = None,
        flip: Truth | None = None,
        shuffle: Truth | None = None,
        prefetching: Truth | None = None,
        drift: Number | None = None,
        cache_mib: Whole | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kNiftiInput: volumes of NIfTI files.

        After the sources: path, batchsize.

        path: CSV file; relative: as StoreProto.path
        batchsize: rows per step; repeated: rows of each part
        shape: voxels on each axis, interpolated; unset: as in the first scan
        normalise: scales the voxels that are not 0 to mean 0 and variance 1
        flip: mirrors left and right at random while training
        shuffle: new random order in every pass over the scans; false: file order
        prefetching: reads the next batch while the current one is computed
        drift: largest value of a smooth random field that is added while training
        cache_mib: MiB of disk, per worker, for interpolated scans during the run
        """

    def pooling(
        self,
        *sources: LayerHandle | Whole | Literal["MAX", "AVG"] | NamedValue,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        kernel: Whole | None = None,
        pool: Literal["MAX", "AVG"] | NamedValue | None = None,
        pad: Whole | None = None,
        stride: Whole | None = None,
        kernel_x: Whole | None = None,
        kernel_y: Whole | None = None,
        pad_x: Whole | None = None,
        pad_y: Whole | None = None,
        stride_x: Whole | None = None,
        stride_y: Whole | None = None,
        spatial_axes: Whole | None = None,
        kernel_z: Whole | None = None,
        pad_z: Whole | None = None,
        stride_z: Whole | None = None,
        ceil_mode: Truth | None = None,
        count_include_pad: Truth | None = None,
        pad_end: Whole | None = None,
        pad_end_x: Whole | None = None,
        pad_end_y: Whole | None = None,
        pad_end_z: Whole | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kPooling: max or average pooling.

        After the sources: kernel, pool.

        kernel: window extent on every spatial axis
        pool: the result of a window
        pad: border on each side of every spatial axis
        stride: step of the window on every spatial axis
        kernel_x: window width; overrides kernel on the last axis
        kernel_y: window height; overrides kernel on the last axis but one
        pad_x: overrides pad on the last axis
        pad_y: overrides pad on the last axis but one
        stride_x: overrides stride on the last axis
        stride_y: overrides stride on the last axis but one
        spatial_axes: axes the window moves on, 1..3; input rank = it + 1: one channel
        kernel_z: window depth; overrides kernel on the third axis from the end
        pad_z: overrides pad on the third axis from the end
        stride_z: overrides stride on the third axis from the end
        ceil_mode: rounds extents up: a last window may reach beyond the border
        count_include_pad: AVG: elements of the border count in the divisor
        pad_end: border after the last element of every axis; unset: as pad
        pad_end_x: overrides pad_end on the last axis
        pad_end_y: overrides pad_end on the last axis but one
        pad_end_z: overrides pad_end on the third axis from the end
        """

    def positions(
        self,
        *sources: LayerHandle,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kPositions: adds a learned vector to each position."""

    def record_input(
        self,
        *sources: LayerHandle | str,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        backend: str | None = None,
        path: str | None = None,
        separator: str | None = None,
        mean_file: str | None = None,
        std_file: str | None = None,
        mean_value: Number | None = None,
        std_value: Number | None = None,
        batchsize: Whole | Sequence[Whole] | None = None,
        shape: Whole | Sequence[Whole] | None = None,
        encoded: Truth | None = None,
        random_skip: Whole | None = None,
        has_label: Truth | None = None,
        prefetching: Truth | None = None,
        shuffle: Truth | None = None,
        header: Truth | None = None,
        label_column: str | Sequence[str] | None = None,
        skip_column: str | Sequence[str] | None = None,
        classes_file: str | None = None,
        target: Truth | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kRecordInput: RecordProto records.

        After the sources: backend, path.

        backend: kvfile, textfile, lmdb, ...
        path: file; relative to the conf's folder, then the working directory
        separator: between the values of a text record
        mean_file: record whose values are subtracted, element by element
        std_file: record whose values divide, element by element
        mean_value: subtracted from every element
        std_value: divides every element
        batchsize: rows per step; repeated: rows of each part
        shape: extent of each axis of one sample, without the batch axis
        encoded: values are an encoded image
        random_skip: skips 0..random_skip records once, before the first step
        has_label: the first column of a text record is its class index
        prefetching: reads the next batch while the current one is computed
        shuffle: new random order in every pass over the data; false: file order
        header: the first line of a text file has the column names; it is skipped
        label_column: name or number (from 1) of each column of labels; unset: the first column
        skip_column: names or numbers (from 1) of columns that are neither values nor labels
        classes_file: labels are words, the lines of this file; training makes it if it is missing
        target: kCSVInput: the label columns are numbers to predict (regression), no classes
        """

    def relu(
        self,
        *sources: LayerHandle | Number,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        negative_slope: Number | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kReLU: rectified linear unit.

        After the sources: negative_slope.

        negative_slope: slope for x < 0
        """

    def reshape(
        self,
        *sources: LayerHandle | Whole | Sequence[Whole],
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        shape: Whole | Sequence[Whole] | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kReshape: the same elements on other axes after the batch.

        After the sources: shape.

        shape: extents after the batch, in elements; one may be -1: it is computed from the others
        """

    def rgb_image(
        self,
        *sources: LayerHandle | Number | Whole,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        scale: Number | None = None,
        cropsize: Whole | None = None,
        mirror: Truth | None = None,
        meanfile: str | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kRGBImage: images of a data layer (deprecated).

        After the sources: scale, cropsize.

        scale: factor on every value
        cropsize: height and width of the crop, pixels; 0: no crop
        mirror: flips left and right at random while training
        meanfile: record that is subtracted (kRGBImage)
        """

    def rotary(
        self,
        *sources: LayerHandle | Number,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        base: Number | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kRotary: rotates pairs of features by an angle that grows with the position.

        After the sources: base.

        base: features 2i, 2i + 1 rotate by base^(-2i / features) radians per position
        """

    def s_tanh(
        self,
        *sources: LayerHandle,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kSTanh: scaled tanh."""

    def shard_data(
        self,
        *sources: LayerHandle | str | Whole,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        path: str | None = None,
        batchsize: Whole | None = None,
        random_skip: Whole | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kShardData: records of a data shard (deprecated).

        After the sources: path, batchsize.

        path: folder or file of the store
        batchsize: rows per step
        random_skip: skips 0..random_skip records once, before the first step
        """

    def sigmoid(
        self,
        *sources: LayerHandle,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kSigmoid: logistic function."""

    def slice(
        self,
        *sources: LayerHandle | Whole,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        slice_dim: Whole | None = None,
        num_slices: Whole | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kSlice: cuts pieces.

        After the sources: slice_dim, num_slices.

        slice_dim: axis cut; 0 batch
        num_slices: number of pieces
        """

    def softmax(
        self,
        *sources: LayerHandle | Whole,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        num_softmax_per_instance: Whole | None = None,
        axis: Whole | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kSoftmax: softmax, for prediction.

        After the sources: num_softmax_per_instance, axis.

        num_softmax_per_instance: independent distributions per row
        axis: axis whose elements add up to 1, -1 for the last; unset: the features of (batch, features)
        """

    def softmax_loss(
        self,
        *sources: LayerHandle | Whole | Number,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        topk: Whole | None = None,
        scale: Number | None = None,
        label_smoothing: Number | None = None,
        bits: Truth | None = None,
        class_weight: Number | Sequence[Number] | None = None,
        ignore_index: Whole | None = None,
        normalisation: Literal["ROWS", "WEIGHTS"] | NamedValue | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kSoftmaxLoss: cross-entropy after softmax.

        After the sources: topk, scale.

        topk: a row is accurate if its label is among the topk largest
        scale: factor on loss and gradient
        label_smoothing: share of the target that all classes get equally, 0..1
        bits: also reports the loss in bits: bits per byte for a net over bytes
        class_weight: factor on the loss of each class, one per class. Unset: 1
        ignore_index: positions with this label count for nothing; it need not be a class. Unset: none
        normalisation: what the sum of the losses is divided by
        """

    def split(
        self,
        *sources: LayerHandle | Whole,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        num_splits: Whole | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kSplit: one source, several readers.

        After the sources: num_splits.

        num_splits: number of readers
        """

    def synthetic_input(
        self,
        *sources: LayerHandle | str,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        backend: str | None = None,
        path: str | None = None,
        separator: str | None = None,
        mean_file: str | None = None,
        std_file: str | None = None,
        mean_value: Number | None = None,
        std_value: Number | None = None,
        batchsize: Whole | Sequence[Whole] | None = None,
        shape: Whole | Sequence[Whole] | None = None,
        encoded: Truth | None = None,
        random_skip: Whole | None = None,
        has_label: Truth | None = None,
        prefetching: Truth | None = None,
        shuffle: Truth | None = None,
        header: Truth | None = None,
        label_column: str | Sequence[str] | None = None,
        skip_column: str | Sequence[str] | None = None,
        classes_file: str | None = None,
        target: Truth | None = None,
        classes: Whole | None = None,
        noise: Number | None = None,
        batches: Whole | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kSyntheticInput: samples drawn from the seed.

        After the sources: backend, path.

        backend: kvfile, textfile, lmdb, ...
        path: file; relative to the conf's folder, then the working directory
        separator: between the values of a text record
        mean_file: record whose values are subtracted, element by element
        std_file: record whose values divide, element by element
        mean_value: subtracted from every element
        std_value: divides every element
        batchsize: rows per step; repeated: rows of each part
        shape: extent of each axis of one sample, without the batch axis
        encoded: values are an encoded image
        random_skip: skips 0..random_skip records once, before the first step
        has_label: the first column of a text record is its class index
        prefetching: reads the next batch while the current one is computed
        shuffle: new random order in every pass over the data; false: file order
        header: the first line of a text file has the column names; it is skipped
        label_column: name or number (from 1) of each column of labels; unset: the first column
        skip_column: names or numbers (from 1) of columns that are neither values nor labels
        classes_file: labels are words, the lines of this file; training makes it if it is missing
        target: kCSVInput: the label columns are numbers to predict (regression), no classes
        classes: number of classes or tokens; labels are 0..classes-1
        noise: standard deviation of the noise; the patterns have 1
        batches: mini-batches that are drawn once, kept and repeated; 0: each one is new
        """

    def synthetic_masks(
        self,
        *sources: LayerHandle | str,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        backend: str | None = None,
        path: str | None = None,
        separator: str | None = None,
        mean_file: str | None = None,
        std_file: str | None = None,
        mean_value: Number | None = None,
        std_value: Number | None = None,
        batchsize: Whole | Sequence[Whole] | None = None,
        shape: Whole | Sequence[Whole] | None = None,
        encoded: Truth | None = None,
        random_skip: Whole | None = None,
        has_label: Truth | None = None,
        prefetching: Truth | None = None,
        shuffle: Truth | None = None,
        header: Truth | None = None,
        label_column: str | Sequence[str] | None = None,
        skip_column: str | Sequence[str] | None = None,
        classes_file: str | None = None,
        target: Truth | None = None,
        classes: Whole | None = None,
        noise: Number | None = None,
        batches: Whole | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kSyntheticMasks: images drawn from the seed, with one class per place.

        After the sources: backend, path.

        backend: kvfile, textfile, lmdb, ...
        path: file; relative to the conf's folder, then the working directory
        separator: between the values of a text record
        mean_file: record whose values are subtracted, element by element
        std_file: record whose values divide, element by element
        mean_value: subtracted from every element
        std_value: divides every element
        batchsize: rows per step; repeated: rows of each part
        shape: extent of each axis of one sample, without the batch axis
        encoded: values are an encoded image
        random_skip: skips 0..random_skip records once, before the first step
        has_label: the first column of a text record is its class index
        prefetching: reads the next batch while the current one is computed
        shuffle: new random order in every pass over the data; false: file order
        header: the first line of a text file has the column names; it is skipped
        label_column: name or number (from 1) of each column of labels; unset: the first column
        skip_column: names or numbers (from 1) of columns that are neither values nor labels
        classes_file: labels are words, the lines of this file; training makes it if it is missing
        target: kCSVInput: the label columns are numbers to predict (regression), no classes
        classes: number of classes or tokens; labels are 0..classes-1
        noise: standard deviation of the noise; the patterns have 1
        batches: mini-batches that are drawn once, kept and repeated; 0: each one is new
        """

    def synthetic_tokens(
        self,
        *sources: LayerHandle | str,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        backend: str | None = None,
        path: str | None = None,
        separator: str | None = None,
        mean_file: str | None = None,
        std_file: str | None = None,
        mean_value: Number | None = None,
        std_value: Number | None = None,
        batchsize: Whole | Sequence[Whole] | None = None,
        shape: Whole | Sequence[Whole] | None = None,
        encoded: Truth | None = None,
        random_skip: Whole | None = None,
        has_label: Truth | None = None,
        prefetching: Truth | None = None,
        shuffle: Truth | None = None,
        header: Truth | None = None,
        label_column: str | Sequence[str] | None = None,
        skip_column: str | Sequence[str] | None = None,
        classes_file: str | None = None,
        target: Truth | None = None,
        classes: Whole | None = None,
        noise: Number | None = None,
        batches: Whole | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kSyntheticTokens: sequences of tokens drawn from the seed.

        After the sources: backend, path.

        backend: kvfile, textfile, lmdb, ...
        path: file; relative to the conf's folder, then the working directory
        separator: between the values of a text record
        mean_file: record whose values are subtracted, element by element
        std_file: record whose values divide, element by element
        mean_value: subtracted from every element
        std_value: divides every element
        batchsize: rows per step; repeated: rows of each part
        shape: extent of each axis of one sample, without the batch axis
        encoded: values are an encoded image
        random_skip: skips 0..random_skip records once, before the first step
        has_label: the first column of a text record is its class index
        prefetching: reads the next batch while the current one is computed
        shuffle: new random order in every pass over the data; false: file order
        header: the first line of a text file has the column names; it is skipped
        label_column: name or number (from 1) of each column of labels; unset: the first column
        skip_column: names or numbers (from 1) of columns that are neither values nor labels
        classes_file: labels are words, the lines of this file; training makes it if it is missing
        target: kCSVInput: the label columns are numbers to predict (regression), no classes
        classes: number of classes or tokens; labels are 0..classes-1
        noise: standard deviation of the noise; the patterns have 1
        batches: mini-batches that are drawn once, kept and repeated; 0: each one is new
        """

    def tar_input(
        self,
        *sources: LayerHandle | str | Sequence[str] | str,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        path: str | Sequence[str] | None = None,
        label: str | None = None,
        json_field: str | None = None,
        mask: str | None = None,
        batchsize: Whole | Sequence[Whole] | None = None,
        shape: Whole | Sequence[Whole] | None = None,
        masks: str | None = None,
        classes: str | Sequence[str] | None = None,
        resize: Whole | None = None,
        least_area: Number | None = None,
        mirror: Truth | None = None,
        brightness: Number | None = None,
        contrast: Number | None = None,
        saturation: Number | None = None,
        mean: Number | Sequence[Number] | None = None,
        std: Number | Sequence[Number] | None = None,
        shuffle: Truth | None = None,
        prefetching: Truth | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kTarInput: images of tar files.

        After the sources: path, label.

        path: tar files, or globs; relative: as StoreProto.path
        label: suffix of the members with labels: a whole number, or JSON for json
        json_field: field of the JSON object that has the label, or a list of labels
        mask: suffix of the members with masks; their pixels are classes
        batchsize: rows per step; repeated: rows of each part
        shape: channels (1: grey, 3: colours), height, width; unset: as the first image
        masks: folder with a mask for each image; pixels are classes (kImageInput)
        classes: names of the folders, in the order of their classes; unset: all, sorted (kImageInput)
        resize: shorter side before the crop, pixels; 0: the crop is as large as possible
        least_area: smallest share of an image's area that a random crop has; 1: crops of one size
        mirror: flips left and right at random
        brightness: colours are multiplied by a random factor, at most so far from 1
        contrast: the same for the distance of colours from the mean grey
        saturation: the same for the distance of colours from their own grey
        mean: subtracted from the values; one, or one per channel
        std: then divides them; one, or one per channel
        shuffle: new random order in every pass over the images; false: their order
        prefetching: reads the next batch while the current one is computed
        """

    def text_input(
        self,
        *sources: LayerHandle | str | Sequence[str] | str,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        files: str | Sequence[str] | None = None,
        suffix: str | None = None,
        window: Whole | None = None,
        batchsize: Whole | Sequence[Whole] | None = None,
        held_out: Number | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kTextInput: windows of the bytes of text files.

        After the sources: files, suffix.

        files: files, folders, or globs (**: any folders); relative: as StoreProto.path
        suffix: of a folder, only files whose names end in it; unset: all files
        window: tokens per row
        batchsize: rows per step; repeated: rows of each part
        held_out: share of the text that is not used for training
        """

    def token_input(
        self,
        *sources: LayerHandle | str | Sequence[str] | Literal["UINT16", "UINT32"] | NamedValue,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        files: str | Sequence[str] | None = None,
        element: Literal["UINT16", "UINT32"] | NamedValue | None = None,
        window: Whole | None = None,
        batchsize: Whole | Sequence[Whole] | None = None,
        held_out: Number | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kTokenInput: windows of token numbers.

        After the sources: files, element.

        files: files or globs (**: any folders); relative: as StoreProto.path
        element: of a raw file: one token, little-endian; .npy files name their own
        window: tokens per row
        batchsize: rows per step; repeated: rows of each part
        held_out: share of the tokens that is not used for training
        """

    def transpose(
        self,
        *sources: LayerHandle | Whole | Sequence[Whole],
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        axis: Whole | Sequence[Whole] | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kTranspose: the axes after the batch in another order.

        After the sources: axis.

        axis: per output axis after the batch: the axis of the source (1, 2, ...) that it is
        """

    def transposed_convolution(
        self,
        *sources: LayerHandle | Whole,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        num_filters: Whole | None = None,
        kernel: Whole | None = None,
        pad: Whole | None = None,
        stride: Whole | None = None,
        kernel_x: Whole | None = None,
        kernel_y: Whole | None = None,
        pad_x: Whole | None = None,
        pad_y: Whole | None = None,
        stride_x: Whole | None = None,
        stride_y: Whole | None = None,
        workspace_byte_limit: Whole | None = None,
        spatial_axes: Whole | None = None,
        kernel_z: Whole | None = None,
        pad_z: Whole | None = None,
        stride_z: Whole | None = None,
        dilation: Whole | None = None,
        dilation_x: Whole | None = None,
        dilation_y: Whole | None = None,
        dilation_z: Whole | None = None,
        groups: Whole | None = None,
        output_pad: Whole | None = None,
        pad_end_x: Whole | None = None,
        pad_end_y: Whole | None = None,
        pad_end_z: Whole | None = None,
        pad_end: Whole | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kTransposedConvolution: the gradient of a convolution as a layer: a learned upsampling.

        After the sources: num_filters, kernel.

        num_filters: output channels
        kernel: window extent on every spatial axis
        pad: zeros on each side of every spatial axis
        stride: step of the window on every spatial axis
        kernel_x: window width; overrides kernel on the last axis
        kernel_y: window height; overrides kernel on the last axis but one
        pad_x: overrides pad on the last axis
        pad_y: overrides pad on the last axis but one
        stride_x: overrides stride on the last axis
        stride_y: overrides stride on the last axis but one
        workspace_byte_limit: largest workspace of cuDNN, MiB
        spatial_axes: axes the window moves on, 1..3; input rank = it + 1: one channel
        kernel_z: window depth; overrides kernel on the third axis from the end
        pad_z: overrides pad on the third axis from the end
        stride_z: overrides stride on the third axis from the end
        dilation: distance of neighbouring window elements on every spatial axis
        dilation_x: overrides dilation on the last axis
        dilation_y: overrides dilation on the last axis but one
        dilation_z: overrides dilation on the third axis from the end
        groups: number of groups: equal shares of filters read equal shares of channels
        output_pad: kTransposedConvolution: elements added at the end of every axis
        pad_end_x: overrides pad_end on the last axis
        pad_end_y: overrides pad_end on the last axis but one
        pad_end_z: overrides pad_end on the third axis from the end
        pad_end: zeros after the last element of every axis; unset: as pad
        """

    def upsampling(
        self,
        *sources: LayerHandle | Whole | Literal["NEAREST", "LINEAR"] | NamedValue,
        name: str | None = None,
        params: Sequence[Mapping[str, Any]] = (),
        factor: Whole | None = None,
        method: Literal["NEAREST", "LINEAR"] | NamedValue | None = None,
        **common: Unpack[LayerFields],
    ) -> LayerHandle:
        """kUpsampling: nearest or linear interpolation.

        After the sources: factor, method.

        factor: outputs per input element on every spatial axis
        method: how values between the input elements are computed
        """
