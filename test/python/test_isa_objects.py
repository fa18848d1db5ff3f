"""Code for one instruction set defines no function that code for another defines, too: the linker would keep either of them."""

import pathlib
import re
import subprocess

import pytest

OBJECTS = pathlib.Path(__file__).resolve().parents[2] / "build/release/src"


def test_code_for_an_instruction_set_shares_no_functions():
    found = {path: match[0].lower() for path in OBJECTS.rglob("*.o") if (match := re.search("avx(2|512)", str(path), re.IGNORECASE))}
    if not found:
        pytest.skip(f"no objects of instruction sets below {OBJECTS}")
    for path, isa in found.items():
        symbols = subprocess.run(["nm", "-C", "--defined-only", path], capture_output=True, text=True, check=True).stdout.splitlines()
        shared = [line for line in symbols if line.split(" ", 2)[1] == "W" and isa not in line.lower()]
        assert not shared, (path, shared)
