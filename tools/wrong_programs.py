#!/usr/bin/env python3
"""Wrong programs (test/errors/lang) and the pages of docs/errors that show them.

    wrong_programs.py           the examples of the pages are those of the programs
    wrong_programs.py --write   writes the comments above the programs from what they print, then the pages' examples
"""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "test/errors/lang"
PAGES = ROOT / "docs/errors"
BINARY = ROOT / "build/release/bin/smalti_wrong_programs_test"
START = re.compile(r"WRONG_PROGRAM\((\w+)\)")


def programs_of(path):
    """[(name, first line of the comment, line of the program, last line)], lines from 0; and the lines."""
    lines = path.read_text().split("\n")
    found = []
    for i, line in enumerate(lines):
        m = START.match(line)
        if not m:
            continue
        first = i
        while lines[first - 1].startswith("//"):
            first -= 1
        last = i
        while not (lines[last] == "}" or (last == i and line.endswith("}"))):
            last += 1
        found.append((m[1], first, i, last))
    return found, lines


def messages():
    done = subprocess.run([str(BINARY), "--gtest_filter=*SaysWhatIsWrong*"], capture_output=True, text=True,
                          env={**os.environ, "SMALTI_PRINT_MESSAGES": "1"})
    found = {}
    for part in re.split(r"^@@ ", done.stdout, flags=re.M)[1:]:
        head, text = part.split("\n", 1)
        text = re.split(r"^(?:\S+: Failure|\[  )", text, flags=re.M)[0]
        found[head.split()[1]] = text.rstrip("\n").split("\n")
    return found


def write_comments():
    said = messages()
    for path in sorted(PROGRAMS.glob("*.cpp")):
        programs, lines = programs_of(path)
        new, moved, at = [], {}, 0

        def copy(until):
            nonlocal at
            while at < until:
                moved[at + 1] = len(new) + 1
                new.append(lines[at])
                at += 1

        comments = []
        for name, first, start, last in programs:
            copy(first)
            at = start
            comments.append((len(new), name))
            new.extend("// " + t for t in said.get(name, ["did not run"]))
        copy(len(lines))
        here = str(path.relative_to(ROOT))
        for begin, name in comments:  # lines in messages are those of the new file
            text = "\n".join(new[begin:begin + len(said.get(name, [1]))])
            text = re.sub(rf"({re.escape(here)}:)(\d+)(:\d+\n// )( *)(\d+) \|",
                          lambda m: f"{m[1]}{moved[int(m[2])]}{m[3]}{moved[int(m[2])]:>5} |", text)
            text = re.sub(rf"({re.escape(here)}:)(\d+)(:\d+\n// (?! *\d+ \|))",
                          lambda m: f"{m[1]}{moved[int(m[2])]}{m[3]}", text)
            new[begin:begin + len(text.split("\n"))] = text.split("\n")
        path.write_text("\n".join(line.rstrip() for line in new))


def examples():
    """name → (file, program text, message)"""
    found = {}
    for path in sorted(PROGRAMS.glob("*.cpp")):
        programs, lines = programs_of(path)
        for name, first, start, last in programs:
            message = "\n".join(line[3:] for line in lines[first:start])
            found[name] = (path.relative_to(ROOT), "\n".join(lines[start:last + 1]), message)
    return found


EXAMPLE = re.compile(r"(Program `(\w+)` of) `[^`]*`:?\n(?:\n```cpp\n.*?\n```\n\n```text\n.*?\n```\n)?", re.S)


def page_with_examples(page, found):
    def replace(m):
        if m[2] not in found:
            raise SystemExit(f"{page.name}: there is no wrong program '{m[2]}'")
        file, program, message = found[m[2]]
        return f"{m[1]} `{file}`:\n\n```cpp\n{program}\n```\n\n```text\n{message}\n```\n"
    return EXAMPLE.sub(replace, page.read_text())


def main():
    write = "--write" in sys.argv
    if write:
        write_comments()
    found, faults = examples(), []
    for page in sorted([*PAGES.glob("SM6*.md"), *PAGES.glob("SM71*.md")]):
        text = page_with_examples(page, found)
        shown = re.findall(r"^Program `(\w+)`", text, flags=re.M)
        faults += [f"{page.relative_to(ROOT)}: program '{name}' is refused with another code" for name in shown
                   if not found[name][2].startswith(f"error[{page.stem}]")]
        if text != page.read_text():
            if write:
                page.write_text(text)
            else:
                faults.append(f"{page.relative_to(ROOT)} is not up to date: tools/wrong_programs.py --write")
    print("\n".join(faults) if faults else f"{len(found)} wrong programs agree with their pages")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
