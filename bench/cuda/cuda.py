#!/usr/bin/env python3
"""code for NVIDIA GPUs: static figures, without a device

./do bench cuda [--gpu sm_80,sm_90a] [--json FILE] [--markdown]

Nothing is run. Each kernel is compiled, assembled by ptxas and disassembled by nvdisasm (pip install nvidia-cuda-nvcc
nvidia-cuda-nvdisasm), and its innermost loop with the most multiplying instructions is looked at:

  multiplying      of the loop's instructions: HGMMA, HMMA, IMMA, QMMA, FFMA
  issue / multiply cycles that a scheduler takes to issue the loop, over those that its share of the tensor cores (or of
                   the FP32 units) takes: below 1 the multiplications are the limit, as far as the loop itself can tell
  copied / blocks  bytes that a step copies to shared memory, over those of the blocks that it reads
  warps            of those that a processor has room for: registers, shared memory and threads decide
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/data/gpu"))
from products import kernel  # noqa: E402

SMALTI = os.environ.get("SMALTI", str(ROOT / "build/release/bin/smalti"))

# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; multiply-adds of a cycle and processor:
# NVIDIA's white papers of A100, L40 and H100 (dense tensor cores of 16-bit floats; FP32 units).
PROCESSORS = {"sm_80": {"shared": 164 << 10, "warps": 64, "bf16": 1024, "f32": 64},
              "sm_89": {"shared": 100 << 10, "warps": 48, "bf16": 512, "f32": 128},
              "sm_90a": {"shared": 228 << 10, "warps": 64, "bf16": 2048, "f32": 128}}
REGISTERS = 64 << 10

PRODUCTS = [  # name, m, n, k, blocks, dtype
    ("bf16 4096³", (4096, 4096, 4096), (128, 256, 64), "bf16"),
    ("bf16 4096³, steps of 512", (4096, 4096, 4096), (128, 256, 512), "bf16"),
    ("bf16 4096³, blocks of 128", (4096, 4096, 4096), (128, 128, 64), "bf16"),
    ("f16 4096 × 11008 × 4096", (4096, 11008, 4096), (128, 256, 128), "f16"),
    ("f32 2048³", (2048, 2048, 2048), (128, 128, 64), "f32"),
]
CASES = ["flash_attention_causal_f32", "softmax_rows_f32"]


def multiply_adds(instruction):
    """Of one warp."""
    if m := re.match(r"HGMMA\.(\d+)x(\d+)x(\d+)", instruction):
        return int(m[1]) * int(m[2]) * int(m[3]) // 4
    if m := re.match(r"[IQ]GMMA\.(\d+)x(\d+)x(\d+)", instruction):
        return int(m[1]) * int(m[2]) * int(m[3]) // 4
    if m := re.match(r"[HIQ]MMA\.(\d)?(\d+)(?:8)?(\d\d)\b", instruction):
        return {"1688": 16 * 8 * 8, "16816": 16 * 8 * 16, "16832": 16 * 8 * 32}.get(re.search(r"1\d+", instruction)[0], 0)
    return 32 if instruction.startswith("FFMA") else 0


def rate(instruction, processor):
    """Multiply-adds of a cycle and scheduler."""
    if instruction.startswith("FFMA"):
        return processor["f32"] / 4
    if "TF32" in instruction:
        return processor["bf16"] / 2 / 4
    return processor["bf16"] * (2 if instruction[0] in "IQ" else 1) / 4


def loops(sass):
    """The instructions between each label and the branch back to it."""
    lines, labels = [], {}
    for line in sass.splitlines():
        if m := re.match(r"\s*(\.L_\w+):", line):
            labels[m[1]] = len(lines)
        elif m := re.match(r"\s*(?:/\*[0-9a-f]+\*/)?\s*(?:@!?U?P\w+\s+)?([A-Z][\w.]+)([^;]*);", line):
            lines.append((m[1], m[2]))
    for i, (name, operands) in enumerate(lines):
        if name.startswith("BRA") and (m := re.search(r"\.L_\w+", operands)) and labels.get(m[0], i + 1) <= i:
            yield [n for n, _ in lines[labels[m[0]]:i + 1]]


def innermost(sass):
    """The loop with the largest share of multiplications among those with the most."""
    best = []
    for body in loops(sass):
        count = sum(multiply_adds(i) > 0 for i in body)
        if count and (not best or count > 2 * sum(multiply_adds(i) > 0 for i in best) or len(body) < len(best)):
            best = body
    return best


def shown(gpu, *arguments):
    done = subprocess.run([SMALTI, "show", *map(str, arguments), "--target", f"cuda:{gpu}", "--stage", "all", "--json"],
                          capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.splitlines()[0]
    return json.loads(done.stdout)["kernels"][0], None


def figures(name, gpu, found):
    p = PROCESSORS[gpu]
    threads = found["threads"] + found.get("copy_threads", 0)
    warps = threads // 32
    registers = -(-found["registers"] // 8) * 8 * 32 * warps
    blocks = min(REGISTERS // max(registers, 1), p["shared"] // (found["shared_bytes"] + 1024), p["warps"] // warps, 32)
    row = {"kernel": name, "gpu": gpu, "threads": threads, "registers": found["registers"], "spilled bytes": found["spill_bytes"],
           "shared bytes": found["shared_bytes"], "warps": f"{blocks * warps} of {p['warps']}",
           "copied / blocks": found.get("copied_per_block")}
    body = innermost(found.get("stages", {}).get("sass", ""))
    if body:
        multiplying = [i for i in body if multiply_adds(i)]
        row["multiplying"] = f"{len(multiplying)} of {len(body)}"
        row["issue / multiply"] = round(len(body) / sum(multiply_adds(i) / rate(i, p) for i in multiplying), 2)
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpu", default="sm_80,sm_90a")
    parser.add_argument("--json")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for gpu in arguments.gpu.split(","):
            for name, (m, n, k), blocks, dtype in PRODUCTS:
                if arguments.only not in name:
                    continue
                file = pathlib.Path(folder) / "product.mlir"
                file.write_text(kernel(m, n, k, *blocks, dtype))
                out = "i32" if dtype == "i8" else "f32" if dtype.startswith("f8") else dtype
                found, why = shown(gpu, file, "--in", f"{dtype}[{m},{k}]", "--in", f"{dtype}[{k},{n}]", "--out-shape", f"{out}[{m},{n}]")
                rows.append(figures(name, gpu, found) if found else {"kernel": name, "gpu": gpu, "refused": why})
            for case in CASES:
                folder_of_case = ROOT / "test/data/cases" / case
                if arguments.only in case and folder_of_case.exists():
                    found, why = shown(gpu, folder_of_case)
                    rows.append(figures(case, gpu, found) if found else {"kernel": case, "gpu": gpu, "refused": why})
    columns = ["kernel", "gpu", "threads", "registers", "spilled bytes", "shared bytes", "warps", "multiplying", "issue / multiply",
               "copied / blocks"]
    print("Static figures: nothing was run, and no speed is claimed.\n")
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(str(row.get(c, "") if row.get(c) is not None else "") for c in columns) + " |" + row.get("refused", ""))
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
