#!/usr/bin/env bash
# Tests and benchmarks for any NVIDIA GPU from sm_80 on, of which the machine has the driver and nothing else: ./do pack gpu
#
# Each case below test/data/cases runs here on cuda-host, which keeps its calls: code, launch, arrays before and after. The
# kernels of bench/cuda are compiled and not run. What this leaves is build/smalti-gpu.tar.gz; there:
#   tar xf smalti-gpu.tar.gz && ./smalti-gpu/run
set -euo pipefail
cd "$(dirname "$0")/../.."

most=$((32 << 20))  # bytes of the archive
out=$PWD/build/smalti-gpu
rows=$(mktemp -d)
trap 'rm -rf "$rows"' EXIT
rm -rf "$out" "$out.tar.gz" && mkdir -p "$out/calls" "$out/source"
packed=0 left=()
for case in test/data/cases/*/; do
  name=$(basename "$case")
  echo "case $name" >&2
  if build/release/bin/smalti run "$case" --target "cuda-host:$out/calls/$name" >/dev/null 2>&1; then
    packed=$((packed + 1))
  else
    left+=("$name")
    rm -rf "${out:?}/calls/$name"
  fi
done
build/release/bin/bench_cuda_kernels "$rows"
build/release/bin/bench_cuda_pack "$rows" "$out/benchmark" >&2
cp tools/gpu/run_calls/*.[ch] "$out/source/"
${CC:-cc} -O2 -o "$out/run_calls" tools/gpu/run_calls/*.c -ldl -lm
cat >"$out/run" <<'RUN'
#!/bin/sh
# Test and benchmark; options are those of run_calls: --json FILE, --times N, --seconds S.
here=$(dirname "$0")
exec "$here/run_calls" --benchmark "$here/benchmark" "$@" "$here/calls"
RUN
chmod +x "$out/run"
tar czf "$out.tar.gz" -C build smalti-gpu
bytes=$(stat -c %s "$out.tar.gz")
cubins=$(find "$out" -name '*.cubin' | wc -l)
echo "build/smalti-gpu.tar.gz: $packed cases, $(find "$out/benchmark" -name call.txt | wc -l) benchmarks, $cubins cubins" \
  "($([ "$cubins" -gt 0 ] && echo "beside the PTX" || echo "there is no ptxas: pip install nvidia-cuda-nvcc")), $bytes bytes;" \
  "without code for GPUs: ${left[*]:-none}"
[ "$bytes" -lt "$most" ] || { echo "the archive has more than $most bytes" >&2; exit 1; }
