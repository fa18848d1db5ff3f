#!/usr/bin/env bash
# Mutated modules under the sanitizers for a bounded time. Usage: fuzz.sh SECONDS
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
folder=build/asan/fuzz
mkdir -p "$folder"
mapfile -t seeds < <(find "$PWD/test/data" -name '*.bc' -o -name 'module.stablehlo.mlir' -o -name 'kernel.mosaic*.mlir' | sort)
cd "$folder"
ASAN_OPTIONS=detect_leaks=0:detect_container_overflow=0:allocator_may_return_null=1 \
  ../bin/smalti_fuzz --seconds "$seconds" --seed "${SMALTI_FUZZ_SEED:-1}" "${seeds[@]}"
