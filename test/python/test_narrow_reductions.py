"""Maxima and minima of narrow floats along any dimensions, which native code accumulates without rounding."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from test_program_results import exported

TYPES = ["bfloat16", "float16", "float8_e4m3fn", "float8_e5m2"]
#: shape of the operand and the reduced dimensions
FORMS = [((40, 200), 0), ((40, 200), 1), ((6, 5, 130), 1), ((6, 5, 130), (0, 1)), ((4, 2, 6, 2, 128), (1, 3)), ((7, 3, 33), (0, 2)), ((5, 1, 64), 1)]


def with_special_values(shape, dtype):
    generator = np.random.default_rng(len(shape))
    x = generator.choice(np.array([0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, 3]), size=shape, p=[0.2, 0.2, 0.02, 0.02, 0.02, 0.14, 0.2, 0.1, 0.1])
    return x.astype(jnp.dtype(dtype))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape,dims", FORMS)
@pytest.mark.parametrize("reduce", [jnp.max, jnp.min])
def test_native_code_and_the_machine_agree(dtype, shape, dims, reduce):
    x = with_special_values(shape, dtype)
    result = jax.eval_shape(lambda x: reduce(x, dims, keepdims=True), x)

    def kernel(x, o):
        o[...] = reduce(x[...], dims, keepdims=True)

    module = exported(pl.pallas_call(kernel, out_shape=result), x)
    expected = module.run(x, target="interpret")[0]
    bits = lambda a: np.where(np.isnan(a.astype(np.float32)), np.nan, a.astype(np.float32)).view(np.uint32)
    for target in ("cpu", "cuda-host:sm_80", "cuda-host:sm_90a"):
        np.testing.assert_array_equal(bits(module.run(x, target=target)[0]), bits(expected), err_msg=target)
