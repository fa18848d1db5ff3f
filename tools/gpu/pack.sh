#!/usr/bin/env bash
# The recorded cases as calls that any NVIDIA GPU from sm_80 on can be tested with: ./do pack gpu
#
# Each case below test/data/cases runs here on cuda-host, which keeps its calls: PTX, launch, arrays before and after. What
# this leaves is build/smalti-gpu.tar.gz; there:  tar xf smalti-gpu.tar.gz && ./smalti-gpu/run_calls smalti-gpu/calls
set -euo pipefail
cd "$(dirname "$0")/../.."

out=$PWD/build/smalti-gpu
rm -rf "$out" && mkdir -p "$out/calls"
packed=0 left=()
for case in test/data/cases/*/; do
  name=$(basename "$case")
  if build/release/bin/smalti run "$case" --target "cuda-host:$out/calls/$name" >/dev/null 2>&1; then
    packed=$((packed + 1))
  else
    left+=("$name")
    rm -rf "${out:?}/calls/$name"
  fi
done
cp tools/gpu/run_calls.c "$out/"
${CC:-cc} -O2 -o "$out/run_calls" tools/gpu/run_calls.c -ldl -lm
tar czf build/smalti-gpu.tar.gz -C build smalti-gpu
echo "build/smalti-gpu.tar.gz: $packed cases, $(stat -c %s build/smalti-gpu.tar.gz) bytes; without code for GPUs: ${left[*]:-none}"
