"""Gathers that threads share: rows, elements along each axis, windows with and without gaps, the same values as JAX computes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from test_program_results import exported

RANDOM = np.random.default_rng(0)
TABLE = RANDOM.integers(-99, 99, (300, 517)).astype(np.int32)
CUBE = RANDOM.integers(-99, 99, (7, 61, 53)).astype(np.float32)


def below(n, *shape, outside=0):
    return RANDOM.integers(-outside, n + outside, shape).astype(np.int32)


def windows(x, at, sizes):
    """The window of each pair of starts."""
    return jax.vmap(lambda start: lax.dynamic_slice(x, start, sizes))(at)


GATHERS = dict(
    rows=(lambda x, i: x[i], TABLE, below(300, 4099)),
    columns=(lambda x, i: x[:, i], TABLE, below(517, 2003)),
    elements=(lambda x, i: x.reshape(-1)[i], TABLE, below(300 * 517, 300001)),
    pairs=(lambda x, i, j: x[i, j], TABLE, below(300, 701, 501), below(517, 701, 501)),
    along_0=(lambda x, i: jnp.take_along_axis(x, i, 0), TABLE, below(300, 911, 517)),
    along_1=(lambda x, i: jnp.take_along_axis(x, i, 1), TABLE, below(517, 300, 1201)),
    along_middle=(lambda x, i: jnp.take_along_axis(x, i, 1), CUBE, below(61, 7, 901, 53)),
    clamped=(lambda x, i: jnp.take(x, i, axis=0, mode="clip"), TABLE, below(300, 3001, outside=50)),
    filled=(lambda x, i: jnp.take(x, i, axis=0, mode="fill", fill_value=7), TABLE, below(300, 3001, outside=50)),
    windows=(lambda x, at: windows(x, at, (3, 5)), TABLE, np.stack([below(298, 20011), below(513, 20011)], 1)),
    whole_rows=(lambda x, at: windows(x, at, (4, 517)), TABLE, np.stack([below(297, 503), np.zeros(503, np.int32)], 1)))


@pytest.mark.parametrize("name", GATHERS)
def test_gathers(name):
    f, *arguments = GATHERS[name]
    module, want = exported(f, *arguments), np.asarray(jax.jit(f)(*arguments))
    assert want.size > 1 << 18, "otherwise one thread does it all"
    for threads in (1, 2, 3, 8):
        np.testing.assert_array_equal(np.asarray(module.compile(target="cpu", threads=threads)(*arguments)[0]), want, strict=True)
