"""Calls that the target cuda-host saves, to run them on a GPU elsewhere."""

import pathlib
import shutil
import subprocess

from conftest import ROOT

CASES = ROOT / "test/data/cases"


def test_calls_are_kept_for_a_gpu(run, tmp_path):
    """What ./do pack gpu packs, and the program that runs it, which says that there is no driver."""
    done = run("run", CASES / "alias_partial_update", "--target", f"cuda-host:{tmp_path}/calls")
    assert done.returncode == 0, done.stderr
    (call,) = (tmp_path / "calls").iterdir()
    text = (call / "call.txt").read_text()
    assert text.startswith("smalti-gpu-call 3\npoints ") and "\ncode sm_90a threads " in text and "alias 0\n" in text and "result 16384 i32\n" in text
    assert {p.name for p in call.iterdir()} >= {"kernel.sm_80.ptx", "kernel.sm_90a.ptx", "result0.bin", "result0.before.bin"}
    program = tmp_path / "run_calls"
    subprocess.run(["cc", "-o", program, ROOT / "tools/gpu/run_calls.c", "-ldl", "-lm"], check=True)
    if not pathlib.Path("/dev/nvidiactl").exists():
        said = subprocess.run([program, tmp_path / "calls"], capture_output=True, text=True)
        assert (said.returncode, said.stdout) == (2, "there is no NVIDIA driver here: libcuda.so.1 cannot be loaded\n")


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
