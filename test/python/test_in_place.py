"""Kernels whose result takes the memory of an operand that nothing else holds: a call that is run again, because its code
reports something, gives what the machine gives."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed: no kernels to export")

import jax.numpy as jnp
import smalti
from jax.experimental import pallas as pl

TARGETS = ["interpret", "cpu", "cuda-host"]
ROWS = pl.BlockSpec((8, 128), lambda i: (i, 0))


def module(kernel, in_specs, *shapes):
    """The kernel on three times the first array, an intermediate value that its result is aliased to."""
    def program(x, *rest):
        return pl.pallas_call(kernel, grid=(2,), in_specs=in_specs, out_specs=ROWS, out_shape=x,
                              input_output_aliases={0: 0})(x * 3, *rest)

    arrays = [jnp.ones(shape, jnp.float32) for shape in shapes]
    text = jax.export.export(jax.jit(program), platforms=["tpu"])(*arrays).mlir_module()
    return smalti.parse(text), [np.asarray(a) for a in arrays]


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("target", TARGETS)
def test_partial_blocks(target, check):
    def add_half(x, o):
        o[...] = x[...] + .5

    m, arrays = module(add_half, [ROWS], (12, 128))
    assert np.all(m.run(*arrays, target=target, check=check)[0] == 3.5)


@pytest.mark.parametrize("target", TARGETS)
def test_a_read_outside_whose_value_is_not_used(target):
    def add_half(x, y, o):
        o[...] = x[...] + .5
        outside = y[pl.ds(pl.program_id(0) * 4, 8), :]
        o[...] += jnp.where(outside > 1e9, 1., 0.) * 0.

    m, arrays = module(add_half, [ROWS, pl.BlockSpec((8, 128), lambda i: (0, 0))], (16, 128), (8, 128))
    code = m.compile(target=target)
    for _ in range(2):
        report = code.execute(*arrays)
        assert np.all(report.results[0] == 3.5)
        assert [f.diagnostic.code for f in report.findings] == ["SM4010"]
