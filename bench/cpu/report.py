#!/usr/bin/env python3
"""Prints the cpu benchmark's figures as a table with bars, or as docs/performance.md: report.py FIGURES.json [COMMAND]."""

import datetime
import json
import math
import os
import pathlib
import statistics
import sys

BAR = 24
NAME = 52  # characters of a workload's name


def machine():
    """The processor, its vectors and the number of cores; virtual machines hide the model's name, so its numbers are said too."""
    first = pathlib.Path("/proc/cpuinfo").read_text().split("\n\n")[0]
    cpu = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.splitlines())}
    if "model name" not in cpu:
        return f"{os.uname().machine}, {os.cpu_count()} cores"
    flags = cpu.get("flags", "").split()
    vectors = next((name for flag, name in (("amx_tile", "AMX"), ("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "SSE")
    return f"{cpu['model name']} (family {cpu['cpu family']}, model {cpu['model']}, {vectors}), {os.cpu_count()} cores"


def grouped(rows):
    """Rows of one workload and number of threads, the best peer first."""
    groups = {}
    for row in rows:
        groups.setdefault((row["workload"], row["threads"]), []).append(row)
    for group in groups.values():
        group.sort(key=lambda r: (r["peer"] is None, -(r["peer_rate"] or 0) * (-1 if latency(r) else 1)))
    return groups.values()


def latency(row):
    return row["unit"] in ("ms", "µs")


def number(value):
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def bar(row):
    """█ Smalti, ┃ the best peer, │ the limit; for times: Smalti and the peer, relative to the longer one."""
    slow = max(row["ours"] or 0, row["peer_rate"] or 0)
    top = slow if latency(row) else row["limit"] or slow
    if not top:
        return " " * (BAR + 1)
    place = lambda v: min(BAR, round((v or 0) / top * BAR))
    cells = ["█" if i < place(row["ours"]) else " " for i in range(BAR)] + [" "]
    if row["limit"]:
        cells[place(row["limit"])] = "│"
    if row["peer_rate"]:
        cells[max(0, place(row["peer_rate"]) - 1)] = "┃"
    return "".join(cells)


def line(group):
    row = list(grouped(group))[0][0]
    others = ", ".join(f"{r['peer']} {number(r['ratio'])}×" for r in list(grouped(group))[0] if r["peer"] and r["ratio"])
    fraction = "" if row["fraction"] is None else f"{row['fraction']:.2f}"
    return (f"{row['workload']:<{NAME}}{row['threads']:>3}{number(row['ours']):>9} {row['unit']:<9}{number(row['limit']):>8}"
            f"{fraction:>6}  {bar(row)}  {others or (row['peer'] or '') + ' ' + number(row['peer_rate'])}")


def heading():
    return (f"{'workload':<{NAME}}{'th':>3}{'Smalti':>9} {'unit':<9}{'limit':>8}{'':>6}  "
            f"{'█ Smalti  ┃ best peer  │ limit':<{BAR + 1}}  speed-up")


def table(rows):
    return "\n".join([heading()] + [line(group) for group in grouped(rows)])


def read_by(workload):
    """What a workload reads, of those that memory or multiply-adds may limit."""
    return "weights" if workload.startswith("matmul") else "keys and values"


def bounds(rows):
    """Sentences about what the limits of this run permit, where the fraction alone does not show it."""
    best = {(r["workload"], r["threads"]): r for r in rows}
    said = []
    for row in rows:
        whole = row["workload"].startswith(("interpret=True: ", "MiniLM"))
        if whole and row["peer"] and row["limit"] and row["threads"] == 1:
            said.append(f"{row['workload'].removeprefix('interpret=True: ')}: {number(row['peer_rate'])} ms with {row['peer']}, "
                        f"{number(row['limit'])} ms for the multiply-adds alone: a speed-up of {number(row['peer_rate'] / row['limit'])} "
                        "at most.")
    exponentials = best.get(("exp 64x1024, in cache", 1))
    for size in (64, 128):
        attention = best.get((f"attention f32, 2048 keys, size {size}", 1))
        if exponentials and attention:
            products, exp = 4 * size / attention["limit"], 1 / exponentials["ours"]  # ns for a score
            said.append(f"attention f32, size {size}: exp alone, on the ports that multiply and add, takes {exp:.3f} ns per "
                        f"score, the products {products:.2f} ns: a fraction of {products / (products + exp):.2f} at most, before "
                        "maxima, sums and rescaling.")
    for (workload, threads), pages in best.items():
        whole = best.get((workload.replace("pages of 16", "16384 keys"), threads))
        if workload.startswith("decode ") and workload.endswith("pages of 16") and whole and pages["limit"] and whole["limit"]:
            said.append(f"{workload}, {threads} {'thread' if threads == 1 else 'threads'}: memory delivers "
                        f"{number(pages['limit'])} GB/s page by page in table order, {number(whole['limit'])} GB/s of consecutive keys: "
                        f"a ratio of {pages['limit'] / whole['limit']:.2f}.")
    for (workload, threads), row in best.items():
        if row.get("flop_limit") and row.get("loop_limit"):
            said.append(f"{workload}, {threads} {'thread' if threads == 1 else 'threads'}: memory delivers "
                        f"{number(row['loop_limit'])} GB/s of {read_by(workload)}, and the multiply-adds alone can use "
                        f"{number(row['flop_limit'])} GB/s: the lower rate is the limit.")
    if any(row.get("flop_limit") and read_by(workload) != "weights" for (workload, _), row in best.items()):
        said[-1] += ("\n  (A key and its value have 256 elements; their two products with 8 queries take 4,096 flops: 4 per byte of f32, "
                     "8 of bf16. The scores of a key, with keys in L1, took 23.8 ns in f32 and 12.1 ns in bf16 with broadcast keys and "
                     "interleaved queries, 26.3 and 16.0 ns with transposed keys, where multiply-adds alone take 17.3 and 8.65 ns, in C++ on "
                     "Zen 4 on 2026-11-30; Smalti's dot products take 21.6 and 13.4 ns there, with keys from memory.)")
    near, far = best.get(("softmax 64x1024, in cache", 1)), best.get(("softmax 16384x1024, DRAM", 1))
    if near and far and far["limit"]:
        said.append(f"softmax from DRAM: on one core, computing takes {number(far['limit'] / near['ours'])} times as long as copying: a "
                    f"fraction of {min(1, near['ours'] / far['limit']):.2f} at most.")
    for row in rows:
        if row["workload"] == "layer_norm 64x1024, in cache" and row["peer"] == "oneDNN" and row["ratio"] and row["limit"]:
            said.append(f"layer_norm in cache: copying alone is {row['limit'] / row['ours'] * row['ratio']:.2f} times as fast as oneDNN's "
                        "layer_norm; two passes of loads and the scale and shift remain.")
    tanh, product = best.get(("tanh 64x1024, in cache", 1)), best.get(("matmul f32 1024", 1))
    if tanh and product and product["limit"]:
        factors, curve = 6 * 2 / product["limit"], 1 / tanh["ours"]  # ns for an element
        said.append(f"gelu: tanh takes {curve:.3f} ns per element (measured), the six multiplications around it {factors:.3f} ns "
                    f"on the same ports: {number(1 / (curve + factors))} Gelem/s for both in sequence.")
    for (workload, threads), wake in best.items():
        product, single = best.get(("matmul f32 512", threads)), best.get(("matmul f32 512", 1))
        if workload.startswith("thread-pool wake-up latency") and product:
            ideal = 2 * 512**3 / product["limit"] * 1e-3  # µs
            said.append(f"matmul f32 512 on {threads} threads: after a pause the threads take {number(wake['ours'])} µs to start "
                        f"on average, the multiply-adds {number(ideal)} µs: a fraction of "
                        f"{ideal / (ideal + wake['ours']):.2f} at most, not counting cold caches"
                        + (f"; a single thread reaches {single['fraction']:.2f} with them." if single and single["fraction"] else "."))
    return said


def against_baseline(rows, enough=5, slower=0.98):
    """A sentence that compares the speed of this version with the baseline's, over the rows with enough valid rounds."""
    valid = [r for r in rows if r["peer"] == "baseline" and r["ratio"] and r["valid_rounds"] >= enough]
    if not valid:
        return f"baseline: no row has {enough} valid rounds"
    mean = math.exp(statistics.fmean(math.log(r["ratio"]) for r in valid))
    slow = sorted((r for r in valid if r["ratio"] < slower), key=lambda r: r["ratio"])
    return "\n".join([f"baseline: {mean:.3f} times its speed in the geometric mean of {len(valid)} rows with {enough} valid "
                      f"rounds; {len(slow)} of them below {slower}",
                      *(f"  {r['workload']}, threads {r['threads']}: {r['ratio']:.3f}" for r in slow)])


def page(rows, command):
    """docs/performance.md."""
    out = ["# Performance of the `cpu` target", "",
           f"Measured on {machine()}, {datetime.date.today().isoformat()}, by", "", "```sh", command, "```", "",
           "Smalti and each peer ran interleaved, every run between two runs of a loop at the machine's limit. A short run was repeated until both",
           "loops reached 95 % of their best run, at most five times. Rounds in which this held for Smalti and the peer are valid; the figures are",
           "medians of the valid rounds (without any, of the round with the least interference).",
           "",
           "- limit: the rate of that loop in these rounds: multiply-adds in f32, bf16 or int8 of operands in L1,",
           "  or memory bandwidth (for paged decoding, read page by page in table order; with 8 queries per key or 8 rows, the rate",
           "  at which the multiply-adds alone use what is read, if it is lower); for times, the flops at that rate.",
           "- fraction: Smalti's rate divided by the limit; well above 1 where the arrays stay in a cache and the limit is that of DRAM.",
           "- speed-up: Smalti's rate divided by the peer's (of times: the peer's divided by Smalti's), best peer first.", "",
           "| workload | threads | Smalti | unit | limit | fraction | speed-up over peer | valid rounds |", "|---|---|---|---|---|---|---|---|"]
    for group in grouped(rows):
        r = group[0]
        peers = ", ".join(f"{p['peer']} {number(p['ratio'])}" for p in group if p["peer"] and p["ratio"])
        fraction = "" if r["fraction"] is None else f"{r['fraction']:.3f}"
        out.append(f"| {r['workload']} | {r['threads']} | {number(r['ours'])} | {r['unit']} | {number(r['limit'])} | {fraction} "
                   f"| {peers} | {r['valid_rounds']} |")
    if said := bounds(rows):
        out += ["", "## What the limits leave", "", *(f"- {s}" for s in said)]
    return "\n".join(out) + "\n"


def write_page(rows, command):
    target = pathlib.Path(__file__).resolve().parents[2] / "docs/performance.md"
    target.write_text(page(rows, command))
    print(f"wrote {target}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    write_page(json.loads(pathlib.Path(sys.argv[1]).read_text()), sys.argv[2] if len(sys.argv) > 2 else "./do bench cpu")
