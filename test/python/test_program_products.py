"""Large products between kernels, which run as native code: the same values as JAX computes, whatever their layout."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax
from test_program_results import exported

F32, BF16, I8 = np.float32, ml_dtypes.bfloat16, np.int8


def random(shape, dtype, seed=0):
    x = np.random.default_rng([seed, *shape]).normal(size=shape)
    return (x * 40).astype(dtype) if dtype == I8 else x.astype(dtype)


def dot(dimensions, result):
    return lambda x, y: lax.dot_general(x, y, dimensions, preferred_element_type=result)


#: name → shapes of the operands and dimension numbers
FORMS = {
    "matrices": ((200, 300), (300, 400), (((1,), (0,)), ((), ()))),
    "rhs_transposed": ((200, 300), (400, 300), (((1,), (1,)), ((), ()))),
    "lhs_transposed": ((300, 200), (300, 400), (((0,), (0,)), ((), ()))),
    "vector": ((5000,), (5000, 1000), (((0,), (0,)), ((), ()))),
    "one_row": ((1, 3001), (3001, 1999), (((1,), (0,)), ((), ()))),
    "by_vector": ((3000, 2000), (2000,), (((1,), (0,)), ((), ()))),
    "batches": ((6, 50, 150), (6, 150, 100), (((2,), (1,)), ((0,), (0,)))),
    "batches_transposed": ((2, 3, 150, 50), (2, 3, 110, 150), (((2,), (3,)), ((0, 1), (0, 1)))),
    "several_contracted": ((100, 20, 30), (20, 30, 200), (((1, 2), (0, 1)), ((), ()))),
    "several_free": ((7, 30, 200), (200, 11, 13), (((2,), (0,)), ((), ()))),
    "heads": ((90, 8, 64), (90, 8, 64), (((2,), (2,)), ((1,), (1,)))),  # batch in the middle: remains an op
    "contracted_in_another_order": ((100, 20, 30), (30, 20, 200), (((1, 2), (1, 0)), ((), ()))),
    "partial_blocks": ((257, 513), (513, 519), (((1,), (0,)), ((), ()))),
    "small": ((5, 6), (6, 7), (((1,), (0,)), ((), ()))),
    "no_rows": ((0, 3000), (3000, 3000), (((1,), (0,)), ((), ()))),
}


@pytest.mark.parametrize("operands,result", [(F32, F32), (BF16, F32), (BF16, BF16), (I8, np.int32)])
@pytest.mark.parametrize("form", FORMS)
def test_products_agree_with_jax(form, operands, result):
    left, right, dimensions = FORMS[form]
    x, y = random(left, operands), random(right, operands, 1)
    f = dot(dimensions, result)
    expected = np.asarray(f(jnp.asarray(x), jnp.asarray(y)))
    module = exported(f, x, y)
    one = module.compile(target="cpu", threads=1)(x, y)[0]
    if result == np.int32:
        np.testing.assert_array_equal(one, expected)
    else:
        largest = np.abs(expected.astype(F32)).max(initial=0)
        np.testing.assert_allclose(one.astype(F32), expected.astype(F32), rtol=0, atol=largest * (1e-2 if result == BF16 else 1e-5))
    for threads in (2, 3):
        assert module.compile(target="cpu", threads=threads)(x, y)[0].tobytes() == one.tobytes(), threads


@pytest.mark.parametrize("form", FORMS)
def test_products_of_doubles_agree_with_numpy(form):
    left, right, dimensions = FORMS[form]
    with jax.enable_x64(True):
        x, y = random(left, np.float64), random(right, np.float64, 1)
        module = exported(dot(dimensions, np.float64), x, y)
        one = module.compile(target="cpu", threads=1)(x, y)[0]
        want = np.asarray(dot(dimensions, np.float64)(x, y))
        np.testing.assert_allclose(one, want, rtol=0, atol=1e-13 * np.abs(want).max(initial=0))
        for threads in (2, 3):
            assert module.compile(target="cpu", threads=threads)(x, y)[0].tobytes() == one.tobytes(), threads


def test_sums_of_doubles_do_not_depend_on_threads():
    with jax.enable_x64(True):
        x, y = random((700, 3000), np.float64), random((3000, 1300), np.float64, 1)
        for f in (lambda x, y: x @ y, lambda x, y: x[:100] @ y):
            module = exported(f, x, y)
            one = module.compile(target="cpu", threads=1)(x, y)[0]
            np.testing.assert_allclose(one, f(x, y), rtol=0, atol=1e-10)
            for threads in (2, 3, 5):
                assert module.compile(target="cpu", threads=threads)(x, y)[0].tobytes() == one.tobytes(), threads


def test_products_of_transposed_arrays():
    x, y = random((300, 200), F32), random((400, 300), F32, 1)
    f = lambda x, y: (x.T @ y.T, (x @ x.T).T @ y.T)  # noqa: E731
    for got, want in zip(exported(f, x, y).compile(target="cpu")(x, y), jax.jit(f)(x, y), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-1)


def test_products_in_loops_and_branches():
    x, w = random((64, 256), F32), random((256, 256), F32, 1) / 16

    def f(x, w):
        y = lax.fori_loop(0, 5, lambda i, c: jnp.tanh(c @ w), x)
        return lax.cond(y.sum() > 0, lambda y: y @ w, lambda y: y @ w.T, y)

    np.testing.assert_allclose(exported(f, x, w).compile(target="cpu")(x, w)[0], jax.jit(f)(x, w), rtol=1e-3, atol=1e-3)


def test_special_values():
    x, y = random((128, 256), F32), random((256, 256), F32, 1)
    x[3, 5], x[7, 0], y[9, 11] = np.nan, np.inf, -np.inf
    f = dot((((1,), (0,)), ((), ())), F32)
    np.testing.assert_allclose(exported(f, x, y).compile(target="cpu")(x, y)[0], f(x, y), rtol=1e-4, atol=1e-3)


def test_operands_that_are_used_again_keep_their_elements():
    x = random((256, 256), F32)
    f = lambda x: ((y := x + 1) @ y, y, y @ y.T + y)  # noqa: E731
    for got, want in zip(exported(f, x).compile(target="cpu")(x), jax.jit(f)(x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-2)
