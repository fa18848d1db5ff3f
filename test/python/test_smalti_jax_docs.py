"""The Python examples of docs/jax.md run, in order, as one program; so do those of examples/jax."""

import os
import re
import subprocess
import sys

import pytest

from console_examples import ROOT

pytest.importorskip("jax", reason="JAX is not installed")
pytest.importorskip("smalti", reason="the Python package is not built (it needs nanobind and jaxlib)")


def run(program, folder, *arguments):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "JAX_PLATFORMS": "cpu"}
    return subprocess.run([sys.executable, program, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


def test_the_examples_of_the_document_run(tmp_path):
    text = (ROOT / "docs/jax.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S)
    assert len(blocks) >= 5
    (tmp_path / "program.py").write_text("\n".join(blocks))
    done = run("program.py", tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("example", sorted(p.name for p in (ROOT / "examples/jax").glob("*.py")))
def test_each_example_prints_what_stands_beside_it(example, tmp_path):
    script = ROOT / "examples/jax" / example
    done = run(str(script), tmp_path)
    assert done.returncode == 0, done.stderr
    expected = script.with_suffix(".txt").read_text()
    assert re.sub(r"\d+(\.\d+)? (ms|s)\b", "_ s", done.stdout) == re.sub(r"\d+(\.\d+)? (ms|s)\b", "_ s", expected)


@pytest.mark.parametrize("name", sorted(p.name for p in (ROOT / "examples/jax").glob("*.ipynb")))
def test_each_notebook_prints_what_it_holds(name, tmp_path):
    done = run(str(ROOT / "test/python/notebook.py"), tmp_path, str(ROOT / "examples/jax" / name))
    assert done.returncode == 0, done.stderr
