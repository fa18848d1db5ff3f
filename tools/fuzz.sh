#!/usr/bin/env bash
# Mutated modules, .npy files, case.json files and configurations under the sanitizers for a bounded time.
# Usage: fuzz.sh SECONDS | fuzz.sh --count N [--only modules] [--target cpu] …
# SMALTI_CORPUS=folder: its files are seeds too. SMALTI_FUZZ_PRESET=release: without sanitizers. SMALTI_FUZZ_SEED=N.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/sanitizers.sh
preset=${SMALTI_FUZZ_PRESET:-asan}
folder=build/$preset/fuzz
mkdir -p "$folder"
[[ ${1:-60} == --* ]] || set -- --seconds "${1:-60}"
mapfile -t seeds < <(find "$PWD/test/data" ${SMALTI_CORPUS:+"$SMALTI_CORPUS"} -name '*.bc' -o -name '*.mlir' \
                       -o -name case.json -o -name '*.npy' -size -64k | LC_ALL=C sort)
cd "$folder"
exec ../bin/smalti_fuzz --seed "${SMALTI_FUZZ_SEED:-1}" "$@" "${seeds[@]}"
