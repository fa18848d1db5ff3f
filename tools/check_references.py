#!/usr/bin/env python3
"""Paths of source files that comments and documents mention must exist: `emit/View.h` or `test/unit/ir/FlatTest.cpp`."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMENTS = {".h": "//", ".cpp": "//", ".td": "//", ".py": "#", ".sh": "#", ".toml": "#", ".md": ""}
PATH = re.compile(r"(?<![\w/.{*$<-])([A-Za-z_][\w+-]*(?:/[\w+-]+)+\.(?:h|cpp|td|py|sh|toml))\b(?![\w(])")
# Of other projects, and placeholders.
FOREIGN = re.compile(r"^(jax|llvm|mlir|build|xla|torch)/|\bNAME|\$")


def main():
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    known = set()  # every path, also without its first folders
    for name in names:
        parts = name.split("/")
        known.update("/".join(parts[i:]) for i in range(len(parts)))
    broken = []
    for name in names:
        path = ROOT / name
        mark = COMMENTS.get(path.suffix)
        if mark is None or name.startswith(("test/data/", "docs/images/")) or not path.is_file():
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            comment = line[line.index(mark):] if mark in line else ""
            broken += [f"{name}:{number}: there is no {p}" for p in PATH.findall(comment)
                       if p not in known and not FOREIGN.search(p)]
    print("\n".join(broken) if broken else "references: all paths in comments and documents exist")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
