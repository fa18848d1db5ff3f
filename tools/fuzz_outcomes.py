#!/usr/bin/env python3
"""Summarises `smalti conform --json` on a folder of mutated cases; keeps those that crashed. Used by fuzz.sh.

Usage: fuzz_outcomes.py FOLDER EXIT_CODE KEEP"""

import json
import pathlib
import shutil
import sys


def main():
    folder, code, keep = pathlib.Path(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3])
    try:
        outcomes = json.loads((folder / "outcomes.json").read_text())
    except (OSError, ValueError):
        shutil.copytree(folder, keep / "batch", dirs_exist_ok=True)
        sys.exit(f"fuzz: conform ended with {code} and no outcomes: see {keep / 'batch'}")
    limits = {"SM9012": "time", "SM9013": "memory"}
    ended = [case for case in outcomes["cases"] if case["status"] == "crash"]
    crashed = [case for case in ended if case["code"] not in limits]
    for case in crashed:
        shutil.copytree(folder / case["case"], keep / case["case"], dirs_exist_ok=True)
        print(f"fuzz: crashed: {keep / case['case']}: {case['code']}")
    counts = ", ".join(f"{outcomes[what]} {what}" for what in ("passed", "failed", "refused", "ran"))
    print(f"fuzz: {len(outcomes['cases'])} cases, {counts}, {len(ended) - len(crashed)} at a limit of time or memory, "
          f"{len(crashed)} crashed", flush=True)


if __name__ == "__main__":
    main()
