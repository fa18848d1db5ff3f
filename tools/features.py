#!/usr/bin/env python3
"""docs/features.md, made from docs/features.toml and the tests.

    features.py           the page is up to date, and every test and program it names is there
    features.py --write   writes it
"""

import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/features.md"


def tests():
    found = {}
    for path in sorted((ROOT / "test/unit").rglob("*.cpp")):
        for suite, name in re.findall(r"^(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP)\((\w+),\s*(\w+)", path.read_text(), flags=re.M):
            found[f"{suite}.{name}"] = path.relative_to(ROOT)
        for name in re.findall(r'^\s*\{"(\w+)",', path.read_text(), flags=re.M):  # values of a TEST_P
            found[f"/{name}"] = path.relative_to(ROOT)
    return found


def programs():
    found = {}
    for path in sorted((ROOT / "test/errors/lang").glob("*.cpp")):
        for code, name in re.findall(r"^// error\[(SM\d+)\](?:.*\n(?=//))+//.*\nWRONG_PROGRAM\((\w+)\)", path.read_text(),
                                     flags=re.M):
            found[name] = (code, path.relative_to(ROOT))
    return found


def parts(test):
    """A test, and the value "/name" of a TEST_P."""
    name, _, value = test.partition("/")
    return [name, f"/{value}"] if value else [name]


def main():
    table = tomllib.loads((ROOT / "docs/features.toml").read_text())
    there, wrong, faults = tests(), programs(), []
    by_id = {}
    for name in there:
        if name.startswith("/"):
            continue
        for row in re.findall(r"(?:^|_)([A-O]\d{1,2})(?=_)", name.split(".")[1]):
            by_id.setdefault(row, name)
    lines = ["# Features", "", "The rows of Pallas' features that have a meaning on TensorCores, each with the test that shows it. "
             "Made by `tools/features.py --write` from `docs/features.toml` and the tests.", ""]
    count = {"works": 0, "refused": 0, "not yet": 0}
    for group, title in table["groups"].items():
        lines += [f"## {group}. {title}", "", "| | Feature | | Shown by |", "|---|---|---|---|"]
        for row, entry in table["rows"].items():
            if row[0] != group:
                continue
            shown_by = entry.get("test") or by_id.get(row) or []
            shown_by = [shown_by] if isinstance(shown_by, str) else shown_by
            if "refused" in entry:
                state, shown = f"refused: [{entry['refused']}](errors/{entry['refused']}.md)", entry["program"]
                if wrong.get(shown, [None])[0] != entry["refused"]:
                    faults.append(f"{row}: no wrong program '{shown}' is refused with {entry['refused']}")
                count["refused"] += 1
            elif shown_by and all(part in there for test in shown_by for part in parts(test)):
                state, shown = "works", "`, `".join(shown_by)
                count["works"] += 1
            else:
                state, shown = "not yet", ""
                count["not yet"] += 1
            lines.append(f"| {row} | {entry['title']} | {state} | {f'`{shown}`' if shown else ''} |")
        lines.append("")
    lines.insert(4, f"{count['works']} work, {count['refused']} are refused with a diagnostic, {count['not yet']} have no test yet.")
    lines.insert(5, "")
    text = "\n".join(lines).rstrip("\n") + "\n"
    if "--write" in sys.argv:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        faults.append("docs/features.md is not up to date: tools/features.py --write")
    print("\n".join(faults) if faults else ", ".join(f"{n} {state}" for state, n in count.items()))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
