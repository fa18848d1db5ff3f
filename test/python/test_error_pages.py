"""Each page of docs/errors: its console example prints what the page says, and the codes agree with the sources."""

import subprocess
import sys

import pytest

from console_examples import ROOT, examples_of, run_example

PAGES = sorted((ROOT / "docs/errors").glob("SM*.md"))
EXAMPLES = [e for page in PAGES for e in examples_of(page, f"test/errors/{page.stem}")]


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_the_example_prints_what_the_page_says(example, bin_dir, tmp_path):
    run_example(example, bin_dir, tmp_path)


@pytest.mark.parametrize("page", [p for p in PAGES if examples_of(p)], ids=lambda p: p.stem)
def test_the_example_shows_the_code_of_its_page(page):
    assert any(f"[{page.stem}]" in line or page.stem in line
               for e in examples_of(page) for _, output in e.commands for line in output)


def test_pages_and_sources_agree():
    done = subprocess.run([sys.executable, str(ROOT / "tools/check_errors.py")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_explain_prints_the_page(smalti):
    for page in PAGES:
        done = subprocess.run([smalti, "explain", page.stem], capture_output=True, text=True)
        assert done.stdout == page.read_text(), page
