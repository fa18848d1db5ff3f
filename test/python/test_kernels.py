"""The kernel library against NumPy, on the machine and as native code: every case of test/kernels, and each without a
finding under `check`."""

import json
import os
import subprocess

import ml_dtypes
import numpy as np
import pytest

import kernel_oracles

# |ours - oracle| <= tolerance * max(1, largest |oracle|): rounding of the result, and of sums in f32.
TOLERANCE = {"f32": 2e-6, "bf16": 2**-7, "i32": 0, "i8": 0}
STORED = {"bf16": ml_dtypes.bfloat16}


def read(path, dtype):
    array = np.load(path)
    array = array.view(STORED[dtype]) if dtype in STORED else array
    return array.astype(np.float64 if array.dtype.kind not in "iu" else np.int64)


@pytest.fixture(scope="module", params=["interpret", "cpu"])
def cases(bin_dir, tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("kernels")
    subprocess.run([str(bin_dir / "smalti_kernels_oracle"), str(folder)], check=True,
                   env={**os.environ, "SMALTI_TARGET": request.param})
    return {f.name: (f, json.loads((f / "case.json").read_text())) for f in sorted(folder.iterdir())}


def error_of(folder, case):
    """(largest difference / scale, the tolerance)."""
    inputs = [read(folder / f"in{i}.npy", t) for i, t in enumerate(case["inputs"])]
    wanted = getattr(kernel_oracles, case["oracle"])(*inputs, **case["parameters"])
    got = read(folder / "out.npy", case["out"])
    assert got.shape == wanted.shape
    # Operands of bf16 are rounded in between (probabilities before the second product of attention).
    tolerance = max(TOLERANCE[case["out"]], TOLERANCE["bf16"] if "bf16" in case["inputs"] else 0)
    if got.size == 0:
        return 0, tolerance
    return np.max(np.abs(got - wanted)) / max(1, np.max(np.abs(wanted))), tolerance


def test_kernels_compute_what_numpy_computes(cases):
    wrong = []
    for name, (folder, case) in cases.items():
        error, tolerance = error_of(folder, case)
        if not error <= tolerance:
            wrong.append(f"{name}: error {error}, tolerance {tolerance}")
    assert not wrong, "\n".join(wrong)
    assert len(cases) >= 16


def test_kernels_have_no_findings(cases):
    found = {name: case["findings"] for name, (_, case) in cases.items() if case["findings"]}
    assert not found, "\n".join(f"{n}: {f[0]}" for n, f in found.items())
