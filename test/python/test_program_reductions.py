"""Reductions, cumulative ops and scatters of programs around kernels: by any reducer, against JAX or NumPy."""

import functools

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import smalti
from jax import lax
from test_program_results import exported, same

SHAPES = [(1,), (3,), (64,), (100000,), (1000, 3), (3, 1000), (5, 33, 2)]


def values(shape, dtype, seed=0):
    """Small whole numbers, many of them equal, and every special value that the dtype has."""
    array = np.random.default_rng(seed).integers(-3 if np.dtype(dtype).kind != "u" else 0, 4, shape).astype(dtype)
    if np.dtype(dtype).kind == "f" and array.size > 8:
        array.flat[:: array.size // 8] = np.array([np.nan, -0.0, 0.0, np.inf, -np.inf, 1, 2, 3, 4], dtype)[: len(array.flat[:: array.size // 8])]
    return array


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_arguments_of_extremes(shape, dtype):
    x = values(shape, dtype)
    for axis in range(len(shape)):
        same(lambda x, axis=axis: (jnp.argmax(x, axis), jnp.argmin(x, axis)), x)


@pytest.mark.parametrize("steps", [*range(1, 9), 100, 127, 128, 129, 1023, 5000])
def test_a_reducer_need_not_be_commutative(steps):
    """The first element that is not zero, and products of 2 × 2 matrices in their order."""
    x = values((steps, 4), np.int32, steps)
    x[: steps // 2] = 0
    first = lambda x: lax.reduce(x, jnp.int32(0), lambda a, b: jnp.where(a != 0, a, b), (0,))  # noqa: E731
    [result] = exported(first, x).run(x)
    expected = [next((v for v in column if v), 0) for column in x.T.tolist()]
    assert result.tolist() == expected

    def product(a, b):
        return a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]

    m = values((steps, 4), np.int32, steps + 1)
    one, zero = jnp.int32(1), jnp.int32(0)
    results = exported(lambda *m: lax.reduce(m, (one, zero, zero, one), product, (0,)), *m.T.copy()).run(*m.T.copy())
    expected = functools.reduce(lambda a, b: (a @ b).astype(np.int32), m.reshape(steps, 2, 2), np.eye(2, dtype=np.int32))
    assert [int(r) for r in results] == expected.ravel().tolist()


def test_a_reducer_may_return_its_arguments():
    """In order, from the first to the last element."""
    x, y = values((700, 6), np.int32, 1).astype(np.float32), values((700, 6), np.int32, 2)
    inits = np.float32(5), np.int32(6)
    kept = lambda x, y: lax.reduce((x, y), inits, lambda a, b: (b[0], a[1]), (0,))  # noqa: E731
    last, first = exported(kept, x, y).run(x, y)
    np.testing.assert_array_equal(last, x[-1])
    assert first.tolist() == [6] * 6
    x, y = x[:100], y[:100]  # longer ones are divided: a reducer is to be associative
    decayed = lambda x: lax.reduce(x, np.float32(0), lambda a, b: a * 0.5 + b, (0,))  # noqa: E731
    expected = functools.reduce(lambda a, b: a * np.float32(0.5) + b, x, np.zeros(6, np.float32))
    np.testing.assert_array_equal(exported(decayed, x).run(x)[0], expected)
    swapped = lambda x, y: lax.reduce((x, y), (np.int32(0),) * 2, lambda a, b: (a[1], b[0]), (0,))  # noqa: E731
    assert [r.tolist() for r in exported(swapped, y, y).run(y, y)] == [y[-2].tolist(), y[-1].tolist()]


def test_reductions_of_nothing():
    x = np.zeros((0, 3), np.float32)
    [result] = exported(lambda x: lax.reduce(x, jnp.float32(5), lambda a, b: jnp.where(a > b, a, b), (0,)), x).run(x)
    assert result.tolist() == [5, 5, 5]
    x = np.zeros((3, 0), np.float32)
    [result] = exported(lambda x: lax.reduce(x, jnp.float32(5), lambda a, b: jnp.where(a > b, a, b), (0,)), x).run(x)
    assert result.shape == (0,)


CUMULATIVE = [(lax.cumsum, ["float32", "float64", "int32", "uint8", "int64", "complex64"]), (lax.cumprod, ["float32", "complex64"]),
              (lax.cummax, ["float32", "uint8"]), (lax.cummin, ["float32", "int32"]), (lax.cumlogsumexp, ["float32", "complex64"])]


@pytest.mark.parametrize("shape", [(1,), (9,), (3, 4, 5), (2, 1000)])
@pytest.mark.parametrize("op, dtype", [(op, dtype) for op, dtypes in CUMULATIVE for dtype in dtypes])
def test_cumulative(shape, dtype, op):
    with jax.enable_x64(True):
        x = values(shape, dtype)
        for axis in range(len(shape)):
            for reverse in (False, True):
                same(lambda x, axis=axis, reverse=reverse: op(x, axis=axis, reverse=reverse), x, rtol=1e-5)


@pytest.mark.parametrize("op", [lax.add, lax.mul, lax.max, lax.min])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_windows_with_an_initial_value_that_changes_results(dtype, op):
    """Padding, also between elements, is not combined."""
    x = values((3, 5), dtype)
    padding = [(1, 1), (2, 0)]
    same(lambda x: lax.reduce_window(x, np.array(2, dtype), op, (2, 3), (1, 1), "SAME"), x)
    same(lambda x: lax.reduce_window(x, np.array(5, dtype), op, (2, 2), (1, 2), padding, (2, 1), (1, 2)), x)
    same(lambda x: lax.reduce_window(x, np.array(5, dtype), op, (2, 2), (1, 1), [(-1, 2), (1, -2)]), x)
    same(lambda x: lax.reduce_window(x, np.array(5, dtype), op, (1, 3), (1, 1), [(-1, 1), (-1, 1)]), x)  # the size stays
    same(lambda x: lax.reduce_window(x, np.array(5, dtype), op, (1, 1), (1, 1), [(-2, -2), (0, 0)]), x)  # no window


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "uint8", "float64", "int64"])
@pytest.mark.parametrize("update", ["add", "multiply", "min", "max", "set"])
def test_scatter_by_one_op(dtype, update):
    with jax.enable_x64(True):
        dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
        x = values((6, 5), dtype)
        rng = np.random.default_rng(1)
        rows = rng.integers(-7, 8, 9).astype(np.int32)  # some outside, several to one row
        columns = rng.integers(0, 5, 9).astype(np.int32)
        if update == "set":
            rows = np.array([5, 2, 0, 9, -8], np.int32)
            columns = columns[:5]
        n = len(rows)
        by = lambda target: getattr(target, update)  # noqa: E731
        same(lambda x, i, u: by(x.at[i])(u), x, rows, values((n, 5), dtype, 2))
        same(lambda x, i, u: by(x.at[:, i])(u), x, rows, values((6, n), dtype, 3))  # windows of columns
        same(lambda x, i, j, u: by(x.at[i, j])(u), x, rows, columns, values((n,), dtype, 4))
        same(lambda x, i, u: by(x.at[i, 1:4])(u), x, rows, values((n, 3), dtype, 5))
        same(lambda x, i, u: by(x.at[i])(u), x, rows.astype(np.int64), values((n, 5), dtype, 6))


def test_scatter_by_a_difference_keeps_the_operands_order():
    text = """module @m {
 func.func public @main(%x: tensor<3xi32>, %i: tensor<3x1xi32>, %u: tensor<3xi32>) -> (tensor<3xi32>, tensor<3xi32>) {
  %a = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%old: tensor<i32>, %new: tensor<i32>):
    %d = stablehlo.subtract %old, %new : tensor<i32>
    stablehlo.return %d : tensor<i32>
  }) : (tensor<3xi32>, tensor<3x1xi32>, tensor<3xi32>) -> tensor<3xi32>
  %b = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%old: tensor<i32>, %new: tensor<i32>):
    %d = stablehlo.subtract %new, %old : tensor<i32>
    stablehlo.return %d : tensor<i32>
  }) : (tensor<3xi32>, tensor<3x1xi32>, tensor<3xi32>) -> tensor<3xi32>
  return %a, %b : tensor<3xi32>, tensor<3xi32>
 }
}"""
    a, b = smalti.parse(text).run(np.array([10, 20, 30], np.int32), np.array([[2], [0], [2147483647]], np.int32), np.array([1, 2, 3], np.int32))
    assert a.tolist() == [8, 20, 29]
    assert b.tolist() == [-8, 20, -29]


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_products_of_64_bit_integers(dtype):
    with jax.enable_x64(True):
        a, b = (np.random.default_rng(i).integers(-(2**62), 2**62, (3, 4, 5)).astype(dtype) for i in range(2))
        same(lambda a, b: jnp.einsum("bij,bkj->bik", a, b), a, b)  # they wrap around
        small = a.astype(np.int32)
        same(lambda a: lax.dot(a, a.T, preferred_element_type=dtype), small[0])
        halves = small[0].astype(np.float32)
        same(lambda a: lax.dot(a, a.T, preferred_element_type=jnp.float64), halves, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.int8])
def test_gathers_of_single_elements(dtype):
    with jax.enable_x64(True):
        x = np.arange(7 * 9 * 4, dtype=np.float32).reshape(7, 9, 4)
        rng = np.random.default_rng(0)
        i, j = (rng.integers(0 if dtype == np.uint32 else -3, 12, (5, 6)).astype(dtype) for _ in range(2))
        for mode in ("clip", "fill"):
            same(lambda x, i, j, mode=mode: x.at[i, j].get(mode=mode, fill_value=-1), x, i, j)
            same(lambda x, i, j, mode=mode: x.at[i, :, j % 4].get(mode=mode, fill_value=-1), x, i, j)
        same(lambda x, i: jnp.take_along_axis(x, i[:, :, None] % 9, 1), x[:5], i)
        same(lambda x, i: jax.vmap(lambda x, i: x[i % 9])(x, i), x[:5], i)
        same(lambda x, i, u: jax.vmap(lambda x, i, u: x.at[i].add(u))(x, i, u), x[:5], i, np.ones((5, 6, 4), np.float32))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "int8", "uint32", "int64", "uint64"])
def test_top_k_in_total_order(dtype):
    with jax.enable_x64(True):
        x = values((3, 40), np.dtype(getattr(ml_dtypes, dtype, dtype)))
        if dtype == "uint64":
            x[:, 3] = 2**64 - 1
            x[:, 7] = 2**63
        if dtype == "float32":
            x[0, 5] = -np.float32(np.nan)  # the last of all
        for k in (0, 1, 7, 40):
            same(lambda x, k=k: lax.top_k(x, k), x)


def test_a_composite_that_is_no_op_of_ours_runs_its_decomposition():
    text = """module @m {
 func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.composite "NAME" %x {composite_attributes = {k = 2 : i64}, decomposition = @double} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
 }
 func.func private @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
 }
}"""
    [result] = smalti.parse(text.replace("NAME", "mine.double")).run(np.arange(4, dtype=np.float32))
    assert result.tolist() == [0, 2, 4, 6]
    with pytest.raises(smalti.Error, match="SM2"):  # chlo.top_k has two results
        smalti.parse(text.replace("NAME", "chlo.top_k"))
