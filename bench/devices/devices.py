#!/usr/bin/env python3
"""Collectives of a shard_map on cpu, compared with XLA:CPU, Open MPI and Gloo: microseconds per call, and the fraction of the limit."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
BUILT = ROOT / "build/bench-devices"
OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
SIZES = ("1K", "16K", "256K", "4M", "64M", "256M")
UNITS = {"K": 1 << 10, "M": 1 << 20}
LARGE = 16 << 20  # rows of this size or more show the fraction of the limit


def least_bytes(operation, devices, size):
    """Bytes read and written: every input once, every result once; results that are equal on all devices count once."""
    return {"all_reduce": (devices + 1) * size, "all_gather": 2 * size,
            "reduce_scatter": (devices + 1) * size, "all_to_all": 2 * devices * size}[operation]


def built(name, compiler, *libraries):
    """Builds the program of a peer; None if this machine lacks its library."""
    source, program = HERE / f"peers/{name}.cpp", BUILT / name
    BUILT.mkdir(parents=True, exist_ok=True)
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        done = subprocess.run([compiler, "-std=c++20", "-O3", "-march=native", source, "-o", program, *libraries],
                              capture_output=True, text=True) if shutil.which(compiler) else None
        if done is None or done.returncode:
            print(f"left out: {name}, which does not build here" + (f": {done.stderr.splitlines()[0]}" if done else ""),
                  file=sys.stderr)
            return None
    return program


class Actor:
    def __init__(self, command):
        env = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, env=env, cwd=ROOT)

    def ask(self, operation, size, seconds):
        try:
            self.process.stdin.write(f"{operation} {size} {seconds}\n")
            self.process.stdin.flush()
            return float(self.process.stdout.readline())
        except (OSError, ValueError):
            return float("nan")

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


def actors(devices):
    found = {"smalti": Actor([ROOT / "build/release/bin/bench_devices_ours", devices]),
             "XLA": Actor([sys.executable, HERE / "peers/xla.py", devices])}
    if (mpi := built("Mpi", "mpicxx")) and shutil.which("mpirun"):
        # With more ranks than cores, ranks must yield to each other; Open MPI does so if it is told.
        found["Open MPI"] = Actor(["mpirun", "-n", devices, "--oversubscribe", "--bind-to", "none", mpi])
    if gloo := built("Gloo", "g++", "-lgloo", "-lpthread"):
        found["Gloo"] = Actor([gloo, devices])
    return found


def number(size):
    return int(size[:-1]) * UNITS[size[-1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", default="2,4")
    parser.add_argument("--sizes", default=",".join(SIZES), help="of the larger side on each device")
    parser.add_argument("--only", default="", help="operations with this in their names")
    parser.add_argument("--rounds", type=int, default=3, help="of each actor; the fastest counts")
    parser.add_argument("--seconds", type=float, default=0.1, help="of a round")
    options = parser.parse_args()
    worst = {}
    for devices in map(int, options.devices.split(",")):
        cast = actors(devices)
        copies = []
        rows = []
        for size in options.sizes.split(","):
            for operation in (o for o in OPERATIONS if options.only in o):
                best = dict.fromkeys(cast, float("inf"))
                for _ in range(options.rounds):
                    for name, actor in cast.items():
                        took = actor.ask(operation, number(size), options.seconds)
                        best[name] = min(best[name], took) if took == took else best[name]
                if number(size) >= LARGE:
                    copies.append(2 * (256 << 20) / cast["smalti"].ask("copy", 256 << 20, 2 * options.seconds))
                rows.append((operation, size, best))
        inside = cast["smalti"].ask("in_kernel", 1024, 0.5) if devices == 2 else None
        among = cast["smalti"].ask("in_program", 1024, 0.5)
        for actor in cast.values():
            actor.close()
        print(f"\n{devices} devices" + (f", copies at {max(copies) / 1e9:.1f} GB/s" if copies else ""))
        print(f"{'':22}" + "".join(f"{name + ' us':>14}" for name in cast) + f"{'best / smalti':>15}{'of the limit':>14}")
        for operation, size, best in rows:
            peers = min(t for name, t in best.items() if name != "smalti")
            share = ""
            if number(size) >= LARGE:
                share = f"{least_bytes(operation, devices, number(size)) / max(copies) / best['smalti']:14.2f}"
            print(f"{operation + ' ' + size:22}" + "".join(f"{t * 1e6:14.1f}" for t in best.values())
                  + f"{peers / best['smalti']:15.2f}{share}")
            worst[operation, size, devices] = peers / best["smalti"]
        print(f"an all-reduce of 1K and an element-wise op, several times in a program: {among * 1e6:.2f} us")
        if inside:
            print(f"an all-reduce of 1K in a loop inside a running kernel: {inside * 1e6:.2f} us")
    print(f"\nsmallest ratio of the best peer to smalti: {min(worst.values()):.2f}, {' '.join(map(str, min(worst, key=worst.get)))} devices")


if __name__ == "__main__":
    main()
