#!/usr/bin/env bash
# Tries netpart on a machine with a GPU that reaches no network and keeps nothing between calls.
#
#     tools/try_gpu.sh [-w WHEELS] [-o OUT] [-s SECONDS] PART...
#
# PART is one or more of:
#     smoke    versions, one job on the CPU, on one worker and on two workers of the GPU
#     test     tests/cuda on the GPU; TESTS='-k processes' selects some
#     bench    training steps compared with PyTorch; NETS=lenet,mlp PRECISIONS='tf32 float32' LANES=1 for a part
#     rest     compute-sanitizer on a short run, CUDA IPC between two workers
# Each part ends after SECONDS (default 480) and writes what it found into OUT (default out/gpu) as it goes on.
#
# The machine's python3 needs CuPy 14, NumPy, PyTorch, pytest, pytest-xdist, pytest-timeout and hypothesis. WHEELS
# (default .whl) is a folder with the wheels of what it lacks, made where there is a network:
#     pip download --no-deps --only-binary=:all: --python-version 3.12 --implementation cp \
#       --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux2014_x86_64 \
#       -d .whl 'pyzmq>=27,<28' 'nvidia-cudnn-frontend>=1.28,<1.29'
set -u
cd "$(dirname "$0")/.."

wheels=.whl out=out/gpu seconds=480
while getopts w:o:s: option; do
  case $option in
    w) wheels=$OPTARG ;;
    o) out=$OPTARG ;;
    s) seconds=$OPTARG ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
mkdir -p "$out"
out=$(cd "$out" && pwd)

site=$(mktemp -d) cache=$(mktemp -d)
trap 'rm -rf "$site" "$cache"' EXIT
export PYTHONPATH=$site:$PWD PYTHONUNBUFFERED=1 XDG_CACHE_HOME=$cache CUPY_CACHE_DIR=$cache/cupy
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

install_wheels() {
  ls "$wheels"/*.whl >/dev/null 2>&1 || return 0
  python3 -m pip install -q --no-index --no-deps --no-cache-dir --upgrade --target "$site" "$wheels"/*.whl
}

run_job() { timeout 100 python3 -m netpart run graphs/mnist/conv.conf --workspace "$cache/run" "$@" 2>&1 | tail -n 12; }

try_smoke() {
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv
  python3 -c 'import cupy; cupy.show_config()' | grep -v None
  python3 -c 'import cudnn; print("cuDNN", cudnn.backend_version(), "frontend", cudnn.__version__)'
  python3 -m netpart data digits data/digits
  for choice in "1 cpu" "1 cuda" "2 cuda"; do
    set -- $choice
    echo "== $1 worker(s) on $2"
    time run_job --workers "$1" --device "$2" --steps 40
  done
}

try_test() {
  NETPART_TEST_GPU=1 python3 -m pytest -m gpu tests/cuda -n 12 --dist worksteal --timeout 200 --timeout-method thread \
    -p no:benchmark -p no:cacheprovider -q --tb=short --durations=15 ${TESTS:-}
}

try_bench() {
  for precision in ${PRECISIONS:-tf32 float32 bfloat16}; do
    env ${LANES:+NETPART_LANES=$LANES} python3 -m benchmarks.gpu --precision "$precision" ${NETS:+--nets "$NETS"} \
      -o "$out/gpu-$precision${LANES:+-lanes$LANES}.json"
  done
}

try_rest() {
  python3 -m benchmarks.gpu_bridges -o "$out/gpu-bridges.json"
  make sanitize-gpu GPU_PYTHON=python3 ${NETS:+NETS="$NETS"}
}

install_wheels || exit
failed=0
for part in "${@:-smoke}"; do
  declare -F "try_$part" >/dev/null || { echo "expected smoke, test, bench or rest, got $part" >&2; exit 2; }
  export -f try_smoke try_test try_bench try_rest run_job
  export out cache
  timeout --kill-after=5 "$seconds" bash -c "try_$part" 2>&1 | tee "$out/$part.log"
  code=${PIPESTATUS[0]}
  echo "== $part: exit code $code" | tee -a "$out/$part.log"
  test "$code" = 0 || failed=1
done
exit $failed
