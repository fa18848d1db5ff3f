"""Runs JAX's own tests of Pallas on this engine and prints what became of them: run.py [--chip CHIP] [FILE or -k TEXT …].

Each file runs in a process of its own, which starts again behind a test that ends it or hangs; what needs more devices
than one runs again with several.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 240  # that one test may take


def lines_of(path: pathlib.Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run_pytest(arguments: list[str], outcomes: pathlib.Path, log: pathlib.Path) -> int:
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
            elif time.monotonic() - since > SECONDS:
                process.kill()
        return process.wait()


def run_file(path: pathlib.Path, arguments: list[str], folder: pathlib.Path) -> list[dict]:
    """One line for each test."""
    outcomes, log = folder / f"{path.stem}.jsonl", folder / f"{path.stem}.log"
    outcomes.unlink(missing_ok=True)
    log.unlink(missing_ok=True)
    left_out: list[str] = []
    while True:
        before = len(lines_of(outcomes))
        code = run_pytest([str(path), *arguments, *(f"--deselect={name}" for name in left_out)], outcomes, log)
        lines = lines_of(outcomes)
        if len(lines) == before or "started" not in lines[-1]:
            if code not in (0, 1, 5):
                print(f"pytest ended with {code}: {log}", file=sys.stderr)
            break
        with open(outcomes, "a") as file:
            why = "hangs" if code == -9 else f"ends the process ({code})"
            file.write(json.dumps({"test": lines[-1]["started"], "outcome": "failed", "why": why}) + "\n")
        left_out = [line["test"] for line in lines_of(outcomes) if "test" in line]
    return [line for line in lines_of(outcomes) if "test" in line]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", required=True, type=pathlib.Path, help="the folder of JAX's test files")
    parser.add_argument("--chip", default="v5e")
    parser.add_argument("--devices", default="1")
    parser.add_argument("--log", type=pathlib.Path)
    parser.add_argument("-k", default="")
    parser.add_argument("files", nargs="*")
    given = parser.parse_args()
    folder = given.log or pathlib.Path(tempfile.mkdtemp(prefix="jax_suite_"))
    folder.mkdir(parents=True, exist_ok=True)
    files = [p for p in sorted(given.tests.rglob("*_test.py")) if not given.files or any(f in p.stem for f in given.files)]
    arguments = ["--chip", given.chip, "--devices", given.devices, *(["-k", given.k] if given.k else [])]
    for path in files:
        start = time.monotonic()
        lines = run_file(path, arguments, folder)
        count = {o: sum(line["outcome"] == o for line in lines) for o in ("passed", "failed", "skipped")}
        print(f"{path.stem:50}", *(f"{n:5} {o}" for o, n in count.items()), f"{time.monotonic() - start:7.1f} s", flush=True)


if __name__ == "__main__":
    main()
