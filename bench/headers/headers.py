#!/usr/bin/env python3
"""How long a program with one kernel takes to compile: the tutorials, and the headers alone."""

import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def seconds_of(compiler, source, include):
    """CPU seconds of one compilation."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*compiler, f"-I{include}", "-c", source, "-o", os.devnull], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="g++ -std=c++23 -O2", help="with its options (default: %(default)s)")
    parser.add_argument("--baseline", type=pathlib.Path, metavar="FOLDER", help="an earlier clone, whose headers are measured alternately")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    compiler = options.compiler.split()
    with tempfile.TemporaryDirectory() as folder:
        alone = pathlib.Path(folder) / "headers_alone.cpp"
        alone.write_text("#include <smalti/smalti.h>\n")
        includes = [ROOT / "include"] + ([options.baseline / "include"] if options.baseline else [])
        print(f"CPU seconds of `{options.compiler} -c`, median of {options.rounds}")
        print(f"{'program':24}{'now':>8}" + (f"{'before':>9}{'now/before':>12}" if options.baseline else ""))
        for source in [alone, *sorted((ROOT / "examples" / "tutorial").glob("*.cpp"))]:
            times = [[seconds_of(compiler, source, i) for i in includes] for _ in range(options.rounds)]
            row = [statistics.median(t) for t in zip(*times)]
            ratio = statistics.median(t[0] / t[1] for t in times) if options.baseline else None
            print(f"{source.stem:24}{row[0]:8.2f}" + (f"{row[1]:9.2f}{ratio:12.2f}" if ratio else ""), flush=True)


if __name__ == "__main__":
    main()
