"""Runs JAX's own tests of Pallas on this engine and prints what became of them: run.py [--chip CHIP] [FILE or -k TEXT …].

Each file runs in a process of its own, which starts again behind a test that ends it or hangs; what needs more devices
than one runs again with several. Some of the tests that pass then run with interpret=True and with InterpretParams instead,
for the time that each spends inside Pallas calls.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from outcomes import Table

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 240  # that one test may take
SECONDS_OF_OTHERS = 60  # with JAX's interpreters
DEVICES = 4  # of those that need several
NEEDS_DEVICES = r"(?i)>= ?2 devices|devices are supported|device|requires \d+ "


def lines_of(path: pathlib.Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run_pytest(arguments: list[str], outcomes: pathlib.Path, log: pathlib.Path, seconds: float) -> int:
    """Ends pytest when one test has taken too long."""
    command = [sys.executable, "-m", "pytest", "-p", "smalti_as_tpu", "-p", "no:cacheprovider", "--capture=no", "-q", "--no-header",
               "-c", os.devnull, "--rootdir", str(HERE), "--outcomes", str(outcomes), *arguments]
    with open(log, "a") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT,
                                   env={**os.environ, "PYTHONPATH": f"{HERE}:{os.environ.get('PYTHONPATH', '')}"})
        size, since = -1, time.monotonic()
        while process.poll() is None:
            time.sleep(0.2)
            now = outcomes.stat().st_size if outcomes.exists() else 0
            if now != size:
                size, since = now, time.monotonic()
            elif time.monotonic() - since > seconds:
                process.kill()
        return process.wait()


def run_file(path: pathlib.Path, arguments: list[str], folder: pathlib.Path, only: list[str] | None = None,
             seconds: float = SECONDS) -> list[dict]:
    """One line for each test, or for each of `only`."""
    folder.mkdir(parents=True, exist_ok=True)
    outcomes, log, names = (folder / f"{path.stem}.{kind}" for kind in ("jsonl", "log", "names"))
    outcomes.unlink(missing_ok=True)
    log.unlink(missing_ok=True)
    if only is not None:
        names.write_text("\n".join(only))
        arguments = [*arguments, "--names", str(names)]
    left_out: list[str] = []
    while True:
        before = len(lines_of(outcomes))
        code = run_pytest([str(path), *arguments, *(f"--deselect={name}" for name in left_out)], outcomes, log, seconds)
        lines = lines_of(outcomes)
        if len(lines) == before or "started" not in lines[-1]:
            if code not in (0, 1, 5):
                why = re.findall(r"^E +(\w+: .*)", log.read_text(errors="replace"), re.MULTILINE) or [f"pytest ended with {code}"]
                with open(outcomes, "a") as file:
                    name = f"{path.stem}::the file cannot be imported"
                    file.write(json.dumps({"test": name, "outcome": "failed", "why": why[-1]}) + "\n")
            break
        with open(outcomes, "a") as file:
            why = "hangs" if code == -9 else f"ends the process ({code})"
            file.write(json.dumps({"test": lines[-1]["started"], "outcome": "failed", "why": why}) + "\n")
        left_out = [line["test"] for line in lines_of(outcomes) if "test" in line]
    return [line for line in lines_of(outcomes) if "test" in line]


def with_more_devices(path: pathlib.Path, lines: list[dict], arguments: list[str], folder: pathlib.Path) -> list[dict]:
    """The lines, with those of tests that ran once more on several devices."""
    few = [line["test"] for line in lines if line["outcome"] == "skipped" and re.search(NEEDS_DEVICES, line.get("why", ""))]
    if not few:
        return lines
    ran = run_file(path, [*arguments, "--devices", str(DEVICES)], folder / "several-devices", few)
    better = {line["test"]: {**line, "devices": DEVICES} for line in ran}
    return [better.get(line["test"], line) for line in lines]


def beside(way: str, path: pathlib.Path, lines: list[dict], arguments: list[str], folder: pathlib.Path, every: int) -> None:
    """Runs each `every`th test that passed on one device, and all that failed, in another way; adds what came out to their
    lines."""
    alone = [line for line in lines if "devices" not in line]
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
    parser.add_argument("--log", type=pathlib.Path, help="the folder for pytest's output (a new one)")
    parser.add_argument("--again", action="store_true", help="count what is in the folder of --log instead of running tests")
    parser.add_argument("--most", default="60", help="how many of a method's variations run, spread evenly, and of hypothesis' examples; 0: all (60)")
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
    table = Table()
    for path in files:
        start, kept = time.monotonic(), folder / f"{path.stem}.json"
        if given.again and kept.exists():
            lines = json.loads(kept.read_text())
        elif given.again:
            continue
        else:
            lines = with_more_devices(path, run_file(path, arguments, folder), arguments, folder)
            for way in ("interpret", "params") if given.every else ():
                beside(way, path, lines, arguments, folder, given.every)
            kept.write_text(json.dumps(lines, indent=1))
        table.add(path.stem, lines)
        count = {o: sum(line["outcome"] == o for line in lines) for o in ("passed", "failed", "skipped")}
        print(f"{path.stem:50}", *(f"{n:5} {o}" for o, n in count.items()), f"{time.monotonic() - start:7.1f} s", flush=True)
    print(f"\n{table.text()}\nlogs: {folder}")
    if given.write:
        table.write(given.write)


if __name__ == "__main__":
    main()
