#!/usr/bin/env python3
"""Fits the constants of section [time] of a chip's file to measured times; prints the file's new section.

    build/tpu-model/venv/bin/python bench/tpu-model/fit.py CHIP [--rows FILE.csv] [--rounds N] [--families A,B]

Moves one constant at a time, up and down, and keeps what makes the mean absolute error over families smaller. The rows
are those of `./do bench tpu-model`, whose cache it uses.
"""

import argparse
import collections
import csv
import importlib.util
import json
import math
import pathlib
import re
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("tpu_model", HERE / "tpu-model.py")
bench = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bench)

# Constant: (least, most, first step).
CONSTANTS = {
    "step_cycles": (0, 3000, 1.3), "scalar_cycles": (0.05, 6, 1.5), "copy_cycles": (1, 1000, 1.6),
    "copy_latency_us": (0.02, 3, 1.6), "hbm_efficiency": (0.5, 1, 1.04), "sole_core_hbm_share": (0.4, 1, 1.15),
    "matrix_efficiency": (0.6, 1, 1.02), "unoverlapped": (0.005, 1, 1.4), "op_us": (0.2, 20, 1.5),
    "op_efficiency": (0.3, 1, 1.08), "latch_cycles_per_vreg": (2, 4, 1.2),
}


def read(text, key):
  found = re.search(rf"^{key} = (?:\{{ value = )?([\d.]+)", text, re.M)
  return float(found.group(1))


def changed(text, key, value):
  return re.sub(rf"^({key} = (?:\{{ value = )?)[\d.]+", lambda m: m.group(1) + f"{value:.4g}", text, flags=re.M)


def errors(texts, rows, files):
  """The objective of each chip's text: the mean of families' mean absolute errors."""
  with tempfile.TemporaryDirectory() as folder:
    names = []
    for i, text in enumerate(texts):
      path = pathlib.Path(folder) / f"c{i}.toml"
      path.write_text(re.sub(r'^name = .*', f'name = "c{i}"', text, flags=re.M))
      names.append(str(path))
    run = subprocess.run([bench.SMALTI, "time", *files, "--chip", ",".join(names), "--anyway", "--json"],
                         stdout=subprocess.PIPE, text=True)
  if not run.stdout.startswith("{\"mod") and '"modules"' not in run.stdout[:40]:
    raise SystemExit(run.stdout[:500])
  of = [collections.defaultdict(list) for _ in texts]
  for row, module in zip(rows, json.loads(run.stdout)["modules"]):
    for i, on in enumerate(module["chips"].values()):
      if on["error"]:
        continue
      us = on["us"] + (bench.DISPATCH_US if bench.is_wall_clock(row) else 0)
      of[i][bench.family_of(row)].append(abs(math.log(us / bench.microseconds(row))))
  means = []
  for families in of:
    each = {f: sum(e) / len(e) for f, e in families.items()}
    total = sum(len(e) for e in families.values())
    means.append((0.5 * sum(each.values()) / len(each) + 0.5 * sum(map(sum, families.values())) / total, each))
  return means


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("chip")
  parser.add_argument("--rows", default=bench.DATA / "tpu_measurements.csv")
  parser.add_argument("--rounds", type=int, default=6)
  parser.add_argument("--every", type=int, default=1, help="fit to every Nth row")
  parser.add_argument("--families", default="")
  parser.add_argument("--constants", default=",".join(CONSTANTS))
  arguments = parser.parse_args()
  rows = [r for r in csv.DictReader(open(arguments.rows)) if bench.judged(r) and r["generation"] == arguments.chip]
  if arguments.families:
    rows = [r for r in rows if bench.family_of(r) in arguments.families.split(",")]
  built = bench.modules(rows, pathlib.Path(arguments.rows).parent / "tpu_group_sizes.json")
  rows = [r for r in rows if "module" in built[r["id"]]][::arguments.every]
  files = [built[r["id"]]["module"] for r in rows]
  text = (bench.ROOT / f"chips/{arguments.chip}.toml").read_text()
  constants = {k: CONSTANTS[k] for k in arguments.constants.split(",")}
  steps = {k: c[2] for k, c in constants.items()}
  best, each = errors([text], rows, files)[0]
  print(f"{len(rows)} rows, {100 * best:.2f} %", {k: f"{100 * v:.1f}" for k, v in each.items()}, flush=True)
  for _ in range(arguments.rounds):
    moves = []
    for key, (least, most, _) in constants.items():
      for factor in (steps[key], 1 / steps[key]):
        value = min(most, max(least, read(text, key) * factor))
        moves.append((key, value))
    tried = errors([changed(text, k, v) for k, v in moves], rows, files)
    better = {}
    for (key, value), (error, _) in zip(moves, tried):
      if error < best - 1e-5 and error < better.get(key, (1e9,))[0]:
        better[key] = (error, value)
    for key in constants:
      if key not in better:
        steps[key] = 1 + (steps[key] - 1) * 0.6
    # The best few together, or the best alone.
    ranked = sorted(better.items(), key=lambda b: b[1][0])
    options = []
    for n in sorted({1, 2, 3, len(ranked)}):
      option = text
      for key, (_, value) in ranked[:n]:
        option = changed(option, key, value)
      options.append(option)
    if ranked:
      for option, (error, families) in zip(options, errors(options, rows, files)):
        if error < best:
          best, each, text = error, families, option
    print(f"{100 * best:.2f} %", {k: f"{100 * v:.1f}" for k, v in each.items()},
          {k: read(text, k) for k in constants}, flush=True)
  (bench.CACHE / f"{arguments.chip}.toml").write_text(text)
  print(f"written to {bench.CACHE / (arguments.chip + '.toml')}")


if __name__ == "__main__":
  main()
