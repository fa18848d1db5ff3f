#!/usr/bin/env python3
"""The layers whose unit tests a change is most likely to break: those it touches, and those built on them.

The change is what is not committed yet, else the last commit. Prints one layer a line, in the order of the table below;
all of them when files that belong to no layer were changed (public headers, CMake). With --python, the Python tests
instead that are changed themselves, and those of the documents if one is changed."""

import pathlib
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
NO_UNIT_TESTS = ("docs/", "bench/", "python/", "examples/", "test/python/", "test/data/", "README", "CHANGELOG")


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=True).stdout


def changed_files():
    return [line[3:].split(" -> ")[-1] for line in git("status", "--porcelain").splitlines()] or \
        git("diff", "--name-only", "HEAD~1").splitlines()


def layers_of(files, table):
    """The layers of these files with all that include them, completely or in part."""
    layers = {name: list(below) for name, below in table.items() if isinstance(below, list)}
    for file, more in table["files"].items():
        layers[file.split("/")[0]] += more
    for layer in table["shared"]:
        layers[layer].append("cpu")
    touched = set()
    for file in files:
        parts = pathlib.Path(file).parts
        layer = parts[1] if parts[0] == "src" and len(parts) > 2 else parts[2] if parts[:2] == ("test", "unit") else None
        if layer in layers:
            touched.add(layer)
        elif parts[:2] == ("test", "unit") or file.startswith(NO_UNIT_TESTS):
            continue
        else:
            return list(layers)
    while more := {l for l, below in layers.items() if touched & set(below)} - touched:
        touched |= more
    return [l for l in layers if l in touched]


def has_tests(layer):
    return (ROOT / "test" / "unit" / layer).is_dir()


def python_tests(files):
    tests = {f for f in files if pathlib.PurePath(f).match("test/python/test_*.py") and (ROOT / f).exists()}
    if any(f.startswith(("docs/", "README")) for f in files):
        tests |= {"test/python/test_docs.py", "test/python/test_error_pages.py"}
    return sorted(tests)


if __name__ == "__main__":
    if "--python" in sys.argv:
        chosen = python_tests(changed_files())
    else:
        table = tomllib.loads((ROOT / "tools/layers.toml").read_text())
        chosen = filter(has_tests, layers_of(changed_files(), table))
    for name in chosen:
        print(name)
