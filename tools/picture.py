#!/usr/bin/env python3
"""docs/images/*.svg: what commands print, as a terminal shows it. `picture.py` writes them, `picture.py --check` compares."""
import html
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(os.environ.get("SMALTI_BIN_DIR", ROOT / "build/release/bin"))
PICTURES = {
    "check.svg": ("examples/mistakes", ["show missing_init.mlir --stage windows --steps 4", "check missing_init.mlir"]),
}
CHARACTER, LINE, MARGIN, COLUMNS = 8.4, 19, 16, 118  # pixels, pixels, pixels, characters
COLOURS = [(r"^\$ .*", "#9ece6a"), (r"^finding\[\w+\]", "#f7768e"), (r"^ +--> .*", "#7aa2f7"), (r"^ +(need|have|help|in)\b", "#e0af68")]


def wrapped(text):
    for line in text.splitlines():
        while len(line) > COLUMNS:
            cut = line.rfind(" ", 0, COLUMNS)
            cut = COLUMNS if cut <= 0 else cut
            yield line[:cut]
            line = "        " + line[cut:].lstrip()
        yield line


def svg(lines):
    width, height = CHARACTER * COLUMNS + 2 * MARGIN, LINE * len(lines) + 2 * MARGIN
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" font-family="monospace" font-size="14">',
           f'<rect width="100%" height="100%" rx="8" fill="#1a1b26"/>']
    for i, line in enumerate(lines):
        colour, span = "#c0caf5", ""
        for pattern, c in COLOURS:
            if m := re.match(pattern, line):
                span, colour, line = f'<tspan fill="{c}">{html.escape(m.group())}</tspan>', "#c0caf5", line[m.end():]
                break
        y = MARGIN + LINE * (i + 0.75)
        out.append(f'<text x="{MARGIN}" y="{y:.0f}" fill="{colour}" xml:space="preserve">{span}{html.escape(line)}</text>')
    return "\n".join(out + ["</svg>", ""])


def main():
    wrong = []
    for name, (folder, commands) in PICTURES.items():
        lines = []
        for command in commands:
            run = subprocess.run([BIN / "smalti", *command.split()], cwd=ROOT / folder, capture_output=True, text=True,
                                 env={**os.environ, "NO_COLOR": "1", "COLUMNS": str(COLUMNS)})
            lines += [f"$ smalti {command}", *wrapped(run.stdout + run.stderr), ""]
        path, text = ROOT / "docs/images" / name, svg(lines[:-1])
        if "--check" in sys.argv[1:]:
            wrong += [] if path.exists() and path.read_text() == text else [name]
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    if wrong:
        sys.exit(f"not what the commands print now: {', '.join(wrong)} (tools/picture.py writes them)")


if __name__ == "__main__":
    main()
