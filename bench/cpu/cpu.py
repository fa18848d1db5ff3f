#!/usr/bin/env python3
"""Our cpu target compared with MKL, oneDNN, OpenBLAS, Eigen, libxsmm, ggml, XLA and PyTorch, interleaved, between loops at the
machine's limits."""

import argparse
import dataclasses
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import report
from actors import HERE, Actor, Lost, commands, cpus_for, environment
from rows import ROWS

VALID = 0.95        # a valid limit, relative to the best rate of the limit's loop so far
TOTAL_SECONDS = 520  # for all workloads: rows are measured for a shorter time if the run is late
FIRST_LIMITS = 5    # steps of the limit's loop before the first round, to find its best rate
TRIES = 5           # steps of an actor per round at most, until one is between valid limits
LONG_SECONDS = 0.03  # longer steps are not repeated: a disturbance is a small part of them
GRACE_SECONDS = 3   # that a row may take in excess of its time for three rounds with repeated steps; after that one round suffices
SETTLE_SECONDS = 0.02  # until idle threads of the last actor sleep: XLA's keep one core busy for milliseconds


class Stage:
    """The actors for one number of threads, each started when it is first needed."""

    def __init__(self, peers, threads, target, realtime, baseline=None):
        self.peers, self.threads, self.realtime = peers, threads, realtime
        self.commands, self.missing = commands(peers, threads, target, baseline)
        self.actors, self.limit, self.fastest, self.best = {}, None, {}, {}
        self.folder = tempfile.TemporaryDirectory()
        self.module = pathlib.Path(self.folder.name) / "module.mlir"

    def actor(self, name):
        if name not in self.actors:
            command, more = self.commands[name]
            kept = {"SMALTI_CACHE": str(self.module.parent / "cache")}  # not among the user's kernels
            self.actors[name] = Actor(name, command, {**environment(self.threads), **kept, **more},
                                      self.threads, self.realtime)
        return self.actors[name]

    def drop(self, name):
        self.actors.pop(name).close()

    def prepare_limit(self, specs):
        """One of several specs (`a|b`): the one with the highest rate, found once. False: the machine has none."""
        limits = self.actor("limits")
        if specs not in self.fastest:
            rates = {}
            for spec in specs.split("|"):
                if limits.prepare(spec) is None:
                    self.limit = spec
                    rates[spec] = max(self.limit_rate() for _ in range(20 if "|" in specs else 1))
            self.fastest[specs] = max(rates, key=rates.get, default=None)
        if self.fastest[specs] and self.limit != self.fastest[specs]:
            self.limit = self.fastest[specs]
            limits.prepare(self.limit)
        return self.fastest[specs] is not None

    def peak_rate(self, specs):
        """The highest rate of one of several specs (`a|b`) in a few steps; infinite if there is none."""
        if not specs or not self.prepare_limit(specs):
            return math.inf
        for _ in range(FIRST_LIMITS):
            self.limit_rate()
        return self.best[self.limit]

    def limit_rate(self):
        seconds, amount = self.actor("limits").run()
        self.best[self.limit] = max(self.best.get(self.limit, 0), amount / seconds)
        return amount / seconds

    def is_valid(self, rate):
        """Whether the limit's loop was about as fast as it ever was, in this row or before."""
        return rate >= VALID * self.best[self.limit]

    def close(self):
        for actor in self.actors.values():
            actor.close()
        self.folder.cleanup()


@dataclasses.dataclass
class Sample:
    """One step of one actor, between two steps of the limit's loop (their rates)."""
    before: float
    seconds: float
    after: float

    @property
    def lower_limit(self):
        return min(self.before, self.after)

    @property
    def limit(self):
        return (self.before + self.after) / 2


def take_sample(stage, row, name, before, last):
    """The least disturbed of a few steps: a short one next to an invalid limit is repeated."""
    samples = []
    while not samples or (not stage.is_valid(samples[-1].lower_limit) and len(samples) < TRIES
                          and samples[-1].seconds < LONG_SECONDS and time.monotonic() < last):
        took, amount = stage.actor(name).run()
        time.sleep(SETTLE_SECONDS)
        seconds = took * row.amount / amount if amount else took  # an actor may do several units in a call
        samples.append(Sample(before, seconds, stage.limit_rate()))
        before = samples[-1].after
    return max(samples, key=lambda sample: sample.lower_limit), before


def rounds(stage, row, names, seconds):
    """Rounds with one sample of every actor: lists of Sample in the order of `names`."""
    taken, end = [], time.monotonic() + seconds
    before = max(stage.limit_rate() for _ in range(FIRST_LIMITS))
    last = end + GRACE_SECONDS
    while len(taken) < (3 if time.monotonic() < last else 1) or (time.monotonic() < end and len(taken) < 40):
        samples = []
        for name in names:
            sample, before = take_sample(stage, row, name, before, last)
            samples.append(sample)
        taken.append(samples)
    return taken


def medians(stage, row, taken, at, peak):
    """Medians of actor `at` and of actor 0 over the rounds in which both were between valid limits."""
    lower_limit = lambda samples: min(samples[0].lower_limit, samples[at].lower_limit)
    work = row.flops if row.latency else row.amount * row.limit_unit
    cap = peak / row.flops * work if row.flop_limit else math.inf  # of the limit's rate, by the multiply-adds
    limit = lambda sample: min(sample.limit, cap)
    fraction = lambda sample: work / sample.seconds / limit(sample)

    valid = [samples for samples in taken if stage.is_valid(lower_limit(samples))]
    # If no round is valid, as on a busy machine, the least disturbed third of them, reported as 0 valid rounds.
    used = valid or sorted(taken, key=lower_limit, reverse=True)[:(len(taken) + 2) // 3]
    middle = lambda of: statistics.median(of(samples) for samples in used)
    if row.latency:
        ratio = middle(lambda samples: samples[at].seconds / samples[0].seconds)
    else:
        ratio = middle(lambda samples: fraction(samples[0]) / fraction(samples[at]))
    return {"ours": middle(lambda samples: samples[0].seconds), "peer": middle(lambda samples: samples[at].seconds),
            "fraction": middle(lambda samples: fraction(samples[0])), "ratio": ratio,
            "limit": middle(lambda samples: limit(samples[0])), "loop": middle(lambda samples: samples[0].limit), "cap": cap,
            "valid": len(valid)}


def limit(row, rate, figure):
    """The row's figure at the rate of the limit's loop."""
    if not row.latency:
        return rate / row.limit_unit * 1e-9
    return figure(row.flops / rate) if row.flops else None


def same(ours, theirs, tolerance):
    if not ours or not theirs:
        return True
    scale = max(max(abs(v) for v in theirs), 1e-30)
    return all(abs(a - b) <= tolerance * scale for a, b in zip(ours, theirs))


def measure(stage, row, seconds, note):
    """JSON rows of one workload: one for each peer that supports it."""
    names = []
    peak = stage.peak_rate(row.flop_limit)
    if not stage.prepare_limit(row.limit):
        note(f"{row.workload}: no loop for its limit ({row.limit}) on this processor")
        return []
    if row.writer and row.writer not in stage.commands:
        note(f"{row.workload}: left out: {row.writer}, which writes its module, is not there")
        return []
    # The writer is prepared first and our actor last, since it runs the module; it is the first of `names`.
    for name in dict.fromkeys((row.writer, *row.peers, row.ours)):
        if name not in stage.commands:
            continue
        try:
            refusal = stage.actor(name).prepare(f"{row.spec} path={stage.module}")
        except Lost as lost:
            refusal = str(lost)
            stage.drop(name)
        if refusal is None:
            if name in (*row.peers, row.ours):
                names.insert(0 if name == row.ours else len(names), name)
        elif name == row.ours:
            note(f"{row.workload}: we cannot: {refusal}")
        elif not refusal.startswith("has no "):
            note(f"{row.workload}: {name} cannot: {refusal}")
    if not names:
        return []
    try:
        taken = rounds(stage, row, names, seconds)
    except Lost as lost:
        note(f"{row.workload}: given up: {lost}")
        for name in names:
            stage.drop(name)
        return []
    probes = {name: stage.actor(name).probe() for name in names}
    rows = []
    with_ours = names[0] == row.ours
    agree = {name: not with_ours or same(probes[row.ours], probes[name], row.tolerance) for name in names[1:]}
    for name in (name for name, agrees in agree.items() if not agrees):
        others = [other for other, agrees in agree.items() if agrees]
        note(f"{row.workload}: our result and that of {name} differ" + (f" ({' and '.join(others)} agree with ours)" if others else ""))
    for at, name in enumerate(names):
        if with_ours and at == 0 and len(names) > 1:
            continue
        m = medians(stage, row, taken, at, peak)
        scale = {"ms": 1e3, "µs": 1e6}.get(row.unit, 1) if row.latency else row.amount * 1e-9
        figure = (lambda s: s * scale) if row.latency else (lambda s: scale / s)
        peer = {row.ours: None, f"baseline {row.ours}": "baseline", "XLA": "interpret=True" if row.ours == "module" else "XLA"}.get(name, name)
        rows.append({"workload": row.workload, "threads": stage.threads,
                     "ours": figure(m["ours"]) if with_ours else None, "unit": row.unit,
                     "limit": limit(row, m["limit"], figure),
                     "fraction": m["fraction"] if with_ours and m["fraction"] else None,
                     "peer": peer, "peer_rate": figure(m["peer"]) if peer else None,
                     "ratio": m["ratio"] if peer and with_ours else None, "valid_rounds": m["valid"]})
        if math.isfinite(m["cap"]):
            rows[-1] |= {"loop_limit": limit(row, m["loop"], figure), "flop_limit": limit(row, m["cap"], figure)}
    return rows


def main():
    parser = argparse.ArgumentParser(prog="./do bench cpu", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer workloads, fewer rounds: under two minutes")
    parser.add_argument("--json", metavar="FILE", help="write the figures here, and docs/performance.md if all rows were measured")
    parser.add_argument("--only", metavar="TEXT", action="append", help="workloads whose name contains this; may be repeated")
    parser.add_argument("--threads", choices=("one", "all", "both"), default="both")
    parser.add_argument("--peers", metavar="A,B", help="only these peers ('' for none)")
    parser.add_argument("--baseline", metavar="FOLDER", type=pathlib.Path,
                        help="another version's build folder (its bin and lib): measured interleaved with ours, "
                             "without peers unless --peers names some")
    parser.add_argument("--seconds", type=float, help="measuring time of one workload")
    parser.add_argument("--target", default="cpu", help="of our actor (default: cpu)")
    parser.add_argument("--realtime", action="store_true",
                        help="run before everything else on the machine, as root: for machines that are not quiet")
    parser.add_argument("--list", action="store_true", help="name the workloads")
    options = parser.parse_args()
    chosen = [r for r in ROWS if (any(t in r.workload for t in options.only) if options.only else r.quick or not options.quick)]
    if not chosen:
        parser.error(f"no workload has {' or '.join(options.only)} in its name: ./do bench cpu --list names them")
    if options.list:
        print("\n".join(r.workload for r in chosen))
        return 0

    if options.baseline:
        options.baseline = options.baseline.resolve()
        if not (options.baseline / "bin/bench_cpu_ours").exists():
            parser.error(f"no bin/bench_cpu_ours in {options.baseline}: build that version's benches first")
        options.peers = options.peers or ""
    peers = pathlib.Path(os.environ.get("SMALTI_BENCH_PEERS") or pathlib.Path.home() / ".cache/smalti/bench-cpu")
    if options.peers != "":
        subprocess.run([HERE / "setup.sh", peers], check=False)
    every = len(os.sched_getaffinity(0))
    seconds = options.seconds or (0.8 if options.quick else 3.0)
    total = TOTAL_SECONDS / 5 if options.quick else TOTAL_SECONDS
    notes, rows, started = [], [], time.monotonic()
    clear = "\r\033[K" if sys.stderr.isatty() else ""

    def note(text):
        if text not in notes:
            notes.append(text)
            print(f"{clear}  {text}", file=sys.stderr)

    for text in (peers / "missing").read_text().splitlines() if (peers / "missing").exists() else []:
        note(f"left out: {text}")
    left = sum(len(r.threads) for r in chosen)
    print(report.heading(), file=sys.stderr)
    for threads in sorted({1, every}):
        if options.threads == ("all" if threads == 1 and every > 1 else "one" if threads > 1 else ""):
            continue
        stage = Stage(peers, threads, options.target, options.realtime, options.baseline)
        for name in stage.missing if options.peers != "" else ():
            note(f"left out: {name}: it is not there")
        wanted = [r for r in chosen if ("one" if threads == 1 else "all") in r.threads]
        for row in wanted:
            if options.peers is not None:
                row.peers = tuple(p for p in row.peers if p in options.peers.split(","))
            if options.baseline:
                row.peers += (f"baseline {row.ours}",)
            if clear:
                print(f"{clear}  {threads} of {every} cores, {row.workload} …", end="", file=sys.stderr, flush=True)
            share = (total - (time.monotonic() - started)) / max(left, 1) / 2  # the other half is preparing
            new = measure(stage, row, options.seconds or max(0.2, min(seconds, share)), note)
            rows += new
            left -= 1
            if new:
                print(clear + report.line(new), file=sys.stderr)
        stage.close()
    print(clear, end="", file=sys.stderr)
    print(report.table(rows))
    if options.baseline:
        print(report.against_baseline(rows))
    for text in notes:
        print(f"note: {text}")
    print(f"{time.monotonic() - started:.0f} s on {report.machine()}, cores {cpus_for(every)}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
        everything = len(chosen) == len(ROWS) and options.threads == "both" and options.peers is None
        if everything and options.target == "cpu":
            report.write_page(rows, "./do bench cpu --json FILE" + (" --realtime" if options.realtime else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
