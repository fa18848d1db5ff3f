#!/usr/bin/env bash
# Mutated modules, .npy files, case.json files and configurations under the sanitizers for a bounded time.
# Usage: fuzz.sh SECONDS | fuzz.sh --count N [--only modules] [--target cpu] …
#        fuzz.sh --conform N [FIRST]       N mutated cases by `smalti conform` of the release build: none may crash
#        fuzz.sh --server N [FIRST]        N mutated sessions with the language server of the release build
#        fuzz.sh --guided SECONDS [OPTION…]  inputs chosen by coverage, with libFuzzer's options; builds the preset guided
# SMALTI_CORPUS=folder: its files are seeds too. SMALTI_FUZZ_PRESET=release: without sanitizers. SMALTI_FUZZ_SEED=N.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/sanitizers.sh
mapfile -t seeds < <(find "$PWD/test/data" ${SMALTI_CORPUS:+"$SMALTI_CORPUS"} -name '*.bc' -o -name '*.mlir' \
                       -o -name case.json -o -name '*.npy' -size -64k | LC_ALL=C sort)
seed=${SMALTI_FUZZ_SEED:-1}

# Each in a process of its own, which conform starts; a batch is one call.
conform() {  # N [FIRST]
  local bin=$PWD/build/release/bin batch=200 first=${2:-0} folder
  local end=$((first + $1))
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  for ((at = first; at < end; at += batch)); do
    rm -rf "${folder:?}"/*
    local to=$((at + batch < end ? at + batch : end))
    "$bin/smalti_fuzz" --write cases "$folder" --seed "$seed" --first "$at" --count "$to" "${seeds[@]}"
    local code=0
    "$bin/smalti" conform "$folder" --timeout-seconds 20 --json ${SMALTI_FUZZ_TARGET:+--target "$SMALTI_FUZZ_TARGET"} \
      >"$folder/outcomes.json" 2>"$folder/errors" || code=$?
    python3 tools/fuzz_outcomes.py "$folder" "$code" build/release/fuzz-conform
  done
}

server() {  # N [FIRST]
  local bin=$PWD/build/release/bin first=${2:-0} folder crashed=0
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  "$bin/smalti_fuzz" --write sessions "$folder" --seed "$seed" --first "$first" --count $((first + $1)) "${seeds[@]}"
  for session in "$folder"/*; do
    local code=0
    timeout 20 "$bin/smalti-lsp-server" <"$session" >/dev/null 2>&1 || code=$?
    if [ "$code" -ge 124 ]; then
      mkdir -p build/release/fuzz-server
      cp "$session" "build/release/fuzz-server/$(basename "$session").$code"
      crashed=$((crashed + 1))
    fi
  done
  echo "fuzz: $1 sessions, $crashed ended by a signal or after 20 s (build/release/fuzz-server)"
}

# New inputs stay in build/guided/fuzz/found, where the next run goes on from them.
guided() {  # SECONDS [LIBFUZZER OPTION…]
  command -v clang++-22 >/dev/null || { echo "fuzz: --guided needs clang++-22: apt-get install clang-22 libclang-rt-22-dev" >&2; return 2; }
  [ -f build/guided/build.ninja ] || cmake --preset guided
  cmake --build build/guided --target smalti_fuzz_guided
  local folder=$PWD/build/guided/fuzz i=0
  mkdir -p "$folder/found" "$folder/seeds"
  for file in "${seeds[@]}"; do  # libFuzzer truncates longer ones
    [ "$(stat -c %s "$file")" -gt 65536 ] || ln -sf "$file" "$folder/seeds/$((i++))"
  done
  cd "$folder"
  exec ../bin/smalti_fuzz_guided -max_total_time="$1" -seed="$seed" -max_len=65536 -timeout=20 -rss_limit_mb=4096 "${@:2}" found seeds
}

case ${1:-60} in
  --conform | --server | --guided) "${1#--}" "${@:2}" ;;
  *)
    preset=${SMALTI_FUZZ_PRESET:-asan}
    folder=build/$preset/fuzz
    mkdir -p "$folder"
    [[ ${1:-60} == --* ]] || set -- --seconds "${1:-60}"
    cd "$folder"
    exec ../bin/smalti_fuzz --seed "$seed" "$@" "${seeds[@]}"
    ;;
esac
