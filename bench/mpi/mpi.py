#!/usr/bin/env python3
"""Ring attention and data-parallel training over MPI processes of one core each: weak scaling, how much of an injected
network is hidden, projections. Two processes that do not communicate, each on its core, show how much of the scaling the
machine itself allows."""

import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RING = ROOT / "build/release/bin/bench_mpi_ring"
TRAIN = ROOT / "build/release/bin/train"
TRAINING_STEPS, BATCH = 200, 8


def over_processes(processes, command, network=""):
    env = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "SMALTI_NET": network,
                        "SMALTI_TARGET": "cpu"}
    launched = ["mpirun", "-n", processes, "--bind-to", "core", *command]
    done = subprocess.run(list(map(str, launched)), capture_output=True, text=True, env=env, cwd=ROOT)
    if done.returncode:
        sys.exit(done.stderr)
    return done


def uncoupled(processes, command):
    """Runs processes that do not communicate at the same time, each on one core; returns their output."""
    env = os.environ | {"SMALTI_MPI": "off", "SMALTI_TARGET": "cpu"}
    cores = sorted(os.sched_getaffinity(0))[:processes]
    if len(cores) < processes:
        sys.exit(f"{processes} processes need as many cores; there are {len(cores)}")
    running = [subprocess.Popen(["taskset", "-c", str(core), *map(str, command)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=env, cwd=ROOT) for core in cores]
    texts = [process.communicate() for process in running]
    if any(process.returncode for process in running):
        sys.exit(texts[0][1])
    return texts


def compared(rounds, one, apart, two):
    """Medians of seconds for the same work: of one process, of two `apart` that do not communicate, of two together. In
    each round they run one after the other, since a shared machine changes its speed."""
    rows = [(one(), apart(), two()) for _ in range(rounds)]
    ratio = {name: statistics.median(row[a] / row[b] for row in rows)
             for name, (a, b) in {"all": (0, 2), "machine": (0, 1), "own": (1, 2)}.items()}
    seconds = [statistics.median(column) for column in zip(*rows)]
    text = (f"weak scaling: {ratio['all']:.2f} of the work per second and process; the machine allows "
            f"{ratio['machine']:.2f} (two processes that do not communicate: {seconds[1] * 1e3:.2f} ms), of which "
            f"{ratio['own']:.2f} is reached")
    return *seconds, text


def ring_attention(options):
    shape = [int(n) for n in options.shape.split(",")]
    heads, length, depth = shape
    sent = 2 * heads * length * depth * 4  # bytes of k and v, which go to the neighbour in each step but the last

    command = [RING, *shape, options.seconds]

    def took(processes, network=""):
        return float(over_processes(processes, command, network).stdout)

    one, _, half, scaling = compared(options.rounds, lambda: took(1),
                                     lambda: max(float(text) for text, _ in uncoupled(2, command)),
                                     lambda: took(2) / 2)
    two = 2 * half
    print(f"ring attention, f32[{heads},{length},{depth}] on each device, {sent / 1e6:.2f} MB to the neighbour a step")
    print(f"1 process {one * 1e3:.2f} ms (1 step), 2 processes {two * 1e3:.2f} ms (2 steps each)")
    print(scaling)

    # A network that takes as long as half a step computes: all of it could be hidden.
    latency, bandwidth = 10e-6, sent / (one / 2 - 10e-6)
    slow = statistics.median(took(2, f"{latency * 1e6:g},{bandwidth / 1e9:g}") for _ in range(options.rounds))
    travel = latency + sent / bandwidth
    print(f"network of {latency * 1e6:.0f} us and {bandwidth / 1e9:.3f} GB/s: {travel * 1e3:.2f} ms a step, "
          f"{slow * 1e3:.2f} ms a call")
    # The results of a call, which every process gets whole, travel after the computation: nothing could hide them.
    results = latency + sent / 2 / bandwidth
    print(f"hidden: {max(0.0, 1 - max(0.0, slow - two - results) / travel):.2f} of the copies between steps")

    # A step takes as long as the longer of computing and travelling, and costs what the second one costs more here.
    micros, gigabytes = map(float, options.network.split(","))
    over = max(0.0, two - 2 * one)
    step = max(one, micros * 1e-6 + sent / (gigabytes * 1e9))
    print(f"projected (a model, not a measurement; {micros:g} us and {gigabytes:g} GB/s between neighbours, no contention,"
          " hosts like this core):")
    for hosts in (64, 1024):
        total = hosts * step + (hosts - 1) * over
        print(f"  {hosts:5} hosts: {total * 1e3:.1f} ms a call, {hosts * one / total:.2f} of the work per second and host")


def training(options):
    def slowest(texts):
        return max(float(ms) for text in texts for ms in re.findall(r"([\d.]+) ms a step", text)) / 1e3

    def command(processes):
        return [TRAIN, ROOT / "LICENSE", TRAINING_STEPS, processes, processes * BATCH]

    def took(processes):
        return slowest([over_processes(processes, command(processes)).stderr])

    one, _, two, scaling = compared(options.rounds, lambda: took(1),
                                    lambda: slowest(err for _, err in uncoupled(2, command(1))), lambda: took(2))
    print(f"\ntraining, a batch of {BATCH} on each device: 1 process {one * 1e3:.2f} ms a step, 2 processes {two * 1e3:.2f}")
    print(scaling)

    # A ring all-reduce: each host sends and receives all gradients twice, in 2 (hosts - 1) messages.
    micros, gigabytes = map(float, options.network.split(","))
    gradients = 4 * 110_000  # bytes, of all weights
    print("projected (a model, not a measurement; the same network, one ring all-reduce after each step, not hidden):")
    for hosts in (64, 1024):
        ring = 2 * (hosts - 1) * (micros * 1e-6 + gradients / hosts / (gigabytes * 1e9))
        total = max(one, two) + ring
        print(f"  {hosts:5} hosts: {total * 1e3:.2f} ms a step, {one / total:.2f} of the work per second and host")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", default="4,512,64", help="heads, length on each device, depth")
    parser.add_argument("--rounds", type=int, default=5, help="whose medians are printed")
    parser.add_argument("--seconds", type=float, default=1, help="of a round")
    parser.add_argument("--network", default="10,3.125", help="of the projections: microseconds, GB/s (25 Gbit/s)")
    options = parser.parse_args()
    if not shutil.which("mpirun"):
        sys.exit("no mpirun on this machine (Debian: openmpi-bin)")
    ring_attention(options)
    training(options)


if __name__ == "__main__":
    main()
