#!/usr/bin/env bash
# All tests, in the order that finds errors soonest. Called by ./do test [PART…]; ends with "N passed, N failed".
# unit:LAYER or unit:LAYER/FOLDER, ir:FOLDER and python:WORD are a part of a part; quick is what a change most likely breaks, in a minute.
set -uo pipefail
cd "$(dirname "$0")/.."

parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(lint unit ir python sanitize)
passed=0 failed=0 failures=()
bin=$PWD/build/release/bin
export SMALTI_BIN_DIR=$bin

# Runs one step: NAME COMMAND…
step() {
  local name=$1 start=$SECONDS; shift
  echo "=== $name" >&2
  if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); failures+=("$name"); fi
  echo "=== $name: $((SECONDS - start)) s" >&2
}

configured() { [ -f "build/$1/build.ninja" ] || cmake --preset "$1" >/dev/null; }
# Configured before nanobind was there, the build has no Python package.
build_release() {
  configured release && { grep -q smalti_python build/release/build.ninja || cmake --preset release >/dev/null; } &&
    cmake --build build/release
}
build_sanitized() { configured asan && cmake --build build/asan; }

unit_tests() { ctest --test-dir "build/$1" --output-on-failure -j "$(nproc)" -L unit; }
unit() { unit_tests release; }
# The unit tests of a layer, or of a folder in it: those of its suites. A label that no test has would pass.
unit_of() {
  local layer=${1%%/*}
  [ -d "test/unit/$1" ] && cmake --build build/release --target "smalti_${layer}_test" || return 1
  if [ "$layer" = "$1" ]; then
    ctest --test-dir build/release --output-on-failure -j "$(nproc)" -L "^$1\$" --no-tests=error
  else
    "$bin/smalti_${layer}_test" --gtest_brief --gtest_filter="$(grep -rhoP 'TEST(_[FP])?\(\K\w+' "test/unit/$1" |
      sort -u | sed 's|.*|*&.*:*/&.*|' | paste -sd:)"
  fi
}
ir() { .venv/bin/python /usr/lib/llvm-22/bin/lit -q --no-progress-bar "test/ir${1:+/$1}"; }
cases() { "$bin/smalti" conform test/data/cases; }
build_quick() {
  local tests=("${@/#/smalti_}")
  configured release && cmake --build build/release --target smalti smalti-opt "${tests[@]/%/_test}"
}
quick_unit() { SMALTI_QUICK_TESTS=1 ctest --test-dir build/release --output-on-failure -j "$(nproc)" -L "^($(IFS='|'; echo "$*"))\$"; }
# Tests of one file share expensive fixtures. Files that take minutes come first (conftest.py).
python_of() { .venv/bin/python -m pytest -q test/python/test_*"$1"*.py; }
python_tests() { .venv/bin/python -m pytest -q -n "$(nproc)" --dist loadfile --no-loadscope-reorder test/python; }
changed_python() { .venv/bin/python -m pytest -q -n "$(nproc)" --dist loadfile "$@"; }
docs() { .venv/bin/python -m pytest -q test/python/test_docs.py test/python/test_error_pages.py; }
sanitized_unit() { (. tools/sanitizers.sh; unit_tests "$1"); }
build_all_sanitized() { configured asan-all && cmake --build build/asan-all --target $(printf 'smalti_%s_test ' "${LAYERS_ABOVE_CPU[@]}"); }
all_sanitized_unit() { (. tools/sanitizers.sh
  ctest --test-dir build/asan-all --output-on-failure -j "$(nproc)" -L "^($(IFS='|'; echo "${LAYERS_ABOVE_CPU[*]}"))\$" --no-tests=error); }
LAYERS_ABOVE_CPU=(gpu pjrt lang driver)  # plain has no tests of its own: those of driver run it
build_threads() { configured tsan && cmake --build build/tsan --target smalti_base_test smalti_machine_test smalti_cpu_test; }
# What threads share: locks, the pool, groups of devices, the cache, the machine's scheduler and transport. Generated code
# is not instrumented, so kernels do not run here. A child of fork has its parent's threads on record: no leaks of it.
threads() {
  local bin=build/tsan/bin TSAN_OPTIONS="suppressions=$PWD/tools/tsan.supp second_deadlock_stack=1 allocator_may_return_null=1 report_thread_leaks=0 die_after_fork=0"
  export TSAN_OPTIONS
  "$bin/smalti_base_test" --gtest_brief &&
    "$bin/smalti_cpu_test" --gtest_brief --gtest_filter='Pool.*:DeviceGroup.*:Cache.*:CacheFolder.*:Arena.*' &&
    "$bin/smalti_machine_test" --gtest_brief --gtest_filter='Scheduler.*:Transport.*:Inbox.*:Devices.*:Replay.*'
}
# GPU code on this machine's GPU; skipped without one.
gpu() {
  if ! [ -e /dev/nvidiactl ]; then echo "this machine has no NVIDIA GPU: nothing runs (./do pack gpu makes what another one can run)" >&2; return 0; fi
  "$bin/smalti" conform test/data/cases --target cuda --expected-failures test/data/gpu_refused.txt
}
fuzz() { tools/fuzz.sh "${SMALTI_FUZZ_SECONDS:-60}"; }
native_fuzz() {
  SMALTI_FUZZ_PRESET=release tools/fuzz.sh --count "${SMALTI_NATIVE_FUZZ_COUNT:-500}" --only modules --target cpu
}

built=no
need_release() { if [ $built = no ]; then step build build_release; built=yes; fi; }

for part in "${parts[@]}"; do
  case $part in
    lint) step lint tools/lint.sh ;;
    unit) need_release; step unit unit; step native-fuzz native_fuzz ;;
    unit:*) step configure configured release; step "$part" unit_of "${part#*:}" ;;
    ir) need_release; step ir ir ;;
    ir:*) need_release; step "$part" ir "${part#*:}" ;;
    quick)
      step lint tools/lint.sh
      mapfile -t layers < <(python3 tools/changed_layers.py)
      step build build_quick "${layers[@]}"
      [ ${#layers[@]} = 0 ] || step unit quick_unit "${layers[@]}"
      mapfile -t tests < <(python3 tools/changed_layers.py --python)
      [ ${#tests[@]} = 0 ] || step python changed_python "${tests[@]}"
      step ir ir; step cases cases ;;
    python) need_release; step python python_tests ;;
    python:*) need_release; step "$part" python_of "${part#*:}" ;;
    docs) need_release; step docs docs ;;
    jax) need_release; step jax tools/test_jax.sh ;;
    gpu) need_release; step gpu gpu ;;
    threads) step build-tsan build_threads; step threads threads ;;
    sanitize) step build-asan build_sanitized; step unit-asan sanitized_unit asan; step fuzz fuzz ;;
    sanitize-all) step build-asan-all build_all_sanitized; step unit-asan-all all_sanitized_unit ;;
    *) echo "./do test: no part '$part' (quick lint unit[:LAYER[/FOLDER]] ir[:FOLDER] python[:WORD] docs jax gpu sanitize sanitize-all threads)" >&2; exit 2 ;;
  esac
done

for f in "${failures[@]}"; do echo "FAILED: $f" >&2; done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
