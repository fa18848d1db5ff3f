"""Calls that the target cuda-host saves, to run them on a GPU elsewhere."""

import shutil

from conftest import ROOT

CASES = ROOT / "test/data/cases"


def test_calls_of_different_processes_are_kept(run, tmp_path):
    """Each case of `conform` runs in a process of its own, and so does a later run: none replaces the calls of another."""
    cases = tmp_path / "cases"
    for name in ("a", "b"):
        shutil.copytree(CASES / "alias_partial_update", cases / name)
    assert run("conform", "cases", "--target", "cuda-host:calls/").returncode == 0
    assert run("run", CASES / "alias_partial_update", "--target", "cuda-host:calls/").returncode == 0
    kept = sorted(p.name for p in (tmp_path / "calls").iterdir())
    assert [name[:5] for name in kept] == ["0000-", "0001-", "0002-"], kept
    assert all((tmp_path / "calls" / name / file).exists() for name in kept for file in ("call.txt", "result0.bin"))


def test_calls_that_end_early_are_not_kept(run, tmp_path):
    """They have no results to compare with."""
    done = run("run", CASES / "while_loop_collatz", "--target", "cuda-host:calls/", "--step-limit", "60")
    assert done.returncode == 3 and list((tmp_path / "calls").iterdir()) == [], done.stderr


def test_sm7202_checked_calls_are_not_kept(run, tmp_path):
    done = run("run", CASES / "alias_partial_update", "--check", "--target", "cuda-host:./calls")
    assert done.stderr.startswith("error[SM7202]: no call is saved with --check, which runs other code\n"), done.stderr
    assert done.stderr.endswith("  have: --target cuda-host:./calls\n  help: omit --check, or the folder\n"), done.stderr
    assert not (tmp_path / "calls").exists()
