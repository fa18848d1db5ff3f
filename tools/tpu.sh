#!/usr/bin/env bash
# The library's kernels and the recorded cases on the TPUs of this machine, or on the devices of another PJRT plugin,
# against the abstract machine with a TPU's numerics. Called by ./do tpu [PLUGIN]; the exit code is that of smalti conform.
set -euo pipefail
cd "$(dirname "$0")/.."

bin=$PWD/build/release/bin
target=tpu${1:+:$1}
folder=build/tpu
rm -rf "$folder"
mkdir -p "$folder/recorded"

SMALTI_NUMERICS=tpu "$bin/smalti_kernels_export" --cases "$folder/library"
for case in test/data/cases/*/; do
  name=$(basename "$case")
  # An index of an Element block that no chip's compiler can prove to be a multiple of the tile.
  [ "$name" = element_block_dim_padding ] && continue
  cp -r "$case" "$folder/recorded/"
  # Recorded on a CPU, whose products of f32 are exact where a TPU rounds to bf16.
  "$bin/smalti" run "$case" --numerics tpu --out "$folder/recorded/$name" >/dev/null || [ $? = 1 ]
done
exec "$bin/smalti" conform "$folder/library" "$folder/recorded" --target "$target" --timeout-seconds 600
