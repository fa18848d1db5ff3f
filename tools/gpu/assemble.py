#!/usr/bin/env python3
"""Assembles the code of every kernel below some folders for GPUs, and reports errors and spilled registers.

    tools/gpu/assemble.py [--gpu sm_80,sm_86,sm_89,sm_90,sm_90a] [--known FILE] FOLDER…

A folder contains recorded kernels (case.json) or modules (*.mlir). Needs ptxas: pip install nvidia-cuda-nvcc. Code that is the same for
several kernels is assembled once; --known keeps the outcomes, so that a later run only assembles what has changed.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SMALTI = os.environ.get("SMALTI", str(ROOT / "build/release/bin/smalti"))


def find_ptxas():
    for folder in map(pathlib.Path, sys.path):
        for found in sorted(folder.glob("nvidia/*/bin/ptxas")):
            return str(found)
    return shutil.which("ptxas")


def modules(folders):
    for folder in folders:
        for found in sorted(folder.rglob("case.json")):
            yield found.parent
        for found in sorted(folder.rglob("*.mlir")):
            if not (found.parent / "case.json").exists():
                yield found


def number(pattern, text):
    return sum(int(n) for n in re.findall(pattern, text))


def assemble(ptxas, ptx, gpu, folder):
    """Spilled bytes and registers, or the error."""
    source = folder / "kernel.ptx"
    source.write_text(ptx)
    done = subprocess.run([ptxas, "-v", f"-arch={gpu}", "-o", str(folder / "kernel.cubin"), str(source)], capture_output=True, text=True)
    if done.returncode:
        return {"error": done.stderr[:2000]}
    if serial := re.findall(r"warning.*\(C75\d\d\).*", done.stderr):  # products of warp groups one by one
        return {"error": serial[0]}
    return {"spilled": number(r"(\d+) bytes spill stores", done.stderr), "registers": number(r"Used (\d+) registers", done.stderr)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--gpu", default="sm_80,sm_86,sm_89,sm_90,sm_90a")
    parser.add_argument("--known", type=pathlib.Path)
    arguments = parser.parse_args()
    ptxas = find_ptxas()
    if not ptxas:
        sys.exit("there is no ptxas: pip install nvidia-cuda-nvcc")
    known = json.loads(arguments.known.read_text()) if arguments.known and arguments.known.exists() else {}
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        for gpu in arguments.gpu.split(","):
            count = {"assembled": 0, "refused": 0, "errors": 0, "spill": 0}
            for module in modules(arguments.folders):
                # Without ptxas in sight, which `show` would run as well.
                done = subprocess.run([SMALTI, "show", str(module), "--target", f"cuda:{gpu}", "--stage", "ptx"], capture_output=True, text=True,
                                      env={"PATH": "/usr/bin:/bin"})
                kernels = [".version" + part for part in done.stdout.split(".version")[1:]]
                if done.returncode or not kernels:
                    count["refused" if "SM7201" in done.stderr + done.stdout else "errors"] += 1
                    if "SM7201" not in done.stderr + done.stdout:
                        print(f"{gpu} {module}: {(done.stderr or 'no kernel').splitlines()[0]}", flush=True)
                    continue
                for ptx in kernels:
                    key = hashlib.sha256((gpu + ptx).encode()).hexdigest()
                    if key not in known:
                        known[key] = assemble(ptxas, ptx, gpu, pathlib.Path(temporary))
                    outcome = known[key]
                    count["errors" if "error" in outcome else "assembled"] += 1
                    count["spill"] += outcome.get("spilled", 0) > 0
                    if "error" in outcome or outcome["spilled"]:
                        print(f"{gpu} {module}: {outcome}", flush=True)
                if arguments.known:
                    arguments.known.write_text(json.dumps(known))
            wrong += count["errors"]
            print(f"{gpu}: {count['assembled']} kernels assembled, {count['spill']} spill registers, {count['errors']} fail; "
                  f"{count['refused']} modules are refused (SM7201)", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
