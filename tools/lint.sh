#!/usr/bin/env bash
# All checks of the sources that need no build.
set -uo pipefail
cd "$(dirname "$0")/.."
bad=0
check() { "$@" || { echo "lint: failed: $*" >&2; bad=1; }; }

if command -v clang-format-22 >/dev/null; then
  check bash -c "git ls-files '*.h' '*.cpp' | xargs clang-format-22 --dry-run --Werror"
fi
check python3 tools/check_layers.py
check python3 tools/check_sizes.py
check python3 tools/check_references.py
check python3 tools/check_errors.py
check python3 tools/check_statements.py --check
check python3 tools/wrong_programs.py
check python3 tools/features.py
exit $bad
