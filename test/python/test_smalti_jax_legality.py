"""legality=True: what a TPU's compiler refuses is refused here, as JAX says it on a TPU."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")
pytest.importorskip("smalti", reason="the Python package is not built (it needs nanobind and jaxlib)")

import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import smalti
import smalti.jax
from smalti.jax import using

pytestmark = pytest.mark.usefixtures("smalti_jax_installed")


def doubled(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] + x_ref[...]

    return pl.pallas_call(kernel, out_shape=x)(x)


LINE = doubled.__code__.co_firstlineno + 2
BYTES = np.ones((32, 128), np.int8)
SAYS = "Mosaic failed to compile TPU kernel: Not implemented: Only vector<i16> and vector<i32> are supported, but got 'i8'"


@pytest.mark.parametrize("way", [doubled, jax.jit(doubled), lambda x: jax.jit(doubled).lower(x).compile()])
def test_a_refusal_is_pallas_own_exception(way):
    with using(legality=True), pytest.raises(Exception) as caught:
        way(BYTES)
    assert type(caught.value).__name__ == "MosaicError"
    first, code, place, kernel, chip, *_ = str(caught.value).splitlines()
    assert first == f"INTERNAL: {SAYS}"
    assert code.startswith("error[SM6617]: Only vector<i16>")
    assert place.strip().startswith(f"--> {__file__}:{LINE}:")
    assert (kernel.strip(), chip.strip()) == ("in kernel 'kernel'", "in chip v5e")


def test_it_is_part_of_the_context():
    f = jax.jit(doubled)
    np.testing.assert_array_equal(f(BYTES), 2 * BYTES)
    with using(legality=True), pytest.raises(Exception, match="SM6617"):
        f(BYTES)
    with using(legality=True, chip="v6e"):
        np.testing.assert_array_equal(f(np.ones((8, 128), np.int32)), np.full((8, 128), 2))
        with pytest.raises(Exception, match="in chip v6e"):
            f(BYTES)
    np.testing.assert_array_equal(f(BYTES), 2 * BYTES)


def test_strides_are_refused_in_their_pass_own_words():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[:, ::8]

    with using(legality=True), pytest.raises(Exception, match="kernel: Not Implemented: Stride on last dim is not 1\n"):
        pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 16), np.float32))(np.ones((8, 128), np.float32))


def test_too_much_memory_is_exhausted():
    def call(x, limit):
        def kernel(x_ref, o_ref):
            o_ref[...] = x_ref[...]

        return pl.pallas_call(kernel, out_shape=x, compiler_params=pltpu.CompilerParams(vmem_limit_bytes=limit))(x)

    x = np.ones((128, 128), np.float32)
    with using(legality=True):
        np.testing.assert_array_equal(call(x, 2**18), x)
        with pytest.raises(jax.errors.JaxRuntimeError, match="RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem\nerror.SM6605"):
            call(x, 256)


def test_check_has_refusals_among_its_findings():
    with pytest.raises(smalti.CheckError) as caught:
        smalti.jax.check(doubled, BYTES, legality=True, chip="v5p")
    diagnostic = caught.value.findings[0].diagnostic
    assert (diagnostic.code, diagnostic.line) == ("SM6617", LINE)
    np.testing.assert_array_equal(smalti.jax.check(doubled, BYTES), 2 * BYTES)


def test_divisions_have_no_line_of_their_own():
    """JAX keeps no lines of ops in functions that it has traced before, as of `//`."""
    def kernel(x_ref, o_ref):
        o_ref[0] = x_ref[0] // x_ref[1]

    spec = pl.BlockSpec(memory_space=pltpu.SMEM)
    with using(legality=True), pytest.raises(Exception, match="Only i32 arith.divsi is supported") as caught:
        pl.pallas_call(kernel, in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct((2,), jnp.int16))(
            np.ones(2, np.int16))
    assert type(caught.value).__name__ == "MosaicError"
