#!/usr/bin/env bash
# All tests, in the order that finds a mistake soonest. Called by ./do test [PART…]; ends with "N passed, N failed".
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
ir() { .venv/bin/python /usr/lib/llvm-22/bin/lit -q --no-progress-bar test/ir; }
# A file's tests share what they made at length.
python_tests() { .venv/bin/python -m pytest -q -n "$(nproc)" --dist loadfile test/python; }
docs() { .venv/bin/python -m pytest -q test/python/test_docs.py test/python/test_error_pages.py; }
sanitized_unit() { (. tools/sanitizers.sh; unit_tests asan); }
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
    ir) need_release; step ir ir ;;
    python) need_release; step python python_tests ;;
    docs) need_release; step docs docs ;;
    jax) need_release; step jax tools/test_jax.sh ;;
    sanitize) step build-asan build_sanitized; step unit-asan sanitized_unit; step fuzz fuzz ;;
    *) echo "./do test: no part '$part' (unit ir python docs jax lint sanitize)" >&2; exit 2 ;;
  esac
done

for f in "${failures[@]}"; do echo "FAILED: $f" >&2; done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
