"""Our targets against JAX's interpreter, kernel by kernel, with the JAX that this machine has."""

import json
import os
import subprocess

import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed: nothing to compare with")

from oracle_kernels import all_kernels
from smalti_record import record


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A folder with every kernel that this JAX can lower, and why it refuses the others."""
    folder = tmp_path_factory.mktemp("cases")
    refused = {}
    for name, make, arguments, rtol, atol in all_kernels():
        try:
            expected = jax.jit(make(True))(*arguments)
            record(folder / name, make(False), *arguments, expected=expected, rtol=rtol, atol=atol,
                   expected_from="hlo interpret (interpret=True)")
        except Exception as error:  # this JAX cannot lower it: no statement about us
            refused[name] = f"{type(error).__name__}: {str(error)[:80]}"
    return folder, refused


@pytest.fixture(scope="module", params=["interpret", "cpu"])
def outcome(recorded, tmp_path_factory, smalti, request):
    """What `smalti conform` says of them all on one target."""
    folder, refused = recorded
    report = tmp_path_factory.mktemp(request.param) / "report.json"
    done = subprocess.run([smalti, "conform", str(folder), "--target", request.param, "--json", str(report)],
                          capture_output=True, text=True)
    assert report.exists(), done.stdout + done.stderr
    return json.loads(report.read_text()), refused


def test_every_kernel_that_jax_lowers_agrees(outcome):
    report, refused = outcome
    bad = [c for c in report["cases"] if c["status"] not in ("pass", "ran")]
    assert not bad, f"JAX {jax.__version__}: " + json.dumps(bad, indent=1)
    print(f"JAX {jax.__version__}: {report['passed']} kernels agree, {len(refused)} not lowered by this JAX")


def passed(outcome, family):
    report, _ = outcome
    cases = [c for c in report["cases"] if f"{family}/" in c["case"]]
    assert all(c["status"] == "pass" for c in cases), cases
    return {c["case"].split("/")[-1] for c in cases}


def test_s_e1_every_dtype_is_computed_with(outcome):
    names = " ".join(passed(outcome, "casts") | passed(outcome, "elementwise") | passed(outcome, "matmuls"))
    for dtype in ("float32", "bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e8m0fnu", "int32", "int16", "int8", "int4", "uint32",
                  "uint8", "uint4", "bool"):
        assert dtype in names, dtype


def test_s_i3_unrolled_and_rolled_loops_agree(outcome):
    assert {"unroll_1", "unroll_2", "unroll_12"} <= passed(outcome, "unrolled_loops")


def test_s_l1_threefry_bits_are_jaxs(outcome):
    assert "threefry" in passed(outcome, "random_bits")


def test_jax_lowers_nearly_all_of_them(outcome):
    """Guards the test above: it would pass on an empty list."""
    report, refused = outcome
    assert report["passed"] >= 150 and len(refused) <= 25, refused
