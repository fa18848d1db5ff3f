"""examples/train: the same losses as its twin in JAX over 200 steps, on one device and on two, and it learns."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("jax", reason="JAX is not installed: nothing to compare with")

from console_examples import ROOT

STEPS = 200


def losses(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True, **options)
    return [float(line.split()[1]) for line in done.stdout.splitlines()]


def test_the_loss_is_that_of_the_twin_in_jax(bin_dir):
    text = ROOT / "LICENSE"
    ours = losses(bin_dir / "train", text, STEPS, env={"SMALTI_TARGET": "cpu"})
    theirs = losses(sys.executable, ROOT / "examples/train/twin.py", text, STEPS)
    assert len(ours) == len(theirs) == STEPS
    assert max(abs(a - b) for a, b in zip(ours, theirs)) <= 1e-3
    assert ours[-1] < 0.7 * ours[0]


def test_the_loss_is_that_of_the_twin_in_pytorch(bin_dir):
    pytest.importorskip("torch", reason="PyTorch is not installed: nothing to compare with")
    text = ROOT / "LICENSE"
    ours = losses(bin_dir / "train", text, STEPS)
    theirs = losses(sys.executable, ROOT / "examples/train/twin_torch.py", text, STEPS)
    assert len(ours) == len(theirs) == STEPS
    assert max(abs(a - b) for a, b in zip(ours, theirs)) <= 1e-3


def test_two_devices_learn_what_one_does(bin_dir):
    text = ROOT / "LICENSE"
    one = losses(bin_dir / "train", text, STEPS, env={"SMALTI_TARGET": "cpu"})
    two = losses(bin_dir / "train", text, STEPS, 2, env={"SMALTI_TARGET": "cpu"})
    assert len(one) == len(two) == STEPS
    assert max(abs(a - b) for a, b in zip(one, two)) <= 1e-3


def test_batches_divide_over_the_devices(bin_dir):
    done = subprocess.run([str(bin_dir / "train"), str(ROOT / "LICENSE"), "1", "3"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "train: a batch of 8 does not divide over 3 devices\n"


def test_bad_input_is_said(bin_dir, tmp_path):
    short = tmp_path / "short.txt"
    short.write_text("abc")
    done = subprocess.run([str(bin_dir / "train"), str(short)], capture_output=True, text=True)
    assert done.returncode == 1 and "shorter than" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["x"], ["2", "0"], ["2", "-1"], ["2", "2", "0"], ["2", "2", "8", "2"], ["2k"],
                                       ["1000001"], ["2", "4097"], ["1", "1", "99999999999"]])
def test_wrong_arguments_print_the_usage(bin_dir, arguments):
    text = [str(ROOT / "LICENSE")] if arguments else []
    done = subprocess.run([str(bin_dir / "train"), *text, *arguments], capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == ("usage: train TEXT [STEPS [DEVICES [BATCH]]]\n"
                           "STEPS is at most 1000000, DEVICES 4096, BATCH 4096\n")


@pytest.mark.parametrize("text, why", [("folder", "it is a folder"), ("/dev/zero", "it is neither a file nor a pipe"),
                                       ("pipe", "nothing came through this pipe for 2 s"), ("none", "No such file")])
def test_texts_that_are_no_files_are_refused(bin_dir, tmp_path, text, why):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    done = subprocess.run([str(bin_dir / "train"), text, "1"], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error[SM1001]: cannot read '{text}': {why}")


@pytest.mark.parametrize("output", ["> /dev/full", ">&-"])
def test_output_that_cannot_be_written_is_noticed(bin_dir, output):
    done = subprocess.run(["bash", "-c", f"{bin_dir / 'train'} {ROOT / 'LICENSE'} 2 {output}"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "error[SM1006]: cannot write to standard output" in done.stderr
