" Jobs of netpart. Made by tools/gen_editors.py: a change belongs there.
if exists('b:current_syntax')
  finish
endif

syn keyword netpartField alg alpha axis backend bandwidth base base_lr batches batchsize beta beta1 beta2 between
syn keyword netpartField bias_correction bias_term bits bn_mode brightness bucket_bytes cache_mib causal cd_k ceil_mode
syn keyword netpartField change_freq checkpoint_after checkpoint_best checkpoint_freq checkpoint_keep checkpoint_path
syn keyword netpartField class_weight classes classes_file clip_high clip_low clip_norm collectives concate_dim contrast
syn keyword netpartField cooldown count count_include_pad cropsize data deadline debug delta delta_outside_root dilation
syn keyword netpartField dilation_x dilation_y dilation_z dim_hidden disp_after disp_freq drift dropout_ratio dtype
syn keyword netpartField dynamic_srclayer elastic_freq element ema_decay ema_eval ema_start ema_warmup encoded epsilon
syn keyword netpartField exclude factor feature_dim files final_lr first flip flops folder frozen gamma gaussian gpu
syn keyword netpartField groups growth has_label hdim header held_out high id ignore_index in_turns include input
syn keyword netpartField integer json_field kernel kernel_x kernel_y kernel_z kernels knorm label label_column
syn keyword netpartField label_path label_smoothing labels latency least_area least_change least_lr level local_size
syn keyword netpartField location low lr_scale mask masks max_lr max_workers mean mean_file mean_value meanfile memory
syn keyword netpartField method metric mib micro_batches min_workers mirror mode momentum name negative_slope noise
syn keyword netpartField norm_a norm_b normalisation normalise nserver_groups nservers_per_group nservers_per_procs
syn keyword netpartField num_concates num_filters num_openblas_threads num_output num_partitions num_slices
syn keyword netpartField num_softmax_per_instance num_splits nworker_groups nworkers_per_group nworkers_per_procs of
syn keyword netpartField output output_pad over overhead owner pad pad_end pad_end_x pad_end_y pad_end_z pad_value pad_x
syn keyword netpartField pad_y pad_z partition_dim partition_id parts path patience phase poll_time pool positive_weight
syn keyword netpartField pow precision prefetching random_skip recompute region remainder replicas reset_param_version
syn keyword netpartField resize restart resume rho rise rows saturation scale schedule scheme seed separator
syn keyword netpartField server_worker_separate shape shard_updates share_from share_memory share_src_blobs shift
syn keyword netpartField shuffle sigma sizes skip_column slice_dim snapshot_freq spatial_axes srclayers stages staleness
syn keyword netpartField start start_port std std_file std_value step step_lr stride stride_x stride_y stride_z suffix
syn keyword netpartField sum_gradient sync_freq target term test_after test_freq test_steps times tokens topk
syn keyword netpartField train_steps transpose transpose_a transpose_b type unroll_conn_type unroll_index unroll_len
syn keyword netpartField user_alg user_scheme user_type validate_after validate_freq validate_steps value vocab_path
syn keyword netpartField vocab_size warmup_factor warmup_steps wd_scale weight_decay window worker workers workspace
syn keyword netpartField workspace_byte_limit
syn keyword netpartBlock activation_conf adadelta_conf adam_conf adammax_conf adamw_conf argsort_conf array_conf
syn keyword netpartBlock attention_conf block block_conf bm_conf cd_conf change char_rnn_conf cluster concate_conf
syn keyword netpartBlock convolution_conf cosine_conf crop_conf cut data_cache dropout_conf dummy_conf early_stop
syn keyword netpartBlock elastic embedding_conf exponential_conf fixedstep_conf globalpooling_conf gru_conf host
syn keyword netpartBlock image_conf init innerproduct_conf inverse_conf inverset_conf layer_group learning_rate let
syn keyword netpartBlock linear_conf link lmdbdata_conf loss_conf lrn_conf matmul_conf mnist_conf neuralnet nifti_conf
syn keyword netpartBlock norm_conf onecycle_conf onehot_conf param plateau_conf pooling_conf rbm_conf relu_conf
syn keyword netpartBlock reshape_conf rgbimage_conf rmsprop_conf rnn_dummy_conf rotary_conf shard sharddata_conf
syn keyword netpartBlock slice_conf softmax_conf softmaxloss_conf split_conf step_conf store_conf synthetic_conf
syn keyword netpartBlock tar_conf text_conf token_conf train_one_batch transpose_conf updater upsampling_conf
syn keyword netpartLayerType kAccuracy kActivation kAdd kArgSort kArrayInput kAttention kBM kBinaryLoss kBlock
syn keyword netpartLayerType kBridgeDst kBridgeSrc kCConvolution kCPooling kCSVInput kCSVOutput kCharRNN kCharRNNOutput
syn keyword netpartLayerType kClassToken kConcate kConfusion kConvolution kCrop kCudnnActivation kCudnnBM kCudnnConv
syn keyword netpartLayerType kCudnnLRN kCudnnPool kCudnnSoftmax kCudnnSoftmaxLoss kDropout kDummy kEmbedding
syn keyword netpartLayerType kEuclideanLoss kFlatten kGRU kGate kGlobalPooling kGroupNorm kHuberLoss kImageInput
syn keyword netpartLayerType kImagePreprocess kInnerProduct kL1Loss kLMDBData kLRN kLabel kLayerNorm kMatmul kMax kMnist
syn keyword netpartLayerType kMul kNiftiInput kOneHot kPooling kPositions kRBMHid kRBMVis kRGBImage kRMSNorm kRNNDummy
syn keyword netpartLayerType kRNNLabel kReLU kRecordInput kRecordOutput kReshape kRotary kSTanh kShardData kSigmoid
syn keyword netpartLayerType kSlice kSoftmax kSoftmaxLoss kSplit kSum kSyntheticInput kSyntheticMasks kSyntheticTokens
syn keyword netpartLayerType kTarInput kTextInput kTokenInput kTranspose kTransposedConvolution kUpsampling kUserLayer
syn keyword netpartValue ALTSPLIT AS_WRITTEN AUTO AVG AXIS BFLOAT16 COLUMN_ROW CPU CUDA DATA DELAYED DIRECT DOUBLING ELU
syn keyword netpartValue FLOAT32 FLOAT64 GATHER_SCATTER GELU GELU_TANH GPIPE HIERARCHICAL INPUT LAST LINEAR LOCAL MAX
syn keyword netpartValue MIN MISH NAIVE NCCL NEAREST NO ONEDNN ONE_F_ONE_B ONE_WEIRD_TRICK OPTIMAL PIPELINE REFERENCE
syn keyword netpartValue RELU RELU6 REPLICA RING ROWS SEQUENTIAL SIGMOID SILU SOFTPLUS SPREAD STANH SYNC TANH TF32 TREE
syn keyword netpartValue UINT16 UINT32 WEIGHTS YES kAdaDelta kAdaGrad kAdam kAdamMax kAdamW kAggGrad kBP kBPTT kBackward
syn keyword netpartValue kCD kConstant kCosine kDeploy kExponential kFixed kFixedStep kForward kGaussian
syn keyword netpartValue kGaussianSqrtFanIn kInverse kInverseT kLinear kLoss kNegative kNesterov kOneCycle kParam
syn keyword netpartValue kPlateau kPositive kRMSProp kSGD kStep kTest kTrain kUniform kUniformSqrtFanIn
syn keyword netpartValue kUniformSqrtFanInOut kUnknown kUnrollCustomized kUnrollFirstToLast kUnrollOneToAll
syn keyword netpartValue kUnrollOneToOne kUser kUserAlg kUserChange kUserInit kUserUpdater kVal
syn keyword netpartBoolean true false
syn match netpartField /\<\(device\|layer\)\>\ze\s*:/
syn match netpartBlock /\<\(device\|layer\)\>\ze\s*:\=\s*[{<]/
syn match netpartPlaceholder /\${\h\w*}/
syn match netpartNumber /[-+]\=\<\(0[xX]\x\+\|\d\+\.\=\d*\([eE][-+]\=\d\+\)\=[fF]\=\|inf\|nan\)\>/
syn match netpartNumber /[-+]\=\.\d\+\([eE][-+]\=\d\+\)\=[fF]\=\>/
syn match netpartExtension /\[\h[[:alnum:]_./]*\]\ze\s*[:{<]/
syn match netpartEscape /\\./ contained
syn region netpartString oneline start=/"/ skip=/\\./ end=/"/ contains=netpartEscape,netpartPlaceholder
syn region netpartString oneline start=/'/ skip=/\\./ end=/'/ contains=netpartEscape,netpartPlaceholder
syn match netpartComment /#.*$/
syn match netpartOwnComment /#:.*$/

hi def link netpartField Identifier
hi def link netpartBlock Statement
hi def link netpartLayerType Type
hi def link netpartValue Constant
hi def link netpartBoolean Boolean
hi def link netpartPlaceholder PreProc
hi def link netpartNumber Number
hi def link netpartExtension Special
hi def link netpartEscape SpecialChar
hi def link netpartString String
hi def link netpartComment Comment
hi def link netpartOwnComment SpecialComment

let b:current_syntax = 'netpart'
