"""Programs of several devices: collectives around kernels, against JAX on four host devices (collective_programs.py)."""

import json
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("jax", reason="JAX is not installed: nothing to compare with")

SCRIPT = pathlib.Path(__file__).with_name("collective_programs.py")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("collectives")
    done = subprocess.run([sys.executable, str(SCRIPT), str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_collectives_agree_with_jax(recorded, smalti, target, tmp_path):
    report = tmp_path / "report.json"
    done = subprocess.run([smalti, "conform", str(recorded), "--target", target, "--json", str(report)],
                          capture_output=True, text=True)
    cases = json.loads(report.read_text())["cases"]
    assert len(cases) == len(list(recorded.iterdir())) > 100
    assert [c["case"] for c in cases if c["status"] != "pass"] == [], done.stdout
