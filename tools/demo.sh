#!/usr/bin/env bash
# The tour behind ./do demo: real recorded kernels run and checked here, then faulty kernels and the reports about them.
set -uo pipefail
cd "$(dirname "$0")/.."
smalti=build/release/bin/smalti
bold=$'\e[1m' plain=$'\e[0m'
[ -t 1 ] && [ -z "${NO_COLOR:-}" ] || bold='' plain=''

show() { printf '\n%s$ smalti %s%s\n' "$bold" "$*" "$plain"; "$smalti" "$@"; }
say() { printf '\n%s\n' "$*"; }

say "1. Kernels that JAX compiled for a TPU, with the inputs and outputs that JAX computed. They run here, and agree:"
show conform test/data/cases || exit 1

say "2. One of them more closely: which block is fetched when, and written back when."
show show test/data/cases/matmul_bf16_gelu --stage windows --steps 4 || exit 1

say "3. Every check a TPU does not make: out-of-bounds, undefined memory, revisits, semaphores, copies in flight."
show check test/data/cases/matmul_bf16_gelu || exit 1

say "4. The same matmul with one line missing (examples/mistakes/mistakes.py): the accumulator is never set to zero."
show check examples/mistakes/missing_init.mlir
[ $? = 3 ] || { echo "demo: the planted mistake was not found" >&2; exit 1; }

say "5. The same kernel as native code for this processor: its tiles, and the inner loop with its cycles."
show show test/data/cases/matmul_bf16_gelu --target cpu > build/native.txt || exit 1
{ head -8 build/native.txt; echo "    …"; tail -3 build/native.txt; }

say "6. A real model on nothing but the project's kernels: all-MiniLM-L6-v2 searches the project's documentation by meaning."
if examples/minilm/get_model.sh build/minilm-model; then
  cat README.md docs/*.md docs/errors/README.md > build/documentation.txt
  minilm=build/release/bin/minilm
  query='someone reads data before the copy has arrived'
  printf '\n%s$ minilm search build/documentation.txt "%s"%s\n' "$bold" "$query" "$plain"
  "$minilm" search --model build/minilm-model build/documentation.txt "$query" --top 4 | cut -c1-150 || exit 1
else
  say "(The model, 90 MB, cannot be fetched from PyPI now: this part is left out.)"
fi

say "More mistakes to look at: smalti check examples/mistakes/*.mlir;  your own kernel: README.md, \"Your kernel\"."
