#!/usr/bin/env bash
# Installs what the cpu benchmark compares with, into the folder given (and Debian's packages into the system), and
# builds the peers. Only this benchmark needs them. Peers that cannot be installed are reported and left out.
# Usage: setup.sh FOLDER
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
mkdir -p "$folder"
say() { echo "bench cpu: $*" >&2; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

lists=$(cat "$here"/debian-packages.txt "$here"/requirements.txt "$here"/setup.sh | sha256sum)
# Peers that were missing last time may be available now.
if [ "$lists" != "$(cat "$folder/installed" 2>/dev/null)" ] || [ -s "$folder/missing" ]; then
  : >"$folder/missing"
  left_out() { say "no $1: $2"; echo "$1: $2" >>"$folder/missing"; }

  wanted=()
  for package in $(grep -v '^#' "$here/debian-packages.txt"); do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' && continue
    if apt-cache show "$package" >/dev/null 2>&1; then wanted+=("$package"); else left_out "$package" "Debian has none"; fi
  done
  for package in "${wanted[@]}"; do
    say "installing $package"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
      -o DPkg::Lock::Timeout=300 "$package" >/dev/null 2>&1 ||
      left_out "$package" "apt-get could not install it"
  done

  for python in python3.14 python3.13 python3.12 python3; do  # the newest has the newest peers
    "$python" -c '' 2>/dev/null && break
  done
  [ -x "$folder/venv/bin/python" ] || "$python" -m venv "$folder/venv" || left_out Python "no venv could be made"
  pip=("$folder/venv/bin/python" -m pip install -q --disable-pip-version-check --no-cache-dir --retries 1)
  for package in $(grep -v '^#' "$here/requirements.txt"); do
    "${pip[@]}" "$package" >"$folder/pip.log" 2>&1 || left_out "$package" "pip could not install it"
  done
  if ! "$folder/venv/bin/python" -c 'import torch' 2>/dev/null; then
    free_gib=$(df --output=avail -BG "$folder" | tail -1 | tr -dc 0-9)
    if [ "$free_gib" -lt 16 ]; then
      left_out torch "it needs 16 GiB of disk to install, $free_gib GiB are free"
    else
      say "installing PyTorch (minutes)"
      # The CPU wheel is small; PyPI's, which includes CUDA, is reachable from most networks.
      "${pip[@]}" --retries 0 --index-url https://download.pytorch.org/whl/cpu torch >"$folder/pip.log" 2>&1 ||
        "${pip[@]}" torch >"$folder/pip.log" 2>&1 || left_out torch "pip could not install it"
    fi
  fi
  # Debian 12 has no ggml; the sources of its Python package hold it.
  if [ ! -d "$folder/ggml" ]; then
    say "fetching ggml"
    rm -rf "$folder/ggml-sources" && mkdir "$folder/ggml-sources"
    "$folder/venv/bin/python" -m pip download -q --no-deps --no-binary :all: -d "$folder/ggml-sources" ggml-python \
      >"$folder/pip.log" 2>&1
    tar -xzf "$folder"/ggml-sources/*.tar.gz -C "$folder/ggml-sources" --strip-components=1 2>/dev/null &&
      mv "$folder/ggml-sources/vendor/ggml" "$folder/ggml" || left_out ggml "its sources could not be had from PyPI"
    rm -rf "$folder/ggml-sources"
  fi
  echo "$lists" >"$folder/installed"
fi

# Built from a copy: clones of the project with the same sources share the build.
for file in actor/Actor.h peers/CMakeLists.txt peers/Operands.h $(cd "$here" && echo peers/*.cpp); do
  cmp -s "$here/$file" "$folder/sources/$file" || install -D -m 644 "$here/$file" "$folder/sources/$file"
done
ggml=""
[ -d "$folder/ggml" ] && ggml=$folder/ggml
cmake -S "$folder/sources/peers" -B "$folder/peers" -G Ninja -DGGML_SOURCE="$ggml" >"$folder/cmake.log" 2>&1 ||
  say "the peers cannot be configured: see $folder/cmake.log"
cmake --build "$folder/peers" >"$folder/build.log" 2>&1 || say "the peers do not build: see $folder/build.log"
