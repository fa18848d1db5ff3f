#!/usr/bin/env bash
# JAX's own tests of Pallas on this engine: ./do test jax, or tools/test_jax.sh with the options that test/python/jax_suite/README.md has
set -euo pipefail
cd "$(dirname "$0")/.."

tests=${SMALTI_JAX_TESTS:-../shared/jax_tests}
if [ ! -d "$tests" ]; then
  echo "test jax: skipped, there is no $tests: SMALTI_JAX_TESTS names a folder with JAX's tests/pallas" >&2
  exit 0
fi
python=build/jax/venv/bin/python
if ! $python -c 'import jax, hypothesis, scipy, pytest' 2>/dev/null; then
  newer=$(tools/newer_python.sh) || exit 1
  echo "test jax: JAX 0.12 from PyPI into build/jax/venv (about a minute)" >&2
  "$newer" -m venv --clear build/jax/venv
  $python -m pip install -q --disable-pip-version-check -r test/python/jax_suite/requirements.txt
fi
cmake --build build/release --target smalti
[ -f build/jax/extension/build.ninja ] || cmake -G Ninja -S python -B build/jax/extension -DCMAKE_BUILD_TYPE=Release \
  -Dsmalti_DIR="$PWD/build/release" -DPython_EXECUTABLE="$PWD/$python" >/dev/null
cmake --build build/jax/extension
PYTHONPATH=$PWD/build/jax/extension/python exec $python test/python/jax_suite/run.py --tests "$tests" "$@"
