"""Ops of the language against jax.numpy, jax.lax, jax.nn and jax.random; and inside kernels as outside, bit for bit."""

import json
import os
import subprocess

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed: nothing to compare with")

import composition_twins
import jax.numpy as jnp
from jax import lax
from jax.experimental.pallas import tpu as pltpu

DTYPES = {"pred": np.bool_, "bf16": jnp.bfloat16, "f8e5m2": jnp.float8_e5m2, "f8e4m3fn": jnp.float8_e4m3fn,
          "f8e4m3b11fnuz": jnp.float8_e4m3b11fnuz, "f16": np.float16, "f32": np.float32,
          **{f"{k[0]}{b}": np.dtype(f"{k}{b}") for k in ("int", "uint") for b in (8, 16, 32)}}


def run_cases(bin_dir, folder, target):
    subprocess.run([str(bin_dir / "smalti_ops_oracle"), str(folder)], check=True,
                   env={**os.environ, "SMALTI_TARGET": target})
    return folder


@pytest.fixture(scope="module")
def folder(bin_dir, tmp_path_factory):
    return run_cases(bin_dir, tmp_path_factory.mktemp("ops"), "interpret")


@pytest.fixture(scope="module")
def cases(folder):
    return json.loads((folder / "index.json").read_text())


def read(path, dtype):
    array, dtype = np.load(path), np.dtype(DTYPES[dtype])
    return array if array.dtype == dtype else array.view(dtype)


def difference(got, wanted, tolerance):
    """'' or what is wrong. NaN equals NaN; signs of zeros count where the tolerance is 0."""
    wanted = np.asarray(wanted)
    if got.dtype != wanted.dtype:
        return f"dtype {got.dtype}, JAX has {wanted.dtype}"
    if got.shape != wanted.shape:
        return f"shape {got.shape}, JAX has {wanted.shape}"
    if got.dtype.kind in "iub":
        return "" if np.array_equal(got, wanted) else f"{np.sum(got != wanted)} elements differ"
    g, w = got.astype(np.float64), wanted.astype(np.float64)
    finite = np.isfinite(w)
    if not np.array_equal(np.isnan(g), np.isnan(w)) or not np.array_equal(g[~finite & ~np.isnan(w)], w[~finite & ~np.isnan(w)]):
        return "NaN or infinities elsewhere"
    g, w = np.where(finite, g, 0), np.where(finite, w, 0)
    if tolerance == 0:
        wrong = finite & ((g != w) | (np.signbit(g) != np.signbit(w)))
    else:
        wrong = finite & (np.abs(g - w) > tolerance * np.maximum(np.abs(w), 1))
    if not wrong.any():
        return ""
    i = tuple(np.argwhere(wrong)[0])
    return f"{wrong.sum()} elements differ, first {g[i]} for {w[i]}"


def problems(folder, cases, chosen):
    """Cases whose results are not JAX's."""
    wrong = []
    names = {"jnp": jnp, "lax": lax, "jax": jax, "np": np, "key": jax.random.key, "pltpu": pltpu,
             "twins": composition_twins}
    for i, case in enumerate(cases):
        if not chosen(case):
            continue
        what = f"{case['jax']} of {case['inputs']}"
        if "error" in case:
            wrong.append(f"{what}: {case['error']}")
            continue
        inputs = [jnp.asarray(read(folder / f"{i}_in{k}.npy", t)) for k, t in enumerate(case["inputs"])]
        wanted = eval(case["jax"], names | dict(zip("abc", inputs)))
        problem = difference(read(folder / f"{i}_out.npy", case["out"]), wanted, case["tolerance"])
        if problem:
            wrong.append(f"{what}: {problem}")
    return "\n".join(wrong)


def is_random(case):
    return "jax.random" in case["jax"]


def test_ops_compute_what_jax_computes(folder, cases):
    wrong = problems(folder, cases, lambda case: not is_random(case))
    assert not wrong, wrong
    assert len(cases) > 500


def test_SL1_random_numbers_are_jax(folder, cases):
    wrong = problems(folder, cases, is_random)
    assert not wrong, wrong
    assert sum(map(is_random, cases)) >= 9


def test_kernels_compute_the_same_bits(cases):
    wrong = [f"{c['jax']} of {c['inputs']}: {c['kernel']}" for c in cases
             if c.get("kernel", "same") not in ("same", "not tried")]
    assert not wrong, f"{len(wrong)} of {len(cases)}\n" + "\n".join(wrong)


def test_kernels_compute_the_same_natively(bin_dir, tmp_path_factory):
    """Bit for bit, but where the case has a tolerance: native code may err as much on its own."""
    folder = run_cases(bin_dir, tmp_path_factory.mktemp("ops_cpu"), "cpu")
    wrong = []
    for i, case in enumerate(json.loads((folder / "index.json").read_text())):
        what = case.get("kernel", "same")
        if what == "different":
            kernel, outside = (read(folder / f"{i}_{part}.npy", case["out"]) for part in ("kernel", "out"))
            what = difference(kernel, outside, 2 * case["tolerance"]) or "same"
        if what not in ("same", "not tried"):
            wrong.append(f"{case['jax']} of {case['inputs']}: {what}")
    assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong)


def test_SD5_promotion_is_jax(folder):
    wrong = []
    for a, b, ours in json.loads((folder / "promotions.json").read_text()):
        other = {"weak int": 1, "weak float": 1.5}.get(b)
        x = jnp.zeros(2, DTYPES[a])
        try:
            theirs = (x + (other if other is not None else jnp.zeros(2, DTYPES[b]))).dtype
        except Exception:  # no implicit promotion
            theirs = None
        if (DTYPES.get(ours) is None) != (theirs is None) or (theirs is not None and np.dtype(DTYPES[ours]) != theirs):
            wrong.append(f"{a} + {b}: {ours}, JAX has {theirs}")
    assert not wrong, "\n".join(wrong)
