#!/usr/bin/env python3
"""code for NVIDIA GPUs: static figures without a device; with --device, times compared with PyTorch

./do bench cuda [--gpu sm_80,sm_90a] [--only WORD] [--json FILE]
./do bench cuda --device [--only WORD] [--json FILE]      (speed.py; results: docs/performance_gpu.md)

Without --device nothing is run. Each kernel is compiled, assembled by ptxas and disassembled by nvdisasm (pip install nvidia-cuda-nvcc
nvidia-cuda-nvdisasm). The figures are those of the innermost loop with the most multiplications:

  multiplying      instructions of the loop that multiply (HGMMA, HMMA, IMMA, QMMA, FFMA), of all its instructions
  issue / multiply cycles that a scheduler needs to issue the loop, divided by the cycles that its share of the tensor cores
                   (or of the FP32 units) needs: below 1, multiplications limit the loop, according to its instructions
  copied / blocks  bytes that a step copies to shared memory, divided by the bytes of the blocks that it copies
  resident warps   of the most that a multiprocessor can have; registers, shared memory and threads limit them

Kernels without products have a loop over the points of the grid instead:

  per element      instructions of a thread for each element of the result
  issue / memory   cycles that a scheduler needs to issue the loop, divided by the cycles in which the GPU's memory moves the bytes that
                   the loop loads and stores, of all multiprocessors: below 1, memory can be the limit
  moved / minimum  bytes that the loop loads and stores, divided by those of the blocks, each once

On sm_90a, products on the tensor cores, grouped ones among them, and kernels without products have limits: no spilled bytes, issue /
multiply and issue / memory below 1, copied / blocks and moved / minimum at most 1.05. It is an error if one of them exceeds these. Of several choices of blocks, the one is shown for which issue / multiply or
issue / memory is lowest, without spilled bytes if possible; the loop of attention is shown without the code of the last step, which divides by
the sums and stores the result.
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
from products import kernel, result_type  # noqa: E402

SMALTI = os.environ.get("SMALTI", str(ROOT / "build/release/bin/smalti"))

# Of each multiprocessor and cycle, NVIDIA's white papers and data sheets of A100 80GB, L40, H100 and H200: multiply-adds of the dense
# tensor cores (of 16-bit floats) and of the FP32 units; bytes of the GPU's memory (of the fastest device: bandwidth / multiprocessors /
# boost clock).
PROCESSORS = {"sm_80": {"bf16": 1024, "f32": 64, "bytes": 2039 / 108 / 1.41},
              "sm_89": {"bf16": 512, "f32": 128, "bytes": 864 / 142 / 2.49},
              "sm_90a": {"bf16": 2048, "f32": 128, "bytes": 4800 / 132 / 1.98}}
PRODUCT_LIMITS = {"spilled bytes": 0, "issue / multiply": 0.99, "copied / blocks": 1.05}
MEMORY_LIMITS = {"spilled bytes": 0, "issue / memory": 0.99, "moved / minimum": 1.05}
MEMORY_KINDS = ("softmax", "rms_norm", "layer_norm", "chain")

PRODUCTS = [  # name, sizes, blocks, dtype, precision
    ("bf16 4096³, steps of 64", (4096, 4096, 4096), (128, 256, 64), "bf16", None),
    ("bf16 4096³, steps of 512", (4096, 4096, 4096), (128, 256, 512), "bf16", None),
    ("bf16 4096³, blocks of 128²", (4096, 4096, 4096), (128, 128, 64), "bf16", None),
    ("f16 4096 × 11008 × 4096", (4096, 11008, 4096), (128, 256, 128), "f16", None),
    ("int8 4096³", (4096, 4096, 4096), (128, 256, 128), "i8", None),
    ("fp8 4096³", (4096, 4096, 4096), (128, 256, 128), "f8e4m3fn", None),
    ("TF32 4096³", (4096, 4096, 4096), (128, 256, 32), "f32", "bf16"),
    ("f32 2048³", (2048, 2048, 2048), (128, 128, 32), "f32", None),
]
WIDTHS = {"bf16": 2, "f16": 2, "i8": 1, "f8e4m3fn": 1, "f32": 4}
CASES = ["flash_attention_causal_f32", "rmsnorm_f32"]
ATTENTION_LENGTH = 4096  # of the rows of `attention` (Kernels.cpp) that are shown


def multiply_adds(instruction):
    """Multiply-adds of one warp; each of the four warps of a warp group has a quarter."""
    if m := re.match(r"[HIQ]GMMA\.(\d+)x(\d+)x(\d+)", instruction):
        return int(m[1]) * int(m[2]) * int(m[3]) // 4
    if m := re.match(r"[HIQ]MMA\.(?:SP\.)?(1688|16816|16832)\b", instruction):
        return 16 * 8 * int(m[1][3:])
    return 32 if instruction.startswith("FFMA") else 0


def rate(instruction, processor):
    """Multiply-adds per cycle and scheduler."""
    if instruction.startswith("FFMA"):
        return processor["f32"] / 4
    if "TF32" in instruction:
        return processor["bf16"] / 2 / 4
    return processor["bf16"] * (2 if instruction[0] in "IQ" else 1) / 4


def loops(sass):
    """The instructions between each label and the branch back to it, without the end of a tile: a part that a branch
    skips, that multiplies nothing, and that stores results or is longer than half of the rest."""
    lines, labels = [], {}
    for line in sass.splitlines():
        if m := re.match(r"\s*(\.L_\w+):", line):
            labels[m[1]] = len(lines)
        elif m := re.match(r"\s*(?:/\*[0-9a-f]+\*/)?\s*(?:@!?U?P\w+\s+)?([A-Z][\w.]+)([^;]*);", line):
            lines.append((m[1], m[2]))
    targets = {i: labels[m[0]] for i, (name, operands) in enumerate(lines)
               if name.startswith("BRA") and (m := re.search(r"\.L_\w+", operands)) and m[0] in labels}
    for end, begin in targets.items():
        if begin > end:
            continue
        kept = set(range(begin, end + 1))
        uses_tensor_cores = any(multiply_adds(lines[k][0]) and not lines[k][0].startswith("FFMA") for k in kept)
        for i, target in targets.items():
            skipped = set(range(i + 1, target))
            multiplies = any(multiply_adds(lines[k][0]) and not (uses_tensor_cores and lines[k][0].startswith("FFMA")) for k in skipped)
            ends = len(skipped & kept) > len(kept) // 3 or any(lines[k][0].startswith("STG") for k in skipped & kept)
            if begin <= i < target <= end and ends and not multiplies:
                kept -= skipped
        yield [lines[k][0] for k in sorted(kept)]


def innermost(sass):
    """The shortest of the loops with the most multiplications."""
    best, most = [], 0
    for body in loops(sass):
        count = sum(multiply_adds(i) for i in body)
        if count > most or (count == most and count and len(body) < len(best)):
            best, most = body, count
    return best


def shown(gpu, *arguments):
    """The JSON of `smalti show` for the kernel, with its instructions; or why there is no code."""
    command = [SMALTI, "show", *map(str, arguments), "--target", f"cuda:{gpu}", "--stage"]
    done = subprocess.run([*command, "all", "--json"], capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.splitlines()[0]
    found = json.loads(done.stdout)["kernels"][0]
    return found | {"sass": subprocess.run([*command, "sass"], capture_output=True, text=True).stdout}, None


def common_figures(name, gpu, found):
    return {"kernel": name, "gpu": gpu, "threads": found["threads"] + found.get("copy_threads", 0), "registers": found["registers"],
            "spilled bytes": found["spill_bytes"], "shared bytes": found["shared_bytes"],
            "resident warps": f"{found['resident_warps']} of {found['most_warps']}", "stages": found["stages"] or ""}


def product_figures(name, gpu, found):
    """Of the innermost loop that multiplies."""
    p = PROCESSORS[gpu]
    row = common_figures(name, gpu, found)
    if found["block_bytes"]:
        row["copied / blocks"] = round(found["copied_bytes"] / found["block_bytes"], 2)
    body = innermost(found["sass"])
    if body:
        def cycles(instructions):
            return sum(multiply_adds(i) / rate(i, p) for i in instructions)

        # The softmax of attention multiplies on the FP32 units, too, beside its products on the tensor cores.
        exact = [i for i in body if multiply_adds(i) and i.startswith("FFMA")]
        tensor = [i for i in body if multiply_adds(i) and not i.startswith("FFMA")]
        multiplying = max(exact, tensor, key=cycles)
        row["multiplying"] = f"{len(multiplying)} of {len(body)}"
        row["issue / multiply"] = round(len(body) / cycles(multiplying), 2)
    return row


def bytes_moved(instructions, name):
    """Bytes that a thread loads (LDG) or stores (STG)."""
    widths = [m for i in instructions if (m := re.match(name + r"\.E(?:\.(\w+))?", i))]
    return sum({"128": 16, "64": 8, "U16": 2, "S16": 2, "U8": 1, "S8": 1}.get(m[1], 4) for m in widths)


def memory_figures(name, gpu, found, module):
    """Of the loop over the points of the grid, if it has no loop inside."""
    row = common_figures(name, gpu, found)
    body = max(loops(found["sass"]), key=lambda b: bytes_moved(b, "STG"), default=[])
    loaded, stored = bytes_moved(body, "LDG"), bytes_moved(body, "STG")
    if not stored:
        return row
    # A point's blocks: the result, and of each operand a block of as many rows, or a row of weights.
    width = width_of(module["results"][0])
    elements = stored // width
    rows = max(1, elements * found["threads"] // sizes_of(module["results"][0])[-1])
    least = stored + sum(elements * width_of(t) // (1 if sizes_of(t)[0] > 1 else rows) for t in module["arguments"])
    row["per element"] = round(len(body) / elements, 1)
    warps = found["threads"] // 32
    row["issue / memory"] = round(len(body) * warps / 4 / ((stored + elements * width_of(module["arguments"][0])) * found["threads"]
                                                            / PROCESSORS[gpu]["bytes"]), 2)
    row["moved / minimum"] = round((loaded + stored) / least, 2)
    return row


def width_of(text):
    return WIDTHS[text.split("[")[0]]


def sizes_of(text):
    return [int(n) for n in re.findall(r"\d+", text.split("[")[1])]


def excess(row, limits):
    """The figures of a row that exceed their limits, or are missing."""
    return [f"{row['kernel']}: {name} is {row.get(name, 'unknown')}, at most {most} is allowed" for name, most in limits.items()
            if not isinstance(row.get(name), (int, float)) or row[name] > most]


def benchmarked(gpu, folder, only):
    """A row, and its limits, for each kernel of the benchmark on a device that `PRODUCTS` does not contain."""
    for kernel in json.loads((folder / "rows.json").read_text()):
        kind = kernel["kind"]
        is_attention = kind.startswith("attention")
        if kind in ("matmul", "launch") or (is_attention and kernel["sizes"]["length"] != ATTENTION_LENGTH) or only not in kernel["name"]:
            continue
        choices = {}
        for module in kernel["modules"]:
            if module["part"] == "delta":
                continue
            print(f"{kernel['name']} {module['part']}, blocks {module['blocks']}, {gpu} …", file=sys.stderr)
            types = [word for option, of in (("--in", "arguments"), ("--out-shape", "results")) for one in module[of] for word in (option, one)]
            found, why = shown(gpu, folder / module["file"], *types)
            name = f"{kernel['name']}{', ' + module['part'] if module['part'] else ''}, blocks {module['blocks']}"
            if not found:
                row = {"kernel": name, "gpu": gpu, "refused": why}
            elif kind in MEMORY_KINDS:
                row = memory_figures(name, gpu, found, module)
            else:
                row = product_figures(name, gpu, found)
            choices.setdefault(module["part"], []).append(row)
        limits = MEMORY_LIMITS if kind in MEMORY_KINDS else PRODUCT_LIMITS if kind == "grouped" else {}
        for rows in choices.values():
            yield min(rows, key=lambda row: (row.get("spilled bytes", 1) > 0, row.get("issue / multiply", row.get("issue / memory", 1e9)))), limits


def measure(arguments):
    """Measures with a Python that has PyTorch and the smalti package: SMALTI_PYTHON, else this one."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([ROOT / "build/release/bin/bench_cuda_kernels", folder], check=True)
        more = ["--json", arguments.json] if arguments.json else []
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "build/release/python"), os.environ.get("PYTHONPATH", "")])}
        return subprocess.run([os.environ.get("SMALTI_PYTHON", sys.executable), ROOT / "bench/cuda/speed.py", folder, "--only", arguments.only, *more],
                              env=environment).returncode


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpu", default="sm_80,sm_90a")
    parser.add_argument("--json")
    parser.add_argument("--only", default="")
    parser.add_argument("--device", action="store_true", help="measure kernels and those of PyTorch on this machine's GPU")
    arguments = parser.parse_args()
    if arguments.device:
        sys.exit(measure(arguments))
    rows, exceeded = [], []
    with tempfile.TemporaryDirectory() as folder:
        kernels = pathlib.Path(folder) / "kernels"
        subprocess.run([ROOT / "build/release/bin/bench_cuda_kernels", kernels], check=True)
        for gpu in arguments.gpu.split(","):
            for name, (m, n, k), blocks, dtype, precision in PRODUCTS:
                if arguments.only not in name:
                    continue
                file = pathlib.Path(folder) / "product.mlir"
                file.write_text(kernel(m, n, k, *blocks, dtype, precision=precision))
                found, why = shown(gpu, file, "--in", f"{dtype}[{m},{k}]", "--in", f"{dtype}[{k},{n}]", "--out-shape",
                                   f"{result_type(dtype)}[{m},{n}]")
                rows.append(product_figures(name, gpu, found) if found else {"kernel": name, "gpu": gpu, "refused": why})
                if gpu == "sm_90a" and (dtype != "f32" or precision):
                    exceeded += excess(rows[-1], PRODUCT_LIMITS)
            for row, limits in benchmarked(gpu, kernels, arguments.only):
                rows.append(row)
                if gpu == "sm_90a":
                    exceeded += excess(row, limits)
            for case in CASES:
                folder_of_case = ROOT / "test/data/cases" / case
                if arguments.only in case and folder_of_case.exists():
                    found, why = shown(gpu, folder_of_case)
                    rows.append(product_figures(case, gpu, found) if found else {"kernel": case, "gpu": gpu, "refused": why})
    columns = ["kernel", "gpu", "threads", "registers", "spilled bytes", "shared bytes", "resident warps", "stages"]
    products = [*columns, "multiplying", "issue / multiply", "copied / blocks"]
    memory = [*columns, "per element", "issue / memory", "moved / minimum"]
    print("Static figures: nothing was run, and no speed is claimed.")
    for shown_columns, those in ((products, [r for r in rows if "per element" not in r]), (memory, [r for r in rows if "per element" in r])):
        if those:
            print("\n| " + " | ".join(shown_columns) + " |\n|" + "---|" * len(shown_columns))
        for row in those:
            print("| " + " | ".join(str(row.get(c, "")) for c in shown_columns) + " |" + row.get("refused", ""))
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=1))
    if exceeded:
        sys.exit("\n".join(exceeded))


if __name__ == "__main__":
    main()
