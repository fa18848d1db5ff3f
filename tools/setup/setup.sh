#!/usr/bin/env bash
# Installs what is missing from tools/setup/*.txt: Debian's packages, and PyPI's into .venv.
# A stamp makes the next call a matter of milliseconds. Usage: setup.sh [--python]
set -euo pipefail
cd "$(dirname "$0")/../.."

run() { echo "+ $*" >&2; "$@"; }
as_root() { if [ "$(id -u)" = 0 ]; then run "$@"; else run sudo "$@"; fi; }

install_debian() {
  local wanted missing=() stamp=build/.debian-packages
  cmp -s tools/setup/debian-packages.txt "$stamp" && return 0
  wanted=$(grep -v '^#' tools/setup/debian-packages.txt)
  for package in $wanted; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  if [ ${#missing[@]} -gt 0 ]; then
    command -v apt-get >/dev/null || {
      echo "setup: this needs Debian's apt-get; by hand: ${missing[*]}" >&2; exit 4; }
    echo "setup: installing ${#missing[@]} Debian packages (about half a minute): ${missing[*]}" >&2
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  fi
  mkdir -p build && cp tools/setup/debian-packages.txt "$stamp"
}

install_python() {
  cmp -s tools/setup/requirements.txt .venv/requirements.txt && return 0
  echo "setup: installing JAX and pytest from PyPI into .venv (about half a minute)" >&2
  [ -x .venv/bin/python ] || run python3 -m venv .venv
  run .venv/bin/python -m pip install -q --disable-pip-version-check -r tools/setup/requirements.txt
  # Google's TPU compiler, which judges our exports; not for every platform, and tests skip without it.
  run .venv/bin/python -m pip install -q --disable-pip-version-check -U libtpu ||
    echo "setup: no libtpu here: tests that ask the TPU compiler will be skipped" >&2
  cp tools/setup/requirements.txt .venv/requirements.txt
}

install_debian
if [ "${1:-}" = --python ]; then install_python; fi
