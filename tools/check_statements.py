#!/usr/bin/env python3
"""Writes docs/statements.md: each semantic statement with the tests that show it. Fails when one has neither a test nor
a reason in docs/statements.toml, or when the written page is out of date (--check)."""

import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
GTEST = re.compile(r"\b(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+),\s*(\w+)")
PYTEST = re.compile(r"^def (test_\w+)", re.M)


def tests():
    for path in sorted((ROOT / "test").rglob("*")):
        if path.suffix == ".cpp":
            yield from (f"{suite}.{name}" for suite, name in GTEST.findall(path.read_text()))
        elif path.suffix == ".py":
            yield from PYTEST.findall(path.read_text())


def page():
    names = list(tests())
    lines = ["# Semantic statements", "", "Made by `tools/check_statements.py` from docs/statements.toml and the tests' names.", "",
             "| | statement | shown by |", "|---|---|---|"]
    missing = []
    for letter, rows in tomllib.loads((ROOT / "docs/statements.toml").read_text()).items():
        for number, row in rows.items():
            text, reason = (row, None) if isinstance(row, str) else (row["text"], row["later"])
            pattern = re.compile(rf"(?:^|[^a-z0-9])s{letter}{number}(?:_|$)|_s_?{letter}{number}_", re.I)
            shown = [n for n in names if pattern.search(n.replace(".", "_"))]
            if not shown and not reason:
                missing.append(f"S-{letter}{number}")
            cell = ", ".join(f"`{n}`" for n in shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")
            lines.append(f"| S-{letter}{number} | {text} | {cell or reason or '**no test**'} |")
    return "\n".join(lines) + "\n", missing


def main():
    text, missing = page()
    target = ROOT / "docs/statements.md"
    if "--check" in sys.argv:
        stale = not target.exists() or target.read_text() != text
        if stale:
            print("docs/statements.md is out of date: run tools/check_statements.py")
    else:
        target.write_text(text)
        stale = False
    print(f"statements without a test: {', '.join(missing)}" if missing else "statements: each has a test or a reason")
    return 1 if missing or stale else 0


if __name__ == "__main__":
    sys.exit(main())
