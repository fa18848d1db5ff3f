#!/usr/bin/env python3
"""How well `smalti check --legality-only` agrees with Google's TPU compiler on modules whose verdicts are known.

    ./do bench tpu-legality [--data FOLDER]… [--half fitted|fresh] [--wrong] [--json FILE]

FOLDER holds NNNN.mlir and verdicts.csv (columns id, CHIP_verdict, CHIP_code, CHIP_error, CHIP_vmem_bytes,
CHIP_xla_vmem_operands; group and description are shown). Bytes of VMEM are compared where the compiler keeps no operand there.
The rules were derived from one half of these modules, selected by a hash of the name; the other half is fresh.
"""

import argparse
import collections
import csv
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tools"))

from chips import CHIPS

FOLDERS = [ROOT.parent / "shared/data/tpu_legality", ROOT.parent / "shared/data/tpu_vmem"]

# The compiler's message → the id of Smalti's reason. The first match counts.
REASONS = [
    (r"^E1001|Ran out of memory in memory space vmem|scoped vmem|compile permanent error|would exceed memory", "vmem"),
    (r"E2003|cannot statically prove that index", "unaligned-index"),
    (r"E2002|block shape .* is not divisible|Failed to set window params.*has tiling", "block-shape"),
    (r"Couldn't prove that tiling", "element-index"),
    (r"Offsets along tiled dimensions", "dma-offset"),
    (r"Slice sizes along tiled dimensions", "dma-size"),
    (r"divisible by 512 bytes|dynamic offset times the element size", "dma-linear"),
    (r"failed to legalize operation 'scf", "bool-carry"),
    (r"failed to legalize operation", "element-type"),
    (r"Only vector<i16> and vector<i32>", "narrow-arithmetic"),
    (r"Only i32 arith\.\w+ is supported|Only i1 and i32 scalars", "scalar-type"),
    (r"Invalid vector type for", "f16"),
    (r"unsupported shape cast", "shape-cast"),
    (r"Gather indices and result have different bitwidths", "gather-width"),
    (r"Multiple source vregs along gather", "gather-registers"),
    (r"Supported only when \(a\) tiled dimensions|Supported only when tiled", "ref-reshape"),
    (r"E2001|[Mm]atmul|Bad lhs|Mix int/int|acc with|SupportsMatmulDataFormat|Expected (int|float) lhs", "matmul-type"),
    (r"last dim size is not 128", "strided-minor"),
    (r"Stride on last dim|Index on last dim", "strided-lanes"),
    (r"Only static indices are supported for packed", "strided-start"),
    (r"[Ss]trided store with non", "strided-store"),
    (r"scalar vector.extracts", "scalar-extract"),
    (r"Sublane gather", "sublane-gather"),
    (r"subelement masking", "subelement-mask"),
    (r"unsigned integer unpacking", "narrow-shift"),
    (r"Core-parallel|subcore_parallel", "core-parallel"),
    (r"Conversion to 4-bit|Unsupported type 'vector", "unsupported-type"),
    (r"changeBitwidth", "bool-relayout"),
    (r"Cannot schedule FIFO", "matrix-queue"),
]


def reason_of(code, error):
    text = f"{code}: {error}"
    for pattern, reason in REASONS:
        if re.search(pattern, text):
            return reason
    return "unsupported-op"


def is_fitted(name):
    return int(hashlib.md5(name.encode()).hexdigest(), 16) % 2 == 0


def load(folder, half):
    """Rows of a folder's verdicts: (path, description, {chip: (verdict, reason, bytes, xla operands)})."""
    rows = []
    for row in csv.DictReader(open(folder / "verdicts.csv")):
        path = folder / f"{row['id']}.mlir"
        fitted = is_fitted(f"{folder.name.split('_')[-1]}{row['id']}")
        if not path.is_file() or (half == "fitted") != fitted and half != "both":
            continue
        chips = {}
        for chip in CHIPS:
            verdict = row[f"{chip}_verdict"]
            if verdict == "unknown":
                continue
            known = None if verdict == "ok" else reason_of(row[f"{chip}_code"], row[f"{chip}_error"])
            chips[chip] = (verdict, known, row.get(f"{chip}_vmem_bytes"), row.get(f"{chip}_xla_vmem_operands"))
        rows.append((str(path), f"{row['group']}: {row['description']} {row['dtype']}", chips))
    return rows


def judged(paths):
    binaries = pathlib.Path(os.environ.get("SMALTI_BIN_DIR", ROOT / "build/release/bin"))
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "verdicts.json"
        start = time.monotonic()
        done = subprocess.run([binaries / "smalti", "check", *paths, "--chip", "all", "--legality-only", "--json", "-o", out],
                              capture_output=True, text=True)
        if not out.is_file():
            sys.exit(f"smalti check ended with {done.returncode}\n{done.stderr}")
        return {m["file"]: m for m in json.loads(out.read_text())["modules"]}, time.monotonic() - start


def compare(rows, ours):
    """Per chip and verdict: counts, and the rows where we differ."""
    counts = collections.defaultdict(collections.Counter)
    wrong = []
    for path, text, chips in rows:
        for chip, (verdict, reason, *_) in chips.items():
            mine = ours[path]["chips"].get(chip)
            accepted = mine["accepted"] if mine else False
            count = counts[chip]
            count["modules"] += 1
            kind = None
            if accepted == (verdict == "ok"):
                count["agree"] += 1
            else:
                kind = "wrong accepted" if accepted else "wrong refused"
                count[kind] += 1
            if verdict != "ok":
                count["refused"] += 1
                if mine and mine["reason"] == reason:
                    count["reason"] += 1
                elif kind is None:
                    kind = "wrong reason"
            if kind:
                wrong.append((kind, path, chip, text, reason, mine["reason"] if mine else ours[path]["error"]["message"][:80]))
    return counts, wrong


def percentile(errors, share):
    ordered = sorted(errors)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def compare_vmem(rows, ours):
    """Relative errors of the bytes, with what they are of, and how often `fits` is wrong or says nothing."""
    errors, fits = [], collections.Counter()
    for path, text, chips in rows:
        for chip, (verdict, reason, allotted, operands) in chips.items():
            mine = ours[path]["chips"].get(chip)
            if not mine:
                continue
            if verdict == "ok" and allotted and int(allotted) > 0 and operands in ("", "0", None):
                errors.append((abs(mine["vmem_bytes"] / int(allotted) - 1), mine["vmem_bytes"] - int(allotted), chip, path, text))
            if verdict == "ok" or reason == "vmem":
                known = "fits" if verdict == "ok" else "refused"
                fits[known] += 1
                fits[f"{known}, said {mine['fits']}"] += 1
    return errors, fits


def print_vmem(errors, fits, wrong):
    print(f"{'VMEM of':<14}{'kernels':>8}{'exact':>8}{'median':>8}{'p80':>8}{'p95':>8}{'worst':>8}")
    groups = collections.defaultdict(list)
    for e in errors:
        groups[e[4].partition(":")[0]].append(e)
        groups["all"].append(e)
    for group, of in sorted(groups.items(), key=lambda g: (g[0] == "all", g[0])):
        values = [e[0] for e in of]
        if group == "all" or max(values) > 0.01:
            print(f"{group:<14}{len(values):>8}{sum(v == 0 for v in values) / len(values):>8.1%}"
                  + "".join(f"{percentile(values, p):>8.1%}" for p in (0.5, 0.8, 0.95, 1)))
    for known, answers in (("fits", ("no", "uncertain")), ("refused", ("yes", "uncertain"))):
        said = ", ".join(f"{fits[f'{known}, said {a}'] / max(1, fits[known]):.2%} said '{a}'" for a in answers)
        print(f"{fits[known]} that {'fit' if known == 'fits' else 'do not fit'}: {said}")
    if wrong:
        for error, difference, chip, path, text in sorted(errors, reverse=True)[:80]:
            if error > 0.03:
                print(f"VMEM: {pathlib.Path(path).stem} {text} on {chip}: {difference / 4096:+.1f} registers, {error:.1%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", action="append", type=pathlib.Path, help="a folder with verdicts.csv")
    parser.add_argument("--half", choices=["fitted", "fresh", "both"], default="both")
    parser.add_argument("--wrong", action="store_true", help="list every module that is judged wrongly")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    folders = [f for f in args.data or FOLDERS if (f / "verdicts.csv").is_file()]
    if not folders:
        sys.exit("no verdicts here: give --data FOLDER")
    rows = [row for folder in folders for row in load(folder, args.half)]
    ours, seconds = judged([path for path, _, _ in rows])
    counts, wrong = compare(rows, ours)
    total = sum(counts.values(), collections.Counter())
    print(f"{'chip':<6}{'modules':>8}{'agree':>9}{'wrong accepted':>16}{'wrong refused':>15}{'reason':>9}")
    for chip, c in [*counts.items(), ("all", total)]:
        print(f"{chip:<6}{c['modules']:>8}{c['agree'] / c['modules']:>9.2%}{c['wrong accepted'] / c['modules']:>16.2%}"
              f"{c['wrong refused'] / c['modules']:>15.2%}{c['reason'] / max(1, c['refused']):>9.2%}")
    print(f"{len(rows)} modules × {len(CHIPS)} chips in {seconds:.1f} s")
    if args.wrong:
        grouped = collections.defaultdict(list)
        for kind, path, chip, text, reason, mine in wrong:
            grouped[(kind, pathlib.Path(path).stem, text, reason, mine)].append(chip)
        for (kind, stem, text, reason, mine), chips in sorted(grouped.items(), key=str):
            print(f"{kind}: {stem} {text} on {','.join(chips)}: compiler {reason}, smalti {mine}")
    errors, fits = compare_vmem(rows, ours)
    if errors:
        print_vmem(errors, fits, args.wrong)
    if args.json:
        args.json.write_text(json.dumps({"chips": {k: dict(v) for k, v in counts.items()}, "seconds": seconds,
                                         "vmem_errors": [e[0] for e in errors], "fits": dict(fits)}))


if __name__ == "__main__":
    main()
