"""Collectives and shard_map under grad, jvp, vmap and checkpoint, in both orders, and random programs of them, against
JAX on four host devices."""

import pathlib
import re
import subprocess
import sys

import pytest

pytest.importorskip("jax", reason="JAX is not installed: nothing to compare with")


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_transformed_functions_of_devices_are_those_of_jax(bin_dir, tmp_path, target, monkeypatch):
    monkeypatch.setenv("SMALTI_TARGET", target)
    subprocess.run([str(bin_dir / "smalti_ops_oracle"), str(tmp_path), "--devices"], check=True)
    script = pathlib.Path(__file__).with_name("device_transforms.py")
    done = subprocess.run([sys.executable, str(script), str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    compared, wrong = map(int, re.search(r"(\d+) compared, (\d+) differ", done.stdout).groups())
    assert wrong == 0, done.stdout
    assert compared > 250
