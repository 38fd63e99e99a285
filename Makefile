# The commands for working on netpart. `make` alone lists them.

VENV ?= .venv
PEERS_VENV ?= .venv-peers
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PEERS := $(PEERS_VENV)/.installed
PEERS_BIN := $(PEERS_VENV)/bin
# CUDA sources have to compile with the oldest NVRTC, which setup.cfg names, and with the newest. An environment has one
# version of a package, so the newest one is in a folder of its own.
NEWEST_NVRTC ?= 13.5.37
NVRTC := $(NEWEST_NVRTC:%=$(PEERS_VENV)/nvrtc-%)
# A machine with a GPU often has a Python with all needed packages: GPU_PYTHON=python3 uses that one as it is.
GPU_PYTHON ?=
ON_GPU = $(or $(GPU_PYTHON),$(BIN)/python)
PEERS_PYTHON = $(or $(GPU_PYTHON),$(PEERS_BIN)/python)
GPU_PEERS = $(if $(GPU_PYTHON),,$(PEERS))
GPU_STAMP = $(if $(GPU_PYTHON),,$(STAMP))
FITS = -c 'import sys; sys.exit(sys.version_info < (3, 11))'
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p $(FITS) 2>/dev/null && { echo $$p; break; }; done)

# Tests run many small nets, often several workers at once: with more than one BLAS thread each, they would wait for cores.
test test-thorough test-peers test-slurm check laws fuzz cover bench-partition bench-bridges bench-planners bench-sealing: export OMP_NUM_THREADS := 1
test test-thorough test-peers test-slurm check laws fuzz cover bench-partition bench-bridges bench-planners bench-sealing: export OPENBLAS_NUM_THREADS := 1
test test-thorough test-peers test-slurm check laws fuzz cover bench-partition bench-bridges bench-planners bench-sealing: export MKL_NUM_THREADS := 1
# Tests of one file share fixtures, compiled kernels and imports, so each core starts with a contiguous share of the tests
# and takes tests from other cores when its own are done.
ON_ALL_CORES := -n auto --dist worksteal
# Tests start hundreds of processes: without cached bytecode each of them would compile netpart again.
unexport PYTHONDONTWRITEBYTECODE

# Failures are shown at once. Both halves always run, and the exit code is not 0 if one of them failed; after Ctrl-C
# (exit code 2) the second half does not start.
SHOWN := -m pytest --instafail
define HALVES
@failed=0; \
$(1) $(SHOWN) -m '$(2)not alone' $(ON_ALL_CORES) || failed=$$?; test $$failed != 2 || exit 2; \
$(1) $(SHOWN) -m '$(2)alone' || failed=$$?; exit $$failed
endef

.DEFAULT_GOAL := help
.PHONY: test-slurm bench-sealing bench-simulator help env demo test test-thorough test-peers dist constraints check laws fuzz lint fix cover test-gpu sanitize-gpu sanitize-emulated proto make-zoo draw-zoo editors layers-page language-page speed-page gpu-page bench-partition bench-scale bench-gpu bench-gpu-bridges bench-schemes bench-bridges \
	bench-planners bench-pipeline bench-cpu bench-memory bench-workers bench-start bench-ray bench-hybrid resattnet-page clean

help: ## list these commands
	@echo 'netpart: make COMMAND, where COMMAND is one of'
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

env: $(STAMP) ## create .venv and install netpart with all its tools; again if its requirements have changed

$(STAMP): EXTRAS := dev
$(PEERS): EXTRAS := dev,peers
%/.installed: setup.cfg pyproject.toml constraints.txt
	@test -n '$(PYTHON)' && $(PYTHON) $(FITS) 2>/dev/null || { \
	  echo 'netpart needs Python 3.11 or newer, and $(or $(PYTHON),no python on the PATH) is not that.' >&2; \
	  echo 'Install one, or name it: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)' >&2; exit 1; }
	@echo 'making $* and installing netpart[$(EXTRAS)] into it (a few minutes the first time)'
	@$(PYTHON) -m venv --clear $*
	@$*/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[$(EXTRAS)]'
	@touch $@

$(PEERS_VENV)/nvrtc-%: $(PEERS)
	@rm -rf $(PEERS_VENV)/nvrtc-*
	@$(PEERS_BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $@ \
	  'nvidia-cuda-nvrtc==$*; platform_machine == "x86_64"'
	@mkdir -p $@ && touch $@

constraints: env ## update constraints.txt to the newest releases within the bounds of setup.cfg
	$(BIN)/python -m tools.constraints

demo: env ## train LeNet on handwritten digits with 3 workers, and draw it
	$(BIN)/netpart data digits data/digits
	@mkdir -p out
	$(BIN)/netpart run graphs/mnist/conv.conf --workers 3 --summary out/summary.json
	$(BIN)/netpart draw graphs/mnist/conv.conf --workers 3 -o out/conv.svg
	@echo 'The partitioned net is drawn in out/conv.svg; the figures of the run are in out/summary.json.'

test: env ## run every test that needs only this environment
	$(call HALVES,$(BIN)/python,)

test-thorough: env ## run more examples of the laws, and the nets and deaths of which make test runs a sample
	NETPART_THOROUGH=1 $(BIN)/python $(SHOWN) $(ON_ALL_CORES) $(ARGS)

test-peers: $(PEERS) $(NVRTC) ## run the tests that need other packages, such as PyTorch, in .venv-peers
	$(call HALVES,$(PEERS_BIN)/python,peers and )

test-slurm: env ## run the tests that need the Debian packages slurm-wlm and munge, and root
	$(BIN)/python $(SHOWN) -m slurm tests/workers

check: lint ## run lint, types, floors and the fast tests: before every commit
	$(BIN)/python $(SHOWN) -m 'not slow' $(ON_ALL_CORES)

laws: env ## run every law, with all kernels and transports; ARGS=--hypothesis-profile=hunt for more examples
	$(BIN)/python $(SHOWN) tests/laws tests/end2end/test_law.py $(ON_ALL_CORES) $(ARGS)

fuzz: env ## try broken jobs, frames, data and checkpoints; ARGS='--what frames --cases 30000 --seed 7'
	$(BIN)/python -m tests.fuzz $(ARGS)

lint: env ## check format, lint, types, floors and the layout of jobs, without tests
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/netpart fmt --check graphs
	$(BIN)/oxlint --silent netpart

fix: env ## format, and repair what ruff can repair
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

cover: env ## run the tests of make test and list the lines that none of them executed
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

test-gpu: $(GPU_STAMP) ## run the tests of the GPU path on a GPU; GPU_PYTHON=python3 uses that Python as it is
	NETPART_TEST_GPU=1 $(ON_GPU) -m pytest -m gpu tests/cuda -n 12 --dist worksteal --timeout 200 --timeout-method thread $(ARGS)

# Engines that are timed under compute-sanitizer are not kept for the user.
OWN_CACHE = XDG_CACHE_HOME='$(CURDIR)/out/sanitize/cache'
SANITIZED = $(or $(NETS),halo/conv-rows alexnet/alexnet-small vit/vit-b16-small resattnet/resnet3d18-small)
sanitize-gpu: $(GPU_STAMP) ## search three training steps on a GPU for bad accesses and races; NETS=halo/conv-rows TOOLS=racecheck
	@for net in $(SANITIZED); do for tool in $(or $(TOOLS),memcheck racecheck); do echo "$$net: $$tool"; \
	  $(OWN_CACHE) compute-sanitizer --tool $$tool --report-api-errors no --error-exitcode 9 --target-processes all $(ON_GPU) -m netpart run graphs/$$net.conf \
	    --device cuda --launcher threads --workers 1 --steps 3 --workspace out/sanitize $(ARGS) || exit; done; done

sanitize-emulated: $(PEERS) ## search for them on the emulated GPU, with several orders of threads; ORDERS='1 2 3'
	@for order in $(or $(ORDERS),1 2); do echo "order $$order"; \
	  EMULATED_ORDER=$$order $(PEERS_BIN)/python -m pytest -m 'peers or not peers' tests/cuda tests/transport/test_cuda_ipc.py $(ON_ALL_CORES) $(ARGS) || exit; done

dist: env ## build a wheel and an sdist of netpart into dist/
	@rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .

proto: env ## generate netpart/proto/*_pb2.py from proto/*.proto
	$(BIN)/python -m tools.gen_proto

make-zoo: env ## regenerate the published nets of graphs/** from the builders in tools/zoo
	$(BIN)/python -m tools.make_zoo

draw-zoo: env ## draw graphs/**: the drawings of pages to docs/images, all others to out/zoo
	$(BIN)/python -m tools.draw_zoo

editors: env ## regenerate the grammars of editors/ and the types of netpart.Net from the fields of the language
	$(BIN)/python -m tools.gen_editors
	$(BIN)/python -m tools.gen_builder

layers-page: env ## regenerate docs/layers.md and its drawings
	$(BIN)/python -m tools.gen_layers_page

language-page: env ## regenerate the table of updaters in docs/language.md
	$(BIN)/python -m tools.updater_page

speed-page: env ## write the tables of docs/speed-results.md anew from benchmarks/results
	$(BIN)/python -m tools.speed_page

gpu-page: env ## write the tables of docs/gpu-results.md anew from benchmarks/results
	$(BIN)/python -m tools.gpu_page

resattnet-page: env ## regenerate the tables and charts of docs/resattnet.md from benchmarks/results
	$(BIN)/python -m tools.resattnet_page

bench-partition: env ## time the partition of 1 000 to 100 000 layers
	$(BIN)/python -m benchmarks.partition

bench-scale: env ## time check, partition, plan and simulate for 64 to 1 024 workers; ARGS='--workers 64 --verbs check'
	$(BIN)/python -m benchmarks.scale $(ARGS)

bench-schemes: $(PEERS) ## time every scheme, compared with MPI and PyTorch; ARGS=--full for the whole grid
	$(PEERS_BIN)/python -m benchmarks.schemes $(ARGS)

bench-cpu: $(PEERS) ## time one worker, compared with PyTorch; ARGS='--nets lenet,mlp --kernels reference'
	$(PEERS_BIN)/python -m benchmarks.cpu $(ARGS)

bench-memory: $(PEERS) ## compare the memory of one worker with PyTorch's, and with its plan
	$(PEERS_BIN)/python -m benchmarks.memory $(ARGS)

bench-workers: $(PEERS) ## time two workers, compared with PyTorch's DDP and tensor parallelism
	$(PEERS_BIN)/python -m benchmarks.workers $(ARGS)

bench-start: $(PEERS) ## time from the command to the first finished step
	$(PEERS_BIN)/python -m benchmarks.start $(ARGS)

bench-ray: $(PEERS) ## time a step with --launcher ray compared with --launcher env, on three hosts (root, iproute2)
	$(PEERS_BIN)/python -m benchmarks.ray_launcher $(ARGS)

bench-hybrid: $(PEERS) ## time what is not yet measured of 3D-ResAttNet on 1 to 8 workers and of PyTorch; NETS=resattnet18 WORKERS=1,2 TASKS=ad for a part
	$(PEERS_BIN)/python -m benchmarks.hybrid $(NETS:%=--nets %) $(WORKERS:%=--workers %) $(TASKS:%=--tasks %) $(ARGS)

bench-gpu: $(GPU_PEERS) ## time a GPU, compared with PyTorch; NETS=lenet,mlp PRECISION=float32 for a part, GPU_PYTHON=python3
	$(PEERS_PYTHON) -m benchmarks.gpu $(NETS:%=--nets %) $(PRECISION:%=--precision %) $(ARGS)

bench-gpu-bridges: $(GPU_PEERS) ## time the transports of tensors between two workers on one GPU
	$(PEERS_PYTHON) -m benchmarks.gpu_bridges $(ARGS)

bench-bridges: $(PEERS) ## compare bridges and all-reduces of one host with memcpy, ZeroMQ, gloo and MPI
	$(PEERS_BIN)/python -m benchmarks.bridges

bench-sealing: env ## compare sealed links with plain ones, over a veth pair and at 1 Gb/s; needs root and iproute2
	$(BIN)/python -m benchmarks.sealing $(ARGS)

bench-simulator: env ## compare simulated steps of two workers with real ones
	$(BIN)/python -m benchmarks.simulator $(ARGS)

bench-predictions: env ## compare predicted steps of two workers with measured ones, on a quiet machine
	$(BIN)/python -m benchmarks.predictions $(ARGS)

bench-choices: env ## compare the plans that `netpart plan` takes with all others, measured with two workers
	$(BIN)/python -m benchmarks.choices $(ARGS)

bench-resident-memory: env ## compare the forecast of memory with what two workers take
	$(BIN)/python -m benchmarks.resident_memory $(ARGS)

bench-pipeline: env ## measure how long the stages of a pipeline wait
	$(BIN)/python -m benchmarks.pipeline $(ARGS)

bench-planners: env ## compare planners with proved bounds, on 100 random problems (20 minutes)
	$(BIN)/python -m benchmarks.planners

clean: ## remove the files of builds, tests and jobs; the environment and data/ stay
	rm -rf build dist out *.egg-info .coverage .coverage.* .hypothesis
	rm -rf .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
