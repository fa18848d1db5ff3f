#!/usr/bin/env python3
"""Ring attention over MPI processes of one core each: weak scaling, what of an injected network is hidden, projections."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build/release/bin/bench_mpi_ring"


def seconds(processes, shape, spent, network=""):
    env = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "SMALTI_NET": network}
    command = ["mpirun", "-n", processes, "--bind-to", "core", PROGRAM, *shape, spent]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=env, cwd=ROOT)
    if done.returncode:
        sys.exit(done.stderr)
    return float(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", default="4,512,64", help="heads, length on each device, depth")
    parser.add_argument("--rounds", type=int, default=3, help="of which the fastest counts")
    parser.add_argument("--seconds", type=float, default=1, help="a round")
    parser.add_argument("--network", default="10,3.125", help="of the projections: microseconds, GB/s (25 Gbit/s)")
    options = parser.parse_args()
    if not shutil.which("mpirun"):
        sys.exit("no mpirun on this machine (Debian: openmpi-bin)")
    shape = [int(n) for n in options.shape.split(",")]
    heads, length, depth = shape
    sent = 2 * heads * length * depth * 4  # bytes of k and v, which go to the neighbour in each step but the last

    def fastest(processes, network=""):
        return min(seconds(processes, shape, options.seconds, network) for _ in range(options.rounds))

    one, two = fastest(1), fastest(2)
    print(f"f32[{heads},{length},{depth}] on each device, {sent / 1e6:.2f} MB from device to device a step")
    print(f"1 process {one * 1e3:.2f} ms (1 step), 2 processes {two * 1e3:.2f} ms (2 steps each)")
    print(f"weak scaling: {2 * one / two:.2f} of the work per second and process")

    # A network that takes as long as half a step computes: all of it could be hidden.
    latency, bandwidth = 10e-6, sent / (one / 2 - 10e-6)
    slow = fastest(2, f"{latency * 1e6:g},{bandwidth / 1e9:g}")
    travel = latency + sent / bandwidth
    print(f"network of {latency * 1e6:.0f} us and {bandwidth / 1e9:.3f} GB/s: {travel * 1e3:.2f} ms a step, "
          f"{slow * 1e3:.2f} ms a call: {max(0.0, 1 - max(0.0, slow - two) / travel):.2f} of it is hidden")

    # Projected, not measured: a step takes as long as the longer of computing and travelling, and each step costs what
    # the second one costs more here. Assumes a network without contention between neighbours, hosts as fast as this core.
    micros, gigabytes = map(float, options.network.split(","))
    over = max(0.0, two - 2 * one)
    step = max(one, micros * 1e-6 + sent / (gigabytes * 1e9))
    print(f"projected (a model, not a measurement) for {micros:g} us and {gigabytes:g} GB/s between neighbours:")
    for hosts in (64, 1024):
        total = hosts * step + (hosts - 1) * over
        print(f"  {hosts:5} hosts: {total * 1e3:.1f} ms a call, {hosts * one / total:.2f} of the work per second and host")


if __name__ == "__main__":
    main()
