# Everything a person does here, by name. `make` alone lists it.

VENV ?= .venv
PEERS_VENV ?= .venv-peers
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PEERS := $(PEERS_VENV)/.installed
PEERS_BIN := $(PEERS_VENV)/bin
# A machine with a GPU often has a Python of its own with all that is needed: GPU_PYTHON=python3 takes that one as it is.
GPU_PYTHON ?=
ON_GPU = $(or $(GPU_PYTHON),$(BIN)/python)
BESIDE_PEERS = $(or $(GPU_PYTHON),$(PEERS_BIN)/python)
GPU_PEERS = $(if $(GPU_PYTHON),,$(PEERS))
GPU_STAMP = $(if $(GPU_PYTHON),,$(STAMP))
FITS = -c 'import sys; sys.exit(sys.version_info < (3, 11))'
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p $(FITS) 2>/dev/null && { echo $$p; break; }; done)

# Tests run many small nets, often several workers at once: more than one BLAS thread each only makes them wait.
test test-peers check laws fuzz cover bench-partition bench-bridges bench-planners: export OMP_NUM_THREADS := 1
test test-peers check laws fuzz cover bench-partition bench-bridges bench-planners: export OPENBLAS_NUM_THREADS := 1
test test-peers check laws fuzz cover bench-partition bench-bridges bench-planners: export MKL_NUM_THREADS := 1
# Neighbours share fixtures, compiled kernels and imports: each core begins with a run of them, and steals at its end.
ON_ALL_CORES := -n auto --dist worksteal
# Tests start hundreds of processes: each would compile netpart anew where bytecode is not kept.
unexport PYTHONDONTWRITEBYTECODE

# Failures are shown as they come. Both halves always run; the exit code says whether one of them failed. 2: Ctrl-C.
SHOWN := -m pytest --instafail
define HALVES
@failed=0; \
$(1) $(SHOWN) -m '$(2)not alone' $(ON_ALL_CORES) || failed=$$?; test $$failed != 2 || exit 2; \
$(1) $(SHOWN) -m '$(2)alone' || failed=$$?; exit $$failed
endef

.DEFAULT_GOAL := help
.PHONY: bench-simulator help env demo test test-peers dist constraints check laws fuzz lint fix cover test-gpu test-cupy sanitize-gpu sanitize-emulated proto make-zoo draw-zoo layers-page speed-page gpu-page bench-partition bench-gpu bench-gpu-bridges bench-schemes bench-bridges \
	bench-planners bench-pipeline bench-cpu bench-workers bench-start bench-hybrid resattnet-page clean

help: ## list these commands
	@echo 'netpart: make COMMAND, where COMMAND is one of'
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

env: $(STAMP) ## make .venv and install netpart with all its tools, anew when what it should hold has changed

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

constraints: env ## write constraints.txt anew: the newest releases within the bounds of setup.cfg
	$(BIN)/python -m tools.constraints

demo: env ## train LeNet on handwritten digits with 3 workers, and draw it
	$(BIN)/netpart data digits data/digits
	@mkdir -p out
	$(BIN)/netpart run graphs/mnist/conv.conf --workers 3 --summary out/summary.json
	$(BIN)/netpart draw graphs/mnist/conv.conf --workers 3 -o out/conv.svg
	@echo 'The partitioned net is drawn in out/conv.svg; the figures of the run are in out/summary.json.'

test: env ## run every test that needs nothing else
	$(call HALVES,$(BIN)/python,)

test-peers: $(PEERS) ## run the tests that need other packages, PyTorch among them, in .venv-peers
	$(call HALVES,$(PEERS_BIN)/python,peers and )

check: lint ## lint, types, floors and the fast tests: before every commit
	$(BIN)/python $(SHOWN) -m 'not slow' $(ON_ALL_CORES)

laws: env ## every law, with all kernels and transports; ARGS=--hypothesis-profile=hunt for more examples
	$(BIN)/python $(SHOWN) tests/laws tests/end2end/test_law.py $(ON_ALL_CORES) $(ARGS)

fuzz: env ## try broken jobs, frames, data and checkpoints; ARGS='--what frames --cases 30000 --seed 7'
	$(BIN)/python -m tests.fuzz $(ARGS)

lint: env ## format, lint, types and floors, without tests
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache

fix: env ## format, and mend what ruff can mend by itself
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

cover: env ## run the tests of make test and list the lines that none of them reached
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

test-gpu: $(GPU_STAMP) ## run the tests of the GPU path on a GPU; GPU_PYTHON=python3 takes that Python as it is
	NETPART_TEST_GPU=1 $(ON_GPU) -m pytest -m gpu tests/cuda $(ARGS)

test-cupy: $(GPU_STAMP) ## run them with CuPy's own wheel where there is no GPU, on a CUDA runtime of ours
	PYTHONPATH=$(CURDIR)/tests/cuda/runtime/found:$(CURDIR) NETPART_TEST_GPU=1 $(ON_GPU) -m pytest -m gpu tests/cuda $(ARGS)

SANITIZED = $(or $(NETS),halo/conv-rows alexnet/alexnet-small vit/vit-b16-small resattnet/resnet3d18-small)
sanitize-gpu: $(GPU_STAMP) ## look for bad accesses and races in three steps on a GPU; NETS=halo/conv-rows TOOLS=racecheck
	@for net in $(SANITIZED); do for tool in $(or $(TOOLS),memcheck racecheck); do echo "$$net: $$tool"; \
	  compute-sanitizer --tool $$tool --error-exitcode 9 --target-processes all $(ON_GPU) -m netpart run graphs/$$net.conf \
	    --device cuda --launcher threads --workers 1 --steps 3 --workspace out/sanitize $(ARGS) || exit; done; done

sanitize-emulated: $(PEERS) ## look for the same, and more, on the emulated GPU, in other orders of threads; ORDERS='1 2 3'
	@for order in $(or $(ORDERS),1 2); do echo "order $$order"; \
	  EMULATED_ORDER=$$order $(PEERS_BIN)/python -m pytest -m 'peers or not peers' tests/cuda tests/transport/test_cuda_ipc.py $(ON_ALL_CORES) $(ARGS) || exit; done

dist: env ## build a wheel and an sdist of netpart into dist/
	@rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .

proto: env ## generate netpart/proto/*_pb2.py from proto/*.proto
	$(BIN)/python -m tools.gen_proto

make-zoo: env ## write the published nets of graphs/** anew, from the builders in tools/zoo
	$(BIN)/python -m tools.make_zoo

draw-zoo: env ## draw graphs/**: what pages show in docs/images anew, all others in out/zoo
	$(BIN)/python -m tools.draw_zoo

layers-page: env ## write docs/layers.md and its drawings anew
	$(BIN)/python -m tools.gen_layers_page

speed-page: env ## write the tables of docs/speed-results.md anew from benchmarks/results
	$(BIN)/python -m tools.speed_page

gpu-page: env ## write the tables of docs/gpu-results.md anew from benchmarks/results
	$(BIN)/python -m tools.gpu_page

resattnet-page: env ## write the tables of docs/resattnet.md and its charts anew from benchmarks/results
	$(BIN)/python -m tools.resattnet_page

bench-partition: env ## time the partition of 1 000 to 100 000 layers
	$(BIN)/python -m benchmarks.partition

bench-schemes: $(PEERS) ## time every scheme beside MPI and PyTorch; ARGS=--full for the whole grid
	$(PEERS_BIN)/python -m benchmarks.schemes $(ARGS)

bench-cpu: $(PEERS) ## time one worker beside PyTorch; ARGS='--nets lenet,mlp --kernels reference'
	$(PEERS_BIN)/python -m benchmarks.cpu $(ARGS)

bench-workers: $(PEERS) ## time two workers beside PyTorch's DDP and tensor parallelism
	$(PEERS_BIN)/python -m benchmarks.workers $(ARGS)

bench-start: $(PEERS) ## time from the command to the first finished step
	$(PEERS_BIN)/python -m benchmarks.start $(ARGS)

bench-hybrid: $(PEERS) ## what is missing of 3D-ResAttNet on 1 to 8 workers beside PyTorch; NETS=resattnet18 WORKERS=1,2 TASKS=ad for a part
	$(PEERS_BIN)/python -m benchmarks.hybrid $(NETS:%=--nets %) $(WORKERS:%=--workers %) $(TASKS:%=--tasks %) $(ARGS)

bench-gpu: $(GPU_PEERS) ## time a GPU beside PyTorch; NETS=lenet,mlp PRECISION=float32 for a part, GPU_PYTHON=python3
	$(BESIDE_PEERS) -m benchmarks.gpu $(NETS:%=--nets %) $(PRECISION:%=--precision %) $(ARGS)

bench-gpu-bridges: $(GPU_PEERS) ## time what moves tensors between two workers of one GPU
	$(BESIDE_PEERS) -m benchmarks.gpu_bridges $(ARGS)

bench-bridges: $(PEERS) ## compare bridges and all-reduces of one host with memcpy, ZeroMQ, gloo and MPI
	$(PEERS_BIN)/python -m benchmarks.bridges

bench-simulator: env ## hold simulated steps of two workers against real ones
	$(BIN)/python -m benchmarks.simulator $(ARGS)

bench-pipeline: env ## time how long the stages of a pipeline wait
	$(BIN)/python -m benchmarks.pipeline $(ARGS)

bench-planners: env ## compare planners with what is proved, on 100 random problems (20 minutes)
	$(BIN)/python -m benchmarks.planners

clean: ## remove what builds, tests and jobs left behind; the environment and data/ stay
	rm -rf build dist out *.egg-info .coverage .coverage.* .hypothesis
	rm -rf .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
