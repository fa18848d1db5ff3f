"""Reverse mode through kernels: derivatives along a direction against differences of what the kernels compute in f64, and
all gradients against JAX's of the same function."""

import json
import subprocess

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed: nothing to compare with")

import gradient_oracles
import jax.numpy as jnp


@pytest.fixture(scope="module")
def folder(bin_dir, tmp_path_factory):
    path = tmp_path_factory.mktemp("gradients")
    subprocess.run([str(bin_dir / "smalti_kernel_gradients"), str(path)], check=True)
    return path


@pytest.fixture(scope="module")
def cases(folder):
    return json.loads((folder / "index.json").read_text())


def test_no_kernel_is_refused(cases):
    assert not {c["name"]: c["refused"] for c in cases if "refused" in c}
    features = [set(c["features"].split()) for c in cases]
    count = {name: sum(name in f for f in features) for name in ("scratch", "prefetch", "revisited", "library")}
    assert count["scratch"] >= 10 and count["prefetch"] >= 5 and count["revisited"] >= 5 and count["library"] >= 15
    assert len(cases) - count["library"] >= 30


def test_derivatives_along_a_direction(cases):
    wrong = [f"{c['name']}: {c['slope']} against {c['measured']}" for c in cases if "slope" in c
             and not abs(c["slope"] - c["measured"]) <= 1e-4 * max(abs(c["measured"]), 1)]
    assert not wrong, "\n".join(wrong)


def test_gradients_are_those_of_jax(folder, cases):
    wrong = []
    for c in cases:
        if "slope" not in c:
            continue
        def read(what, n, name=c["name"]):
            return [np.load(folder / f"{name}_{what}{i}.npy") for i in range(n)]

        inputs, weights = read("in", c["inputs"]), read("weight", c["results"])
        f = getattr(gradient_oracles, c["name"])

        def loss(wanted, inputs=inputs, weights=weights, f=f, wrt=c["wrt"]):
            given = [jnp.asarray(x) for x in inputs]
            for k, v in zip(wrt, wanted):
                given[k] = v
            results = jax.tree.leaves(f(*given))
            return sum((w * r).sum() for w, r in zip(weights, results, strict=True))

        with jax.default_matmul_precision("highest"):
            expected = jax.jit(jax.grad(loss))([jnp.asarray(inputs[k]) for k in c["wrt"]])
        for k, (ours, theirs) in enumerate(zip(read("d", len(c["wrt"])), expected, strict=True)):
            scale = max(np.abs(theirs).max(), 1)
            error = np.abs(ours - theirs).max() / scale
            if not error <= 1e-4:
                wrong.append(f"{c['name']}: gradient {k} differs by {error:.1e}")
    assert not wrong, "\n".join(wrong)
