"""A matmul with bad blocks becomes fast on v5e by what `smalti time` says: JAX exports it again with the blocks that the
first advice names, and it takes what was promised."""

import functools
import json
import subprocess

import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy
V5E_HBM_BYTES_PER_US = 820e3


def kernel(x_ref, y_ref, o_ref, acc_ref, *, steps):
    from jax.experimental import pallas as pl

    @pl.when(pl.program_id(2) == 0)
    def _():
        acc_ref[...] = jnp.zeros_like(acc_ref)

    acc_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)

    @pl.when(pl.program_id(2) == steps - 1)
    def _():
        o_ref[...] = acc_ref[...].astype(o_ref.dtype)


def exported(path, x, y, bm, bk, bn):
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    (m, k), n = x.shape, y.shape[1]
    call = pl.pallas_call(
        functools.partial(kernel, steps=k // bk), grid=(m // bm, n // bn, k // bk),
        in_specs=[pl.BlockSpec((bm, bk), lambda i, j, s: (i, s)), pl.BlockSpec((bk, bn), lambda i, j, s: (s, j))],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j, s: (i, j)), scratch_shapes=[pltpu.VMEM((bm, bn), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype))
    path.write_text(jax.export.export(jax.jit(call), platforms=["tpu"])(x, y).mlir_module())


def timed(smalti, path):
    done = subprocess.run([smalti, "time", path, "--chip", "v5e", "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["modules"][0]["chips"]["v5e"]


@pytest.mark.parametrize("m, k, n, dtype, blocks", [
    (4096, 4096, 4096, "bfloat16", (128, 128, 128)),   # too many steps
    (4096, 4096, 4096, "bfloat16", (8, 4096, 128)),    # the right operand is fetched 512 times
    (256, 8192, 8192, "bfloat16", (8, 128, 8192)),     # rows that do not fill the matrix unit
    (2048, 2048, 2048, "float32", (128, 128, 128)),
    (16, 4096, 4096, "bfloat16", (16, 128, 128)),      # copies that are too small
])
def test_following_the_advice_makes_it_fast(smalti, tmp_path, m, k, n, dtype, blocks):
    x, y = jax.ShapeDtypeStruct((m, k), dtype), jax.ShapeDtypeStruct((k, n), dtype)
    exported(tmp_path / "bad.mlir", x, y, *blocks)
    bad = timed(smalti, tmp_path / "bad.mlir")
    first = bad["advice"][0]
    assert first["kind"] == "blocks"
    (bm, bk), (_, bn), _ = first["blocks"]
    exported(tmp_path / "good.mlir", x, y, bm, bk, bn)
    good = timed(smalti, tmp_path / "good.mlir")
    assert good["us"] == pytest.approx(first["share_of_time"] * bad["us"], rel=0.01)
    # The products or what has to be moved with these blocks take most of the time.
    moved = sum(k["hbm_bytes"] for k in good["kernels"]) / V5E_HBM_BYTES_PER_US
    assert max(good["roofline_fraction"], moved / good["us"]) > 0.75 and good["us"] < 0.5 * bad["us"]
