#!/usr/bin/env python3
"""The ```cpp blocks of a document as one program, each a function of its own, but for structs: doc_code.py DOCUMENT OUT.cpp"""

import pathlib
import re
import sys

document, out = map(pathlib.Path, sys.argv[1:])
text = document.read_text()
lines = ["// Made by tools/doc_code.py.", "#undef NDEBUG", "#include <cassert>", "#include <smalti/smalti.h>",
         "namespace pl = smalti;", "using pl::_;"]
blocks = [(text[:m.start()].count("\n") + 2, m[1]) for m in re.finditer(r"^```cpp\n(.*?)^```", text, flags=re.M | re.S)]
structs = [b for b in blocks if b[1].startswith("struct ")]
for line, code in structs:
    lines += [f'#line {line} "{document}"', code.rstrip("\n")]
blocks = [b for b in blocks if b not in structs]
for line, code in blocks:
    lines += [f"static void line{line}() {{", f'#line {line} "{document}"', code.rstrip("\n"), "}"]
lines += ["int main() {", *(f"  line{line}();" for line, _ in blocks), "}"]
out.write_text("\n".join(lines) + "\n")
