"""NVIDIA's assembler, as `show` runs it: what it makes, and the message of each failure."""

import signal

import pytest

from conftest import ROOT, tool_environment

CASES = ROOT / "test/data/cases"


def test_a_ptxas_that_fails_is_a_diagnostic(run, tmp_path):
    tool, environment = tool_environment(tmp_path, "echo it is closed today\nexit 1\n")
    done = run("show", CASES / "add_grid_1d", "--target", "cuda:a100", "--stage", "all", env=environment)
    assert done.stderr == (f"error[SM7204]: '{tool}' rejects the kernel's code\n  have: it is closed today\n\n"
                           "  help: this is a bug in Smalti, or a tool older than the GPU: please report it with the module\n")


@pytest.mark.parametrize("text, have", [("kill -SEGV $$\n", "Segmentation fault"), ("exit 0\n", "no error, and no code")])
def test_sm7204_a_ptxas_that_ends_without_a_result(run, tmp_path, text, have):
    tool, environment = tool_environment(tmp_path, "ulimit -c 0\n" + text)
    done = run("show", CASES / "add_grid_1d", "--target", "cuda:a100", "--stage", "all", env=environment)
    assert done.stderr == (f"error[SM7204]: '{tool}' ended without a result\n  have: {have}\n"
                           "  help: run it again, or install another version of it\n")


def test_tools_leave_no_files_behind(run, tmp_path):
    """Their files are in memory: neither an end by a signal nor a folder for temporary files without room matters."""
    tool, environment = tool_environment(tmp_path / "tools", "kill -TERM $PPID\nsleep 1\n")
    (tmp_path / "temporary").mkdir()
    done = run("show", CASES / "add_grid_1d", "--target", "cuda:a100", "--stage", "all", env={**environment, "TMPDIR": str(tmp_path / "temporary")})
    assert done.returncode == -signal.SIGTERM and list((tmp_path / "temporary").iterdir()) == []
    tool.write_text("#!/bin/sh\nprintf code > $4\necho 'Used 7 registers'\n")
    done = run("show", CASES / "add_grid_1d", "--target", "cuda:a100", "--stage", "all", env={**environment, "TMPDIR": "/proc/nowhere"})
    assert done.returncode == 0 and "  7 registers a thread, 0 bytes spilled, 4 bytes of cubin\n" in done.stdout, done.stderr
