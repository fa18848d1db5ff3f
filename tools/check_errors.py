#!/usr/bin/env python3
"""Every code in the sources has a page docs/errors/SMdddd.md, every page a code; writes or checks their index.

    check_errors.py            refuse what does not agree
    check_errors.py --write    write docs/errors/README.md anew
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs/errors"
SECTIONS = ["## Example", "## What to do"]
GROUPS = {"10": "Files, arrays, options and the command line", "20": "StableHLO, Programs and configuration",
          "21": "Bytecode", "22": "Mosaic text", "30": "Kernel packages", "31": "Ops that are known and refused",
          "40": "What a kernel did wrong while running", "41": "Findings of checks, deadlock and livelock",
          "50": "Plain array ops", "60": "Models and texts (examples/minilm)",
          "61": "Kernels: Refs, values, control flow", "62": "pallas_call: grids, specs, operands",
          "63": "Ops of the language", "64": "What a TPU kernel cannot say", "65": "Copies, semaphores, debugging", "66": "What Pallas and the compilers of TPUs refuse",
          "68": "TPU compilers and devices (PJRT)", "69": "How long kernels take (smalti time)", "71": "Transformations", "72": "NVIDIA GPUs", "90": "Limits and internal errors"}


def codes_in_sources():
    found = {}
    for folder in ("src", "tools", "include", "kernels", "examples", "python"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".cpp", ".h", ".td", ".inc"):
                for code in re.findall(r'"(SM\d{4})"', path.read_text(errors="replace")):
                    found.setdefault(code, path.relative_to(ROOT))
    return found


def page_faults(path):
    text = path.read_text()
    code = path.stem
    if not re.match(rf"# {code}: \S", text):
        yield f"{path.relative_to(ROOT)}: must begin with '# {code}: title'"
    for section in SECTIONS:
        if f"\n{section}\n" not in text:
            yield f"{path.relative_to(ROOT)}: has no section '{section}'"
    example = text.split("## Example")[-1].split("\n## ")[0]
    if len(example.split()) < 5:
        yield f"{path.relative_to(ROOT)}: its example is empty"


def index(pages):
    lines = ["# Error codes", "", "One page each; `smalti explain CODE` prints them. Made by `tools/check_errors.py --write`.", ""]
    group = None
    for path in pages:
        if path.stem[2:4] != group:
            group = path.stem[2:4]
            lines += ["" if lines[-1] else "", f"## SM{group}xx: {GROUPS.get(group, 'Others')}", ""]
            if lines[-4] == "":
                del lines[-4]
        title = path.read_text().splitlines()[0].split(": ", 1)[-1]
        lines.append(f"- [{path.stem}]({path.name}): {title}")
    return "\n".join(lines) + "\n"


def main():
    codes = codes_in_sources()
    pages = sorted(PAGES.glob("SM*.md"))
    faults = [f"{code} ({codes[code]}) has no page docs/errors/{code}.md"
              for code in sorted(codes.keys() - {p.stem for p in pages})]
    faults += [f"docs/errors/{p.name}: no source uses this code" for p in pages if p.stem not in codes]
    for page in pages:
        faults += page_faults(page)
    text = index(pages)
    readme = PAGES / "README.md"
    if "--write" in sys.argv:
        readme.write_text(text)
    elif not readme.exists() or readme.read_text() != text:
        faults.append("docs/errors/README.md is not up to date: tools/check_errors.py --write")
    print("\n".join(faults) if faults else f"{len(pages)} error pages agree with the sources")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
