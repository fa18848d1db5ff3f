"""Every op case under jvp, vjp and vmap, and transformed functions under more of them, against JAX; compiled by jit they
give the same bits as computed at once."""

import json
import subprocess

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed: nothing to compare with")

import jax.numpy as jnp
from jax import lax
from jax.experimental.pallas import tpu as pltpu
from test_ops_oracle import DTYPES, difference, read

NAMES = {"jnp": jnp, "lax": lax, "jax": jax, "np": np, "key": jax.random.key, "pltpu": pltpu}


@pytest.fixture(scope="module")
def folder(bin_dir, tmp_path_factory):
    path = tmp_path_factory.mktemp("transforms")
    subprocess.run([str(bin_dir / "smalti_ops_oracle"), str(path), "--transform"], check=True)
    return path


@pytest.fixture(scope="module")
def cases(folder):
    return json.loads((folder / "index.json").read_text())


def inputs_of(folder, i, case):
    return [jnp.asarray(read(folder / f"{i}_in{k}.npy", t)) for k, t in enumerate(case["inputs"])]


def expected(case, inputs, name):
    def f(*x):
        return eval(case["jax"], NAMES | dict(zip("abc", x)))

    def is_float(x):
        return jnp.issubdtype(x.dtype, jnp.floating)

    if name.startswith("vmap"):
        shared = int(name[4:])
        axes = tuple(None if k == shared else 0 for k in range(len(inputs)))
        examples = [x if k == shared else jnp.stack([x, jnp.roll(x, 1)]) for k, x in enumerate(inputs)]
        return jax.vmap(f, in_axes=axes)(*examples)
    floats = [k for k, x in enumerate(inputs) if is_float(x)]

    def g(*x):
        given = list(inputs)
        for k, v in zip(floats, x):
            given[k] = v
        return f(*given)

    primals = [inputs[k] for k in floats]
    if name == "jvp":
        return jax.jvp(g, primals, [jnp.ones_like(p) for p in primals])[1]
    result, back = jax.vjp(g, *primals)
    return back(jnp.ones_like(result))[floats.index(int(name[3:]))]


def example_by_example(case, inputs, shared):
    examples = [[x if k == shared else jnp.roll(x, e) for k, x in enumerate(inputs)] for e in range(2)]
    return jnp.stack([eval(case["jax"], NAMES | dict(zip("abc", example))) for example in examples])


def refused_by_jax(case, inputs, name):
    """Reverse mode of loops whose number of steps is computed."""
    try:
        expected(case, inputs, name + "0" if name == "vjp" else name)
    except ValueError as error:
        return "Reverse-mode differentiation does not work" in str(error)
    return False


def tolerance(case, dtype):
    return 4e-2 if dtype == "bf16" or dtype == "f16" else 0.3 if dtype.startswith("f8") else max(10 * case["tolerance"], 2e-5)


def test_transformed_cases_are_those_of_jax(folder, cases):
    wrong, compared = [], 0
    for i, case in enumerate(cases):
        inputs = inputs_of(folder, i, case)
        written = case.get("written", [])
        # One compilation for all that the case wants.
        all_wanted = jax.jit(lambda *x: [expected(case, x, name) for name, _ in written])(*inputs)
        for (name, dtype), wanted in zip(written, all_wanted):
            what = f"{name} of {case['jax']} of {case['inputs']}"
            problem = difference(read(folder / f"{i}_{name}.npy", dtype), wanted, tolerance(case, dtype))
            compared += 1
            if problem:  # compiled, XLA loses NaN in a maximum
                problem = difference(read(folder / f"{i}_{name}.npy", dtype), expected(case, inputs, name),
                                     tolerance(case, dtype))
            if problem and name.startswith("vmap"):  # and in a batched one: what JAX gives example by example
                wanted = example_by_example(case, inputs, int(name[4:]))
                problem = difference(read(folder / f"{i}_{name}.npy", dtype), wanted, tolerance(case, dtype))
            if problem:
                wrong.append(f"{what}: {problem}")
        for name, error in case["transformed"].items():
            if name != "jit" and not refused_by_jax(case, inputs, name):
                wrong.append(f"{name} of {case['jax']} of {case['inputs']}: {error}")
    assert not wrong, f"{len(wrong)} of {compared}\n" + "\n".join(wrong)
    assert compared > 700


def test_compiled_programs_give_the_same_bits(cases):
    # StableHLO has no exp2: programs have a power instead.
    wrong = [f"{c['jax']} of {c['inputs']}: {c['transformed']['jit']}" for c in cases
             if "jit" in c["transformed"] and "exp2" not in c["jax"]]
    assert not wrong, "\n".join(wrong)
