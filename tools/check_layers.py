#!/usr/bin/env python3
"""Checks that each folder of src/, and each listed folder inside a layer, includes only what tools/layers.toml allows,
and that public headers and the layers below ir include nothing of MLIR or LLVM."""

import functools
import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)
WITHOUT_MLIR = ("base", "eval")
WITHOUT_CODE = ("schedule",)
MAKES_CODE = ("llvm/IR/", "llvm/Transforms/", "llvm/Target/")


def includes(path):
    return INCLUDE.findall(path.read_text())


def check_folder(folder, rule):
    """A folder inside a layer: which others of the layer it may use, and whether it is free of LLVM's IR."""
    problems = []
    layer, own = folder.split("/", 1)
    sources = [p for p in sorted((ROOT / "src" / folder).rglob("*")) if p.suffix in (".h", ".cpp", ".inc")]
    if not sources:
        problems.append(f"src/{folder}: in tools/layers.toml, but it has no sources")
    for path in sources:
        where = path.relative_to(ROOT)
        for include in includes(path):
            parts = include.split("/")
            inside = parts[0] == layer and len(parts) > 2
            if inside and parts[1] != own and parts[1] not in rule["uses"]:
                problems.append(f"{where}: includes {include}, but {folder} may use only {rule['uses']} of {layer}")
            if not rule["llvm_ir"] and include.startswith(MAKES_CODE):
                problems.append(f"{where}: includes {include}, but {folder} makes no code")
    return problems


@functools.cache
def headers_of(path):
    """The project's headers that a file includes, directly or not, each with the includes that lead to it."""
    reached = {}
    for include in includes(path):
        header = ROOT / "src" / include
        if not header.exists():
            continue
        reached.setdefault(header, [include])
        for other, way in headers_of(header).items():
            reached.setdefault(other, [include, *way])
    return reached


def check_without_code(folders):
    """No file of these folders includes LLVM's IR through a header of the project."""
    problems = []
    for path in sorted(p for folder in folders for p in (ROOT / folder).rglob("*") if p.suffix in (".h", ".cpp")):
        for header, way in headers_of(path).items():
            for include in includes(header):
                if include.startswith(MAKES_CODE):
                    problems.append(f"{path.relative_to(ROOT)}: includes {include} through {' and '.join(way)}, but "
                                    "what decides makes no code")
    return problems


def check_crowded(most=30):
    """No folder of src exceeds the limit on its number of files."""
    problems = []
    for folder in sorted(p for p in (ROOT / "src").rglob("*") if p.is_dir()):
        count = sum(p.suffix in (".h", ".cpp") for p in folder.iterdir())
        if count > most:
            problems.append(f"{folder.relative_to(ROOT)}: {count} sources, at most {most} in a folder")
    return problems


def main():
    layers = tomllib.loads((ROOT / "tools/layers.toml").read_text())
    files = layers.pop("files", {})
    folders = layers.pop("folders", {})
    shared = layers.pop("shared", {})
    problems = check_crowded() + check_without_code(layers.pop("without_code")["files"])
    for folder, rule in folders.items():
        problems += check_folder(folder, rule)
    for folder in sorted(p.name for p in (ROOT / "src").iterdir() if p.is_dir()):
        if folder not in layers:
            problems.append(f"src/{folder}: not in tools/layers.toml")
    for layer, allowed in layers.items():
        for path in sorted((ROOT / "src" / layer).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".inc"):
                continue
            more = files.get(str(path.relative_to(ROOT / "src")), [])
            for include in includes(path):
                top = include.split("/")[0]
                where = path.relative_to(ROOT)
                sibling = any(include == s or include.startswith(s + "/") for s in shared.get(layer, []))
                if top in layers and top != layer and top not in allowed + more and not sibling:
                    problems.append(f"{where}: includes {include}, but {layer} may use only {allowed + more}")
                if layer in WITHOUT_MLIR and top in ("mlir", "llvm"):
                    problems.append(f"{where}: includes {include}, but {layer} is free of MLIR and LLVM")
                if layer in WITHOUT_CODE and include.startswith(MAKES_CODE):
                    problems.append(f"{where}: includes {include}, but {layer} makes no code")
    for path in sorted((ROOT / "include").rglob("*.h")):
        for include in includes(path):
            top = include.split("/")[0]
            if top in layers or top in ("mlir", "llvm"):
                problems.append(f"{path.relative_to(ROOT)}: public header includes {include}")
    # The kernel library is written as a user would: from public headers and its own.
    for path in sorted((ROOT / "kernels").rglob("*")):
        if path.suffix not in (".h", ".cpp"):
            continue
        for include in includes(path):
            if "/" in include and not include.startswith("smalti/"):
                problems.append(f"{path.relative_to(ROOT)}: includes {include}; kernels use public headers only")
    print("\n".join(problems) if problems else "layers: in order")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
