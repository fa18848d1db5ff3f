#!/usr/bin/env python3
"""Our interpret target compared with JAX's interpret=True and InterpretParams, interleaved in one run."""

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

    def __init__(self, module, check, build=ROOT / "build/release"):
        program = build / "bin/bench_interpret_server"
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


def exported(folder, make, arguments):
    """The module of a workload as a file."""
    module = pathlib.Path(folder) / "module.stablehlo.mlir"
    module.write_text(jax.export.export(jax.jit(make(False)), platforms=["tpu"])(*arguments).mlir_module())
    return module


def times_of(actors, rounds):
    """Seconds of each, interleaved; the first round warms up."""
    times = {key: [] for key in actors}
    for round_number in range(rounds + 1):
        for key, run in actors.items():
            seconds = run()
            if round_number:
                times[key].append(seconds)
    return times


def against_peers(make, arguments, module, rounds):
    plain, checked = Ours(module, check=False), Ours(module, check=True)
    hlo = jax.jit(make(True))
    tpu = jax.jit(make(pltpu.InterpretParams()))
    times = times_of({"hlo": lambda: seconds_of(hlo, arguments), "tpu": lambda: seconds_of(tpu, arguments),
                      "plain": plain.seconds, "checked": checked.seconds}, rounds)
    plain.close()
    checked.close()
    ms = {key: statistics.median(t) * 1e3 for key, t in times.items()}
    return {"ours_ms": ms["plain"], "ours_checked_ms": ms["checked"],
            "interpret_true_ms": ms["hlo"], "interpret_params_ms": ms["tpu"],
            "ratio_interpret_true": ms["hlo"] / ms["plain"],
            "ratio_interpret_params_checked": ms["tpu"] / ms["checked"]}


def against_baseline(module, baseline, rounds):
    """Medians of the rounds' ratios, the other version's time to ours."""
    servers = {(side, check): Ours(module, check, build)
               for check in (False, True) for side, build in (("ours", ROOT / "build/release"), ("baseline", baseline))}
    times = times_of({key: server.seconds for key, server in servers.items()}, rounds)
    for server in servers.values():
        server.close()
    ratio = {check: statistics.median(b / a for a, b in zip(times["ours", check], times["baseline", check]))
             for check in (False, True)}
    return {"ours_ms": statistics.median(times["ours", False]) * 1e3,
            "ours_checked_ms": statistics.median(times["ours", True]) * 1e3,
            "ratio_baseline": ratio[False], "ratio_baseline_checked": ratio[True]}


def print_peers(rows):
    print(f"{'workload':<40}{'ours':>9}{'checked':>9}{'interp=True':>13}{'InterpParams':>14}{'× True':>9}{'× Params, checked':>19}")
    for r in rows:
        print(f"{r['workload']:<40}{r['ours_ms']:>9.2f}{r['ours_checked_ms']:>9.2f}{r['interpret_true_ms']:>13.1f}"
              f"{r['interpret_params_ms']:>14.1f}{r['ratio_interpret_true']:>9.1f}{r['ratio_interpret_params_checked']:>19.1f}")


def print_baseline(rows):
    print(f"{'workload':<40}{'ours':>9}{'checked':>9}{'× baseline':>12}{'checked':>9}")
    for r in rows:
        print(f"{r['workload']:<40}{r['ours_ms']:>9.2f}{r['ours_checked_ms']:>9.2f}{r['ratio_baseline']:>12.3f}"
              f"{r['ratio_baseline_checked']:>9.3f}")
    for key, what in (("ratio_baseline", "plain"), ("ratio_baseline_checked", "checked")):
        print(f"baseline, {what}: {statistics.geometric_mean(r[key] for r in rows):.3f} times its speed in the geometric mean")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--baseline", metavar="FOLDER", type=pathlib.Path,
                        help="another version's build folder (its bin and lib): measured instead of JAX")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    if options.baseline and not (options.baseline / "bin/bench_interpret_server").exists():
        parser.error(f"there is no bin/bench_interpret_server in {options.baseline}: ./do bench builds it")
    rows = []
    for name, (make, shapes) in WORKLOADS.items():
        print(f"  {name} …", end="\r", file=sys.stderr, flush=True)
        rng = np.random.default_rng(0)
        arguments = [rng.standard_normal(s, dtype=np.float32) for s in shapes]
        with tempfile.TemporaryDirectory() as folder:
            module = exported(folder, make, arguments)
            row = (against_baseline(module, options.baseline, options.rounds) if options.baseline
                   else against_peers(make, arguments, module, options.rounds))
        rows.append({"workload": name, **row})
    print(f"JAX {jax.__version__}, median of {options.rounds} rounds, milliseconds")
    (print_baseline if options.baseline else print_peers)(rows)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
