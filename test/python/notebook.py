"""Runs a notebook's code cells in one Python, and compares what they print with the outputs that it holds.

    python test/python/notebook.py examples/jax/NAME.ipynb [--write]

No kernel of Jupyter is needed: a cell is a program whose source linecache knows, as IPython has it. --write: its outputs become
those of now.
"""

import contextlib
import io
import json
import linecache
import os
import pathlib
import sys
import tempfile


def outputs_of(cells):
    """What each code cell prints."""
    namespace = {"__name__": "__main__"}
    for number, cell in enumerate(cells):
        source = "".join(cell["source"])
        name = f"cell_{number}.py"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(source, name, "exec"), namespace)
        yield printed.getvalue()


def stored_output(cell):
    return "".join(text for output in cell["outputs"] for text in output.get("text", []))


def main(path, write):
    notebook = json.loads(path.read_text())
    cells = [c for c in notebook["cells"] if c["cell_type"] == "code"]
    here = os.getcwd()
    differs = False
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for cell, printed in zip(cells, outputs_of(cells)):
            if printed == stored_output(cell):
                continue
            differs = True
            if write:
                cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)}]
            else:
                print(f"cell:\n{''.join(cell['source'])}\nholds:\n{stored_output(cell)}\nprints:\n{printed}", file=sys.stderr)
        os.chdir(here)
    if write:
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    return 0 if write or not differs else 1


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), "--write" in sys.argv))
