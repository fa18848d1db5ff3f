#!/usr/bin/env bash
# ./do bench [NAME [ARGUMENTS]]: a benchmark is bench/NAME/NAME.py, or a program build/release/bin/bench_NAME.
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:-}
[ $# -gt 0 ] && shift
if [ -f "bench/$name/$name.py" ]; then
  exec .venv/bin/python "bench/$name/$name.py" "$@"
elif [ -n "$name" ] && [ -x "build/release/bin/bench_$name" ]; then
  exec "build/release/bin/bench_$name" "$@"
fi
echo "benchmarks (./do bench NAME):"
for script in bench/*/*.py; do
  printf '  %-18s%s\n' "$(basename "$script" .py)" "$(sed -n '2s/^"""//p' "$script")"
done
for program in build/release/bin/bench_*; do
  if [ -x "$program" ]; then printf '  %-18s%s\n' "${program##*/bench_}" "a google-benchmark program"; fi
done
[ -z "$name" ]
