#!/usr/bin/env python3
"""Our interpret target beside JAX's interpret=True and InterpretParams, alternately in one run."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np
from jax.experimental.pallas import tpu as pltpu

from kernels import WORKLOADS

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Ours:
    """A process that has the module loaded and runs it on request."""

    def __init__(self, module, check):
        program = ROOT / "build/release/bin/bench_interpret_server"
        self.process = subprocess.Popen([program, str(module)] + (["--check"] if check else []),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def seconds(self):
        self.process.stdin.write("run\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def seconds_of(function, arguments):
    start = time.perf_counter()
    jax.block_until_ready(function(*arguments))
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    rows = []
    for name, (make, shapes) in WORKLOADS.items():
        print(f"  {name} …", end="\r", file=sys.stderr, flush=True)
        rng = np.random.default_rng(0)
        arguments = [rng.standard_normal(s, dtype=np.float32) for s in shapes]
        exported = jax.export.export(jax.jit(make(False)), platforms=["tpu"])(*arguments)
        with tempfile.TemporaryDirectory() as folder:
            module = pathlib.Path(folder) / "module.stablehlo.mlir"
            module.write_text(exported.mlir_module())
            plain, checked = Ours(module, check=False), Ours(module, check=True)
            hlo = jax.jit(make(True))
            tpu = jax.jit(make(pltpu.InterpretParams()))
            peers = {"hlo": lambda: seconds_of(hlo, arguments), "tpu": lambda: seconds_of(tpu, arguments),
                     "plain": plain.seconds, "checked": checked.seconds}
            times = {key: [] for key in peers}
            for round_number in range(options.rounds + 1):  # the first warms up
                for key, run in peers.items():
                    seconds = run()
                    if round_number:
                        times[key].append(seconds)
            plain.close()
            checked.close()
        ms = {key: statistics.median(t) * 1e3 for key, t in times.items()}
        rows.append({"workload": name, "ours_ms": ms["plain"], "ours_checked_ms": ms["checked"],
                     "interpret_true_ms": ms["hlo"], "interpret_params_ms": ms["tpu"],
                     "ratio_interpret_true": ms["hlo"] / ms["plain"],
                     "ratio_interpret_params_checked": ms["tpu"] / ms["checked"]})
    print(f"JAX {jax.__version__}, median of {options.rounds} rounds, milliseconds")
    print(f"{'workload':<40}{'ours':>9}{'checked':>9}{'interp=True':>13}{'InterpParams':>14}{'× True':>9}{'× Params, checked':>19}")
    for r in rows:
        print(f"{r['workload']:<40}{r['ours_ms']:>9.2f}{r['ours_checked_ms']:>9.2f}{r['interpret_true_ms']:>13.1f}"
              f"{r['interpret_params_ms']:>14.1f}{r['ratio_interpret_true']:>9.1f}{r['ratio_interpret_params_checked']:>19.1f}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
