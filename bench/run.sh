#!/usr/bin/env bash
# ./do bench [NAME [ARGUMENTS]]: a benchmark is bench/NAME/NAME.py, or a program build/release/bin/bench_NAME.
# Without a name: their names, then the cpu target's table.
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
for folder in bench/*/; do
  script="$folder$(basename "$folder").py"
  if [ -f "$script" ]; then printf '  %-18s%s\n' "$(basename "$folder")" "$(sed -n '2s/^"""//p' "$script" | sed 's/"""$//')"; fi
done
for program in build/release/bin/bench_*; do
  name_of_program=${program##*/bench_}
  if [ -d "bench/${name_of_program%%_*}" ] && [ "$name_of_program" != "${name_of_program%%_*}" ]; then continue; fi  # a part of the above
  if [ -x "$program" ]; then printf '  %-18s%s\n' "$name_of_program" "a google-benchmark program"; fi
done
[ -z "$name" ] || exit 1
exec .venv/bin/python bench/cpu/cpu.py
