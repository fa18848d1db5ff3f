"""The console examples of the documents run and print what stands there."""

import subprocess
import sys

import pytest

from console_examples import LINKS, ROOT, examples_of, run_example

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]
# Documents that need something large are run by the tests that fetch it.
EXAMPLES = [e for document in DOCUMENTS for e in examples_of(document) if e.document not in LINKS]


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_the_example_prints_what_the_document_says(example, bin_dir, tmp_path):
    run_example(example, bin_dir, tmp_path)


def test_there_are_examples():
    assert len(EXAMPLES) >= 5


def test_pictures_show_what_commands_print():
    done = subprocess.run([sys.executable, ROOT / "tools/picture.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
