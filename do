#!/usr/bin/env bash
# The one entry to everything: ./do help
set -euo pipefail
cd "$(dirname "$0")"

usage() {
  cat <<'TEXT'
Usage: ./do VERB [ARGUMENTS]     (each verb first installs what is missing, and says so)

  demo            build, then run and check real kernels; start here
  test [PART…]    all tests, or some parts: lint, unit, ir, python, sanitize (a build of its own, unit tests, fuzzing);
                  unit:LAYER, ir:FOLDER, python:WORD (of a file's name): a part of a part;
                  quick: in a minute, what the change at hand most likely breaks (lint, units of its layers, ir, cases);
                  also: docs; threads and sanitize-all (the layers above cpu), each a build of its own; jax (JAX's own tests
                  of Pallas, half an hour); gpu (on an NVIDIA GPU)
  build [PRESET]  build the tools into build/release/bin (or build/PRESET: debug, asan)
  tpu [PLUGIN]    the library's kernels and the recorded cases on this machine's TPUs, against the abstract machine
  pack gpu        build/smalti-gpu.tar.gz: recorded kernels and benchmarks as code for NVIDIA GPUs, with a program that runs,
                  compares and measures them on a machine that has a GPU's driver and nothing else
  wheel           the Python package as wheels, in build/wheels: pip install one anywhere
  bench [NAME]    benchmarks against their peers; without a name: their names, then the table of cpu
  format          clang-format over the sources
  lint            format, layers, file sizes, error pages
  clean           remove build folders and the Python environment
  help            this text
TEXT
}

run() { echo "+ $*" >&2; "$@"; }

configure() {  # PRESET
  if [ ! -f "build/$1/build.ninja" ]; then run cmake --preset "$1" >/dev/null; fi
}

build() {  # PRESET [TARGET…]
  local preset=$1; shift
  configure "$preset"
  cmake --build "build/$preset" --target "${@:-all}"
}

verb=${1:-help}
[ $# -gt 0 ] && shift
case $verb in
  demo)
    tools/setup/setup.sh
    build release tools
    exec tools/demo.sh
    ;;
  test)
    tools/setup/setup.sh --python
    exec tools/test.sh "$@"
    ;;
  build)
    tools/setup/setup.sh
    preset=${1:-release}
    if [ "$preset" = release ]; then build release tools; else build "$preset"; fi
    echo "built: build/$preset/bin" >&2
    ;;
  tpu)
    tools/setup/setup.sh
    build release bin/smalti smalti_kernels_export
    exec tools/tpu.sh "$@"
    ;;
  pack)
    [ "${1:-}" = gpu ] || { echo "./do pack: what is packed is 'gpu'" >&2; exit 2; }
    tools/setup/setup.sh
    build release bin/smalti bench_cuda_kernels bench_cuda_pack
    exec tools/gpu/pack.sh
    ;;
  wheel)
    tools/setup/setup.sh --python
    exec tools/wheel.sh
    ;;
  bench)
    tools/setup/setup.sh --python
    build release tools benches
    exec bench/run.sh "$@"
    ;;
  format)
    tools/setup/setup.sh
    git ls-files '*.h' '*.cpp' | xargs clang-format-22 -i
    ;;
  lint)
    tools/setup/setup.sh
    exec tools/lint.sh
    ;;
  clean)
    run rm -rf build .venv
    ;;
  help | -h | --help) usage ;;
  *)
    echo "./do: no verb '$verb'" >&2
    usage >&2
    exit 2
    ;;
esac
