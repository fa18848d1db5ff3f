"""The programs of examples/tutorial print what the comment at their end says.

    test_tutorial.py --write    writes the comments from what they print
"""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = sorted((ROOT / "examples/tutorial").glob("*.cpp"))
MARK = "\n/* Output:\n"


def output(program, bin_dir):
    done = subprocess.run([str(bin_dir / f"tutorial_{program.stem}")], cwd=ROOT, capture_output=True, text=True,
                          timeout=60, env={**os.environ, "SMALTI_TARGET": "interpret"})
    assert done.returncode == 0, done.stderr
    return "\n".join(line.rstrip() for line in done.stdout.rstrip("\n").split("\n")) + "\n"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_the_program_prints_what_its_comment_says(program, bin_dir):
    assert MARK in program.read_text(), "python test/python/test_tutorial.py --write"
    assert output(program, bin_dir) == program.read_text().split(MARK)[1].removesuffix("*/\n")


def test_there_are_about_ten():
    assert len(PROGRAMS) >= 10


if __name__ == "__main__" and "--write" in sys.argv:
    for path in PROGRAMS:
        text = path.read_text().split(MARK)[0].rstrip("\n")
        path.write_text(f"{text}\n{MARK}{output(path, ROOT / 'build/release/bin')}*/\n")
