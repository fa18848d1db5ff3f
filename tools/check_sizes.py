#!/usr/bin/env python3
"""Lines per folder: a table, and an error for files that exceed their size limit."""

import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMITS = {".cpp": 700, ".h": 400, ".td": 600, ".py": 500, ".inc": 700}


def main():
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    sizes, too_long = {}, []
    for name in files:
        path = ROOT / name
        if path.suffix not in LIMITS or not path.is_file():
            continue
        lines = len(path.read_text(errors="replace").splitlines())
        folder = "/".join(path.relative_to(ROOT).parts[:2 if path.relative_to(ROOT).parts[0] == "src" else 1][:2])
        sizes.setdefault(folder, []).append(lines)
        if lines > LIMITS[path.suffix]:
            too_long.append(f"{name}: {lines} lines, the limit for {path.suffix} is {LIMITS[path.suffix]}")
    print(f"{'folder':<24}{'files':>6}{'lines':>8}{'median':>8}{'max':>6}")
    for folder, lines in sorted(sizes.items()):
        print(f"{folder:<24}{len(lines):>6}{sum(lines):>8}{statistics.median(lines):>8.0f}{max(lines):>6}")
    print("\n".join(too_long))
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main())
