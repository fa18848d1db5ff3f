#!/usr/bin/env bash
# The library's kernels and the recorded cases on the TPUs of this machine, or on the devices of another PJRT plugin,
# against the abstract machine with a TPU's numerics. Called by ./do tpu [PLUGIN]; the exit code is that of smalti conform.
set -euo pipefail
cd "$(dirname "$0")/.."

unset "${!SMALTI_@}"  # SMALTI_TARGET=tpu would compare the TPU with itself
bin=$PWD/build/release/bin
folder=build/tpu
rm -rf "$folder"
mkdir -p "$folder/recorded"

# Not to be compared: an index of an Element block that no chip's compiler takes, and elements beyond the edge of an array.
left_out="element_block_dim_padding edges_reach_an_output"
SMALTI_NUMERICS=tpu "$bin/smalti_kernels_export" --cases "$folder/library"
for case in test/data/cases/*/; do
  name=$(basename "$case")
  case " $left_out " in *" $name "*) continue ;; esac
  cp -r "$case" "$folder/recorded/"
  # Recorded on a CPU, whose products of f32 are exact where a TPU rounds to bf16: these differ (exit code 1).
  "$bin/smalti" run "$case" --numerics tpu --out "$folder/recorded/$name" >/dev/null || [ $? = 1 ]
done
exec "$bin/smalti" conform "$folder/library" "$folder/recorded" --target "tpu${1:+:$1}" --timeout-seconds 600
