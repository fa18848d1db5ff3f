#!/usr/bin/env python3
"""docs/features.md, made from docs/features.toml and the tests.

    features.py               the page is up to date, and every test and program it names is there
    features.py --write       writes it
    features.py --run BINARY  runs the rows' tests that a test binary has with SMALTI_TARGET=cuda-host: those of rows that are refused
                              there must fail with SM7201, all others pass, except for rows with the reason why their test cannot
"""

import os
import pathlib
import re
import subprocess
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


def shown(row, entry, by_id):
    """The tests that show a row."""
    names = entry.get("test") or by_id.get(row) or []
    return [names] if isinstance(names, str) else names


def tests_of(binary):
    """The tests of a binary with the filters that run them; the values of a TEST_P together."""
    listed = subprocess.run([binary, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout
    suite, filters = "", {}
    for line in listed.splitlines():
        if not line.startswith(" "):
            suite = line.split(".")[0]
            continue
        name = line.split()[0]
        base = suite.split("/")[-1]
        filters[f"{base}.{name}"] = f"{suite}.{name}"
        if "/" in name:
            filters[f"{base}.{name.split('/')[0]}"] = f"{suite}.{name.split('/')[0]}/*"
    return filters


def run_on_gpu(binary, table, by_id):
    """The tests of this binary that show rows, with the code for GPUs."""
    filters, refused, excepted = tests_of(binary), {}, set()
    for row, entry in table["rows"].items():
        for test in shown(row, entry, by_id):
            if "cuda_note" in entry:
                excepted.add(test)
            elif test in filters:
                refused[test] = refused.get(test, False) or "cuda" in entry
    wrong = 0
    tests = {test: is_refused for test, is_refused in sorted(refused.items()) if test not in excepted}
    for test, is_refused in tests.items():
        done = subprocess.run([binary, f"--gtest_filter={filters[test]}"], capture_output=True, text=True,
                              env={**os.environ, "SMALTI_TARGET": "cuda-host"})
        as_stated = "SM7201" in done.stdout + done.stderr if is_refused else done.returncode == 0
        if not as_stated:
            wrong += 1
            print(f"{test}: {'is not refused' if is_refused else 'fails'} with SMALTI_TARGET=cuda-host\n{done.stdout[-2000:]}")
    print(f"{len(tests)} tests of rows, {sum(tests.values())} of them refused with SM7201, {wrong} not as the page states")
    return 1 if wrong or not tests else 0


def main():
    table = tomllib.loads((ROOT / "docs/features.toml").read_text())
    there, wrong, faults = tests(), programs(), []
    by_id = {}
    for name in there:
        if name.startswith("/"):
            continue
        for row in re.findall(r"(?:^|_)([A-O]\d{1,2})(?=_)", name.split(".")[1]):
            by_id.setdefault(row, name)
    if "--run" in sys.argv:
        return run_on_gpu(sys.argv[sys.argv.index("--run") + 1], table, by_id)
    lines = ["# Features", "", "The rows of Pallas' features that have a meaning on TensorCores, each with the test that shows it, and whether "
             "code for NVIDIA GPUs supports it (`tools/features.py --run BINARY` runs the same tests with `SMALTI_TARGET=cuda-host`). "
             "Made by `tools/features.py --write` from `docs/features.toml` and the tests.", ""]
    count = {"works": 0, "refused": 0, "not yet": 0}
    for group, title in table["groups"].items():
        lines += [f"## {group}. {title}", "", "| | Feature | | On `cuda` | Shown by |", "|---|---|---|---|---|"]
        for row, entry in table["rows"].items():
            if row[0] != group:
                continue
            shown_by = shown(row, entry, by_id)
            if "refused" in entry:
                state, names = f"refused: [{entry['refused']}](errors/{entry['refused']}.md)", entry["program"]
                if wrong.get(names, [None])[0] != entry["refused"]:
                    faults.append(f"{row}: no wrong program '{names}' is refused with {entry['refused']}")
                count["refused"] += 1
            elif shown_by and all(part in there for test in shown_by for part in parts(test)):
                state, names = "works", "`, `".join(shown_by)
                count["works"] += 1
            else:
                state, names = "not yet", ""
                count["not yet"] += 1
            on_cuda = "" if state != "works" else f"refused: {entry['cuda']}" if "cuda" in entry else entry.get("cuda_note", state)
            lines.append(f"| {row} | {entry['title']} | {state} | {on_cuda} | {f'`{names}`' if names else ''} |")
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
