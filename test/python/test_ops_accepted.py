"""Kernels of one op each before Google's TPU compiler: what it takes from JAX's own lowering it takes from ours."""

import json
import subprocess

import pytest

import tpu_compiler

CHIP = "v5e"
DTYPES = {"f32", "bf16", "i32", "u32", "pred"}
# The compiler refuses these from JAX too, by its own words.
REFUSED = {("jnp.arctan2(a, b)", "bf16"): "math.atan2", ("lax.rem(a, b)", "bf16"): "arith.remf"}


@pytest.fixture(scope="module")
def cases(bin_dir, tmp_path_factory):
    """{file: (expression, dtype)}, one for each that differs in more than the numbers it computes with."""
    folder = tmp_path_factory.mktemp("ops")
    subprocess.run([str(bin_dir / "smalti_ops_oracle"), str(folder), "--export"], check=True)
    chosen, seen = {}, set()
    for i, case in enumerate(json.loads((folder / "index.json").read_text())):
        key = json.dumps([case["jax"], case["inputs"], case.get("shapes")])
        if key in seen or not set(case["inputs"] + [case["out"]]) <= DTYPES:
            continue
        seen.add(key)
        assert "error" not in case, f"{case['jax']} of {case['inputs']}: {case['error']}"
        chosen[str(folder / f"{i}.mlir")] = (case["jax"], (case["inputs"] or [case["out"]])[0])
    return chosen


def test_tpu_compiler_accepts_every_op(cases):
    pytest.importorskip("libtpu", reason="Google's TPU compiler (PyPI: libtpu) is not installed")
    wrong = []
    for file, (status, text) in tpu_compiler.accept(CHIP, cases).items():
        limit = REFUSED.get(cases[file])
        if status != ("refused" if limit else "accepted") or (limit or "") not in text:
            wrong.append(f"{cases[file]}: {status} {text[:300]}")
    assert not wrong, f"{CHIP}:\n" + "\n".join(wrong)
    assert len(cases) > 250
