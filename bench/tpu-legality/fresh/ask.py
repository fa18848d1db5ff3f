#!/usr/bin/env python3
"""Asks a TPU compiler about the modules of a folder that write.py has made, and keeps its verdicts there.

    python bench/tpu-legality/fresh/ask.py FOLDER [--most N]
    ./do bench tpu-legality --data FOLDER --wrong

FOLDER/verdicts.csv is what `./do bench tpu-legality` reads. Modules that it has are not asked about again. The compiler is the one
that `smalti compile` finds (TPU_LIBRARY_PATH).
"""

import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "tools"))

from chips import CHIPS

COLUMNS = ["id", "group", "description", "dtype"] + [f"{c}_{k}" for c in CHIPS for k in
                                                    ("verdict", "reason", "code", "error", "vmem_bytes", "xla_vmem_operands")]
AT_ONCE = 40  # modules a call: what has been asked is kept if the next call is stopped


def verdict(chip):
  """The columns of one chip; a compiler that did not finish in time has said nothing."""
  refusal = chip.get("error") or chip.get("diagnostic") or {}
  return dict(verdict="ok" if chip["accepted"] else "unknown" if chip["reason"] == "timeout" else "refused", reason=chip["reason"] or "", code="",
              error=(refusal.get("have") or refusal.get("message") or "") if isinstance(refusal, dict) else str(refusal),
              vmem_bytes="" if chip["vmem_bytes"] is None else chip["vmem_bytes"],
              xla_vmem_operands="" if chip["xla_vmem_operands"] is None else chip["xla_vmem_operands"])


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("folder", type=pathlib.Path)
  parser.add_argument("--most", type=int, default=1 << 30, help="modules to ask about now")
  args = parser.parse_args()
  smalti = pathlib.Path(os.environ.get("SMALTI_BIN_DIR", ROOT / "build/release/bin")) / "smalti"
  index = {r["id"]: r["what"] for r in csv.DictReader(open(args.folder / "index.csv"))}
  kept = args.folder / "verdicts.csv"
  known = list(csv.DictReader(open(kept))) if kept.is_file() else []
  asked = {r["id"] for r in known}
  todo = [i for i in index if i not in asked][:args.most]
  for first in range(0, len(todo), AT_ONCE):
    names = todo[first:first + AT_ONCE]
    files = [str(args.folder / f"{n}.mlir") for n in names]
    done = subprocess.run([smalti, "compile", *files, "--chip", "all", "--json"], stdout=subprocess.PIPE, text=True)
    for name, module in zip(names, json.loads(done.stdout)["modules"]):
      row = dict(id=name, group=name.rpartition("-")[0], description=index[name], dtype="")
      for chip in CHIPS:
        row |= {f"{chip}_{k}": v for k, v in verdict(module["chips"][chip]).items()}
      known.append(row)
    with open(kept, "w") as f:
      writer = csv.DictWriter(f, COLUMNS)
      writer.writeheader()
      writer.writerows(known)
  print(f"{len(known)} of {len(index)} modules have verdicts in {kept}")


if __name__ == "__main__":
  main()
