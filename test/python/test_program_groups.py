"""Random programs of element-wise ops, broadcasts and small ops around them, which run in groups: the same values as JAX computes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from test_program_results import exported, same

SHAPES = [(), (1,), (3,), (7, 5), (600,), (20, 64), (3, 1, 4, 5), (0, 4)]
FLOAT = [jnp.add, jnp.subtract, jnp.multiply, jnp.maximum, jnp.minimum]
WHOLE = [jnp.add, jnp.subtract, jnp.multiply, jnp.bitwise_and, jnp.bitwise_xor, jnp.maximum, lambda a, b: a << (b & 7), lambda a, b: a >> (b & 7)]
ONE = [jnp.negative, jnp.abs, jnp.square, lambda a: jnp.clip(a, -3, 5)]


def program(random, shape, dtype, steps=25):
    """A function of two arrays of the shape, one of its last dimension, one of its first with ones, and a scalar."""
    binary = FLOAT if dtype == jnp.float32 else WHOLE
    choices = [(int(random.integers(9)), *map(int, random.integers(1 << 30, size=3))) for _ in range(steps)]
    kept = random.integers(1, 4)

    def f(x, y, row, column, s):
        values = [x + row, y * column + s]
        for kind, a, b, c in choices:
            left, right = values[a % len(values)], values[b % len(values)]
            if kind < 3:
                made = binary[c % len(binary)](left, right)
            elif kind == 3:
                made = ONE[c % len(ONE)](left)
            elif kind == 4:
                made = binary[c % len(binary)](left, [row, column, s][b % 3])
            elif kind == 5:
                made = jnp.where(left > right, left, jnp.asarray(c % 5, dtype))
            elif kind == 6:  # through another dtype and another shape
                made = left.reshape(-1).astype(jnp.int8 if c % 2 else jnp.bool_).astype(dtype).reshape(left.shape)
            elif kind == 7 and left.size:  # a scalar of a value
                made = left + right.reshape(-1)[c % left.size]
            else:  # an op that is not element-wise
                made = jnp.flip(left, 0) if left.ndim else left
            values.append(made)
        return tuple(values[-kept:]) + (values[0].sum() + values[1].sum(), values[len(values) // 2].sum())

    return f


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
@pytest.mark.parametrize("seed", range(4))
def test_random_programs(dtype, seed):
    dtype = jnp.dtype(dtype)
    for number, shape in enumerate(SHAPES):
        random = np.random.default_rng([seed, number])
        array = lambda shape: jnp.asarray(random.integers(0 if dtype == jnp.uint8 else -2, 3, shape), dtype)  # noqa: B023, E731
        arguments = array(shape), array(shape), array(shape[-1:]), array(shape[:1] + (1,) * (len(shape) - 1)), array(())
        same(program(random, shape, dtype), *arguments)  # all numbers are whole, and small enough for every order


def test_every_broadcast_is_computed_within_a_group():
    random = np.random.default_rng(0)
    broadcasts, arguments = [], []
    for _ in range(60):
        shape = tuple(map(int, random.choice([1, 2, 3, 7], size=random.integers(1, 5))))
        dims = tuple(d for d in range(len(shape)) if random.integers(2))
        operand = tuple(shape[d] if random.integers(3) else 1 for d in dims)
        broadcasts.append((shape, dims))
        arguments += [random.integers(-99, 99, shape), random.integers(-99, 99, operand)]

    def f(*a):
        return [-x + lax.broadcast_in_dim(y, shape, dims) * 2 for x, y, (shape, dims) in zip(a[::2], a[1::2], broadcasts)]

    same(f, *(a.astype(np.int32) for a in arguments))


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "complex64"])
def test_products_of_transposed_operands(dtype):
    def f(a, b, c):
        t = b.transpose(2, 0, 1, 3)  # read by products, and by others
        first = jnp.einsum("bijk,ikbl->bjl", a.transpose(3, 1, 0, 2), c)
        return first, jnp.einsum("wxyz,wxqz->wxyq", t, t), (b[0, 0].T @ a[0, 0].T).T, b[0, 0].T @ b[0, 0], t

    whole = np.random.default_rng(0).integers(-4, 5, (3, 7, 5, 4)), np.random.default_rng(1).integers(-4, 5, (2, 6, 4, 5))
    a, b = (x.astype(dtype) for x in whole)
    same(f, a, b, np.random.default_rng(2).integers(-4, 5, (7, 5, 4, 2)).astype(dtype))


@pytest.mark.parametrize("n", [1, 511, 512, 513, 1 << 15, 100001])
def test_partial_blocks_and_special_values(n):
    x = jnp.asarray(np.resize(np.array([np.nan, -0.0, 0.0, np.inf, -np.inf, 1e-30, 3, -7], np.float32), n))
    same(lambda x: (jnp.maximum(x, 0) * -1, jnp.isnan(x) | (x > 2), jax.nn.relu(x) - x), x)
    same(lambda x: jax.nn.sigmoid(x * 3) + lax.select(x < 0, x, -x), x, rtol=1e-6)


def test_values_that_regions_use():
    def f(x, n):
        scaled = x * 2 + 1
        weight = jnp.broadcast_to(n.astype(jnp.float32), x.shape)
        return lax.fori_loop(0, n, lambda i, c: c * 0.5 + scaled * weight - i, x), lax.cond(n > 2, lambda: scaled - 1, lambda: weight + 1)

    for n in (0, 1, 5):
        same(f, jnp.arange(6.0), jnp.int32(n))


def test_threads_compute_the_same_bits():
    random = np.random.default_rng(0)
    arrays = [random.normal(size=s).astype(np.float32) for s in [(700, 300), (300, 500), (3, 257, 130), (3, 130, 200), (5, 19, 23, 8), (3, 3, 8, 16), (6, 300), (1300, 300)]]

    def f(x, w, a, b, image, filters, few, many):
        convolved = lax.conv_general_dilated(image, filters, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return x @ w, a @ b, jnp.tanh(x * 3) + x - w[0, :300], x.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16), convolved, \
            few @ many.T, few[0] @ many.T, jnp.einsum("ik,jk->ij", few.astype(jnp.bfloat16), many.astype(jnp.bfloat16))

    def g(x, w, few, many):
        complex_few, complex_many, complex_x = few * (1 + 2j), many + 1j * many[::-1], x - 1j * x[:, ::-1]
        return complex_few @ complex_many.T, complex_few[0] @ complex_many.T, complex_x @ complex_many[:64].T, complex_x @ w

    complex_arrays = arrays[0], arrays[1], arrays[6], arrays[7]
    for result, want in zip(exported(g, *complex_arrays).run(*complex_arrays), jax.jit(g)(*complex_arrays), strict=True):
        np.testing.assert_allclose(result, want, rtol=1e-4, atol=1e-3)

    module = exported(lambda *a: f(*a) + g(a[0], a[1], a[6], a[7]), *arrays)
    one = module.compile(target="cpu", threads=1)(*arrays)
    for threads in (2, 3, 8):
        for a, b in zip(one, module.compile(target="cpu", threads=threads)(*arrays), strict=True):
            assert a.tobytes() == b.tobytes(), threads
