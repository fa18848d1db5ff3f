"""Runs JAX's own tests of Pallas on this engine and prints what became of them: run.py [--chip CHIP] [FILE or -k TEXT …].

Each file runs in a process of its own, `--jobs` of them at once; it starts again behind a test that ends it or hangs. What
needs more devices than one runs again with several. Some of the tests that pass then run with interpret=True and with
InterpretParams instead, for the time that each spends inside Pallas calls. A run that was interrupted goes on where it stood
when it is given the same `--log`.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import importlib.metadata
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

from outcomes import Table

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 240  # that one test may take
SECONDS_OF_OTHERS = 60  # with JAX's interpreters
DEVICES = 4  # of those that need several
OTHER_CHIPS = ("v6e", "v7x", "v5p")  # for tests that skip the chip in hand
PROGRESS = 30  # seconds between two lines about a file that runs
NEEDS_DEVICES = r"(?i)>= ?2 devices|devices are supported|device|requires \d+ "
NEEDS_CHIP = r"(?i)TPU ?v?[4-9]|TPUs? v|newer TPU|TPU generation|TPU version|only supported on TPU"


stop = threading.Event()  # somebody ends this process


def lines_of(path: pathlib.Path) -> list[dict]:
    """What is written so far: the last line of a process that was ended may be half of one."""
    lines = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            lines.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return lines


def tests_of(path: pathlib.Path) -> list[dict]:
    return [line for line in lines_of(path) if "test" in line]


def append(path: pathlib.Path, line: dict) -> None:
    with open(path, "a") as file:
        file.write("\n" * bool(path.read_text()[-1:].strip()) + json.dumps(line) + "\n")


def run_pytest(arguments: list[str], outcomes: pathlib.Path, log: pathlib.Path, seconds: float) -> int:
    """Ends pytest when one test has taken too long, or when this process is told to end."""
    command = [sys.executable, "-m", "pytest", "-p", "smalti_as_tpu", "-p", "no:cacheprovider", "--capture=no", "-q", "--no-header",
               "-c", str(HERE / "pytest.ini"), "--rootdir", str(HERE), "--outcomes", str(outcomes), *arguments]
    with open(log, "a") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT,
                                   env={**os.environ, "PYTHONPATH": f"{HERE}:{os.environ.get('PYTHONPATH', '')}"},
                                   start_new_session=True)  # an interrupt is this process' business
        try:
            size, since, told = -1, time.monotonic(), time.monotonic()
            while process.poll() is None:
                time.sleep(0.2)
                now = outcomes.stat().st_size if outcomes.exists() else 0
                if now != size:
                    size, since = now, time.monotonic()
                elif time.monotonic() - since > seconds:
                    process.kill()
                if stop.is_set():
                    process.kill()
                    raise KeyboardInterrupt
                if time.monotonic() - told > PROGRESS:
                    told = time.monotonic()
                    print(f"  {outcomes.stem}: {len(tests_of(outcomes))} tests so far", file=sys.stderr, flush=True)
            return process.wait()
        finally:
            process.kill()


def run_file(path: pathlib.Path, arguments: list[str], folder: pathlib.Path, only: list[str] | None = None,
             seconds: float = SECONDS) -> list[dict]:
    """One line for each test, or for each of `only`; tests that have one in `folder` do not run again."""
    folder.mkdir(parents=True, exist_ok=True)
    outcomes, log, names, done = (folder / f"{path.stem}.{kind}" for kind in ("jsonl", "log", "names", "done"))
    if only is not None:
        names.write_text("\n".join(only))
        arguments = [*arguments, "--names", str(names)]
    while True:
        done.write_text("\n".join(line["test"] for line in tests_of(outcomes)))
        before = len(lines_of(outcomes))
        code = run_pytest([str(path), *arguments, "--done", str(done)], outcomes, log, seconds)
        lines = lines_of(outcomes)
        if len(lines) == before or "started" not in lines[-1]:
            if code not in (0, 1, 5):
                why = re.findall(r"^E +(\w+: .*)", log.read_text(errors="replace"), re.MULTILINE) or [f"pytest ended with {code}"]
                name = "the file cannot be imported"
                append(outcomes, {"test": f"{path.stem}::{name}", "method": name, "interpreted": False, "outcome": "failed", "why": why[-1]})
            break
        append(outcomes, {"test": lines[-1]["started"], "method": lines[-1]["method"], "interpreted": lines[-1]["interpreted"],
                          "outcome": "failed", "why": "hangs" if code == -9 else f"ends the process ({code})"})
    return tests_of(outcomes)


def elsewhere(path: pathlib.Path, lines: list[dict], arguments: list[str], folder: pathlib.Path) -> list[dict]:
    """The lines, with those of tests that ran once more on several devices, or on another chip, because they skipped this one."""
    places = [(NEEDS_DEVICES, {"devices": str(DEVICES)}), *((NEEDS_CHIP, {"chip": chip}) for chip in OTHER_CHIPS)]
    for pattern, place in places:
        skipped = [line["test"] for line in lines if line["outcome"] == "skipped" and not line["interpreted"]
                   and re.search(pattern, line.get("why", "")) and not re.search("[Ss]parse ?[Cc]ore", line["why"])]
        if skipped:
            options = [text for name, value in place.items() for text in (f"--{name}", value)]
            ran = run_file(path, [*arguments, *options], folder / "-".join(("on", *place.values())), skipped)
            better = {line["test"]: {**line, **place} for line in ran if line["outcome"] != "skipped"}
            lines = [better.get(line["test"], line) for line in lines]
    return lines


def run_other_way(way: str, path: pathlib.Path, lines: list[dict], arguments: list[str], folder: pathlib.Path, every: int) -> None:
    """Runs each `every`th test that passed on one device, and all that failed, in another way; adds what came out to their
    lines."""
    alone = [line for line in lines if "devices" not in line and "chip" not in line]
    passed = [line for line in alone if line["outcome"] == "passed" and line.get("pallas")]
    chosen = passed[len(path.stem) % every::every] + [line for line in alone if line["outcome"] == "failed"]
    if not chosen:
        return
    ran = run_file(path, [*arguments, "--way", way], folder / way, [line["test"] for line in chosen], SECONDS_OF_OTHERS)
    found = {line["test"]: line for line in ran}
    for line in chosen:
        line[way] = found.get(line["test"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", required=True, type=pathlib.Path, help="the folder of JAX's test files")
    parser.add_argument("--chip", default="v5e", help="the TPU that tests are told (v5e)")
    parser.add_argument("--log", type=pathlib.Path,
                        help="the folder for outcomes and pytest's output (a new one); tests that have an outcome there do not run")
    parser.add_argument("--count", action="store_true", help="count what is in the folder of --log instead of running tests")
    parser.add_argument("--jobs", type=int, default=1, help="how many files run at once (1)")
    parser.add_argument("--most", default="3", help="how many of a method's variations run, spread evenly, and of hypothesis' examples; 0: all (3)")
    parser.add_argument("--every", type=int, default=20,
                        help="each how many of the tests that pass also run in JAX's interpreters; 0: none (20)")
    parser.add_argument("--write", type=pathlib.Path, help="the file for the outcome of each method")
    parser.add_argument("-k", default="", help="tests with this in their name, as pytest has it")
    parser.add_argument("files", nargs="*", help="names of files, with or without _test; all without")
    given = parser.parse_args()
    folder = given.log or pathlib.Path(tempfile.mkdtemp(prefix="jax_suite_"))
    folder.mkdir(parents=True, exist_ok=True)
    files = [p for p in sorted(given.tests.rglob("*_test.py")) if not given.files or {p.stem, p.stem.removesuffix("_test")} & set(given.files)]
    arguments = ["--chip", given.chip, "--most", given.most, *(["-k", given.k] if given.k else [])]
    kept = [(path, folder / f"{path.stem}.json") for path in files]

    def run(path: pathlib.Path, outcome: pathlib.Path) -> None:
        if given.count or outcome.exists():
            return
        start = time.monotonic()
        lines = elsewhere(path, run_file(path, arguments, folder), arguments, folder)
        for way in ("interpret", "params") if given.every else ():
            run_other_way(way, path, lines, arguments, folder, given.every)
        outcome.write_text(json.dumps(lines, indent=1))
        count = {o: sum(line["outcome"] == o for line in lines) for o in ("passed", "failed", "skipped")}
        print(f"{path.stem:50}", *(f"{n:5} {o}" for o, n in count.items()), f"{time.monotonic() - start:7.1f} s", flush=True)

    print(f"outcomes and logs: {folder}", file=sys.stderr, flush=True)
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        largest_first = sorted(kept, key=lambda pair: -pair[0].stat().st_size) if given.jobs > 1 else kept
        runs = [pool.submit(run, *pair) for pair in largest_first]
        try:
            for finished in concurrent.futures.as_completed(runs):
                finished.result()
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    table = Table()
    for path, outcome in kept:
        if outcome.exists():
            table.add(path.stem, json.loads(outcome.read_text()))
    print(f"\n{table.text()}\noutcomes and logs: {folder}")
    if given.write:
        table.write(given.write, f"JAX {importlib.metadata.version('jax')}, --chip {given.chip} --most {given.most}")
    if news := table.failed_unlike(pathlib.Path(__file__).with_name("outcomes.txt")):
        sys.exit("these fail, and do not in outcomes.txt:\n  " + "\n  ".join(news))
    if not table.methods:
        sys.exit("no test ran")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("interrupted: the same --log goes on from here")
