"""`smalti time` of kernels in loops and branches."""

import json
import re
import subprocess

import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed: no kernels to export")

import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl

X = jnp.ones((512, 512), jnp.float32)


def kernel(x, o):
    o[...] = x[...] * 2


def doubled(x):
    spec = pl.BlockSpec((128, 512), lambda i: (i, 0))
    return pl.pallas_call(kernel, grid=(4,), in_specs=[spec], out_specs=spec, out_shape=x)(x)


@pytest.fixture
def time(smalti, tmp_path):
    def of(function, *arrays, verb="time", arguments=("--json",)):
        text = jax.export.export(jax.jit(function), platforms=["tpu"])(*arrays).mlir_module()
        (tmp_path / "m.mlir").write_text(text)
        return subprocess.run([smalti, verb, "m.mlir", "--chip", "v5e", *arguments], capture_output=True, text=True,
                              cwd=tmp_path, timeout=120)
    return of


def chip(done):
    assert done.returncode == 0, done.stderr
    (module,) = json.loads(done.stdout)["modules"]
    return module["chips"]["v5e"]


@pytest.mark.parametrize("function, calls", [
    (doubled, 1),
    (lambda x: lax.fori_loop(0, 10, lambda _, v: doubled(v), x), 10),
    (lambda x: lax.scan(lambda v, _: (doubled(v), None), x, None, length=7)[0], 7),
    (lambda x: lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 2, doubled(s[1])), (0, x))[1], 3),
    (lambda x: lax.fori_loop(0, 3, lambda _, v: lax.fori_loop(0, 2, lambda _, w: doubled(w), v), x), 6),
    (lambda x: lax.cond(x[0, 0] > 0, doubled, lambda v: v, x), 1),  # the slower branch, as neither is known to be taken
    (lambda x: lax.switch(1, [lambda v: v, doubled], x), 1),
])
def test_calls_are_counted(time, function, calls):
    once, found = chip(time(doubled, X)), chip(time(function, X))
    assert [k["calls"] for k in found["kernels"]] == [calls]
    assert found["kernels"][0]["us"] == pytest.approx(once["kernels"][0]["us"])
    assert found["us"] >= calls * once["kernels"][0]["us"]


def test_a_kernel_in_an_if(smalti, tmp_path):
    """JAX writes `case`; other frontends `if`."""
    export = jax.export.export(jax.jit(lambda x, p: lax.cond(p, doubled, lambda v: v, x)), platforms=["tpu"])
    text = export(X, jnp.bool_(True)).mlir_module()
    branch = re.compile(r'"stablehlo.case"\((%\w+)\)(.*?) : \(tensor<i32>\)', re.DOTALL)
    (number,) = (m.group(1) for m in branch.finditer(text))
    predicate = re.search(re.escape(number) + r" = stablehlo.convert (%\w+)", text).group(1)
    text = branch.sub(lambda m: f'"stablehlo.if"({predicate}){m.group(2)} : (tensor<i1>)', text)
    (tmp_path / "m.mlir").write_text(text)
    done = subprocess.run([smalti, "time", "m.mlir", "--chip", "v5e", "--json"], capture_output=True, text=True, cwd=tmp_path,
                          timeout=120)
    assert [k["calls"] for k in chip(done)["kernels"]] == [1]


def test_the_table_has_calls(time):
    done = time(lambda x: lax.fori_loop(0, 10, lambda _, v: doubled(v), x), X, arguments=())
    assert done.returncode == 0, done.stderr
    header = next(line for line in done.stdout.splitlines() if line.startswith("kernel "))
    assert header.split()[1] == "calls"


def test_an_unknown_number_of_iterations(time):
    done = time(lambda x, n: lax.fori_loop(0, n, lambda _, v: doubled(v), x), X, jnp.int32(3), arguments=())
    assert done.returncode != 0
    assert done.stdout.splitlines() == [
        "m.mlir on v5e: no prediction",
        "error[SM6902]: how often a loop around a kernel runs depends on data that is not given",
        "  have: computed from input 1 of the module",
        "  help: give what it is computed from: --in 1=FILE.npy, or --assume for each"]
    known = time(lambda x, n: lax.fori_loop(0, n, lambda _, v: doubled(v), x), X, jnp.int32(3),
                 arguments=("--assume", "1=4", "--json"))
    assert [k["calls"] for k in chip(known)["kernels"]] == [4]


def test_a_kernel_in_a_loop_can_be_tuned(time):
    done = time(lambda x: lax.fori_loop(0, 10, lambda _, v: doubled(v), x), X, verb="tune", arguments=())
    assert done.returncode == 0, done.stderr
