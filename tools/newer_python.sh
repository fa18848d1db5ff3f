#!/usr/bin/env bash
# Prints a Python of 3.12 or later: $SMALTI_PYTHON, else one on PATH or of pyenv. Fails with a sentence where there is none.
set -uo pipefail
works() { "$1" -c 'import sys, venv; sys.exit(sys.version_info < (3, 12))' >/dev/null 2>&1; }
of_pyenv() { command -v pyenv >/dev/null && echo "$(pyenv prefix "$(pyenv latest "$1" 2>/dev/null)" 2>/dev/null)/bin/python3"; }
for candidate in ${SMALTI_PYTHON:+"$SMALTI_PYTHON"} python3.12 python3.13 python3.14 python3 "$(of_pyenv 3.12)" "$(of_pyenv 3.13)"; do
  if path=$(command -v "$candidate") && works "$path"; then echo "$path"; exit 0; fi
done
echo "no Python of 3.12 or later here, which JAX 0.12 needs: install one, or name it with SMALTI_PYTHON=…" >&2
exit 1
