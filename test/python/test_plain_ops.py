"""Plain array ops around kernels, against the JAX that this machine has: the same functions, lowered for a TPU and run here."""

import json
import shutil
import subprocess

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed: nothing to compare with")

import jax.numpy as jnp
from jax import export, lax
from smalti_record import record

RNG = np.random.default_rng(0)


def floats(*shape, dtype=jnp.float32):
    return jnp.asarray(RNG.standard_normal(shape), dtype)


def integers(*shape, dtype=jnp.int32, low=-50, high=50):
    return jnp.asarray(RNG.integers(max(low, jnp.iinfo(dtype).min), min(high, jnp.iinfo(dtype).max), shape), dtype)


X, Y, POSITIVE = floats(4, 6), floats(4, 6), jnp.abs(floats(4, 6)) + 0.1
SPECIAL = jnp.asarray([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -2.5, 1e30, -1e30], jnp.float32)


def smaller(a, b):
    return jnp.where(a < b, a, b)


def max_pool(x, window, strides, padding):
    return lax.reduce_window(x, -jnp.inf, lax.max, window, strides, padding)


# name → (function, arguments, relative tolerance)
CASES = {}
for name in ["sin", "cos", "tan", "tanh", "exp", "expm1", "logistic", "floor", "ceil", "sign", "neg", "abs", "cbrt",
             "erf", "is_finite"]:
    CASES[name] = (getattr(lax, name), (X,), 2e-6)
for name in ["log", "log1p", "sqrt", "rsqrt"]:
    CASES[name] = (getattr(lax, name), (POSITIVE,), 2e-6)
for name in ["floor", "ceil", "sign", "neg", "abs", "is_finite", "sqrt", "tanh"]:
    CASES[name + "_special"] = (getattr(lax, name), (SPECIAL,), 2e-6)
for name in ["add", "sub", "mul", "div", "rem", "max", "min", "atan2"]:
    CASES[name] = (getattr(lax, name), (X, Y), 2e-6)
    CASES[name + "_bf16"] = (getattr(lax, name), (floats(33, dtype=jnp.bfloat16), floats(33, dtype=jnp.bfloat16)), 0)
for dtype in [jnp.int8, jnp.uint8, jnp.int16, jnp.uint16, jnp.int32, jnp.uint32]:
    t = jnp.dtype(dtype).name
    a, b = integers(40, dtype=dtype), integers(40, dtype=dtype)
    for name in ["add", "sub", "mul", "max", "min", "bitwise_and", "bitwise_or", "bitwise_xor", "lt", "ge", "eq"]:
        CASES[f"{name}_{t}"] = (getattr(lax, name), (a, b), 0)
    for name in ["div", "rem"]:
        CASES[f"{name}_{t}"] = (getattr(lax, name), (a, jnp.where(b == 0, 1, b).astype(dtype)), 0)
    for name in ["shift_left", "shift_right_logical", "shift_right_arithmetic"]:
        CASES[f"{name}_{t}"] = (getattr(lax, name), (a, integers(40, dtype=dtype, low=0, high=7)), 0)
    for name in ["bitwise_not", "population_count", "clz"]:
        CASES[f"{name}_{t}"] = (getattr(lax, name), (a,), 0)
    CASES[f"sum_{t}"] = (lambda x: x.sum(), (a,), 0)
    CASES[f"from_float_{t}"] = (lambda x, d=dtype: x.astype(d), (jnp.abs(X) * 50,), 0)
    CASES[f"to_float_{t}"] = (lambda x: x.astype(jnp.float32), (a,), 0)
for dtype in [jnp.bfloat16, jnp.float16, jnp.float8_e5m2, jnp.float8_e4m3fn, jnp.float8_e4m3b11fnuz, jnp.float8_e8m0fnu]:
    CASES[f"to_{jnp.dtype(dtype).name}"] = (lambda x, d=dtype: x.astype(d), (X * 20,), 0)
CASES |= {
    "compare_special": (lambda x: (x < 1, x <= x, x == x, x != x, x > 0), (SPECIAL,), 0),
    "maximum_special": (lambda x: (jnp.maximum(x, 0), jnp.minimum(x, 1)), (SPECIAL,), 0),
    "pow": (lax.pow, (POSITIVE, Y), 5e-6),
    "integer_pow": (lambda x: x**3, (X,), 2e-6),
    "round": (lambda x: (jnp.round(x), lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO)), (X * 3,), 0),
    "clamp": (lambda x: lax.clamp(-0.5, x, 0.5), (X,), 0),
    "where": (lambda x: jnp.where(x > 0, x, -x), (X,), 0),
    "bitcast": (lambda x: (lax.bitcast_convert_type(x, jnp.int32), lax.bitcast_convert_type(x, jnp.uint8)), (X,), 0),
    "reduce_precision": (lambda x: (lax.reduce_precision(x, 5, 2), lax.reduce_precision(x, 8, 7)), (X * 1000,), 0),
    "reshape": (lambda x: x.reshape(2, 12), (X,), 0),
    "broadcast": (lambda x: jnp.broadcast_to(x[:, None, :], (4, 3, 6)), (X,), 0),
    "transpose": (lambda x: x.transpose(2, 0, 1), (floats(2, 3, 4),), 0),
    "slice": (lambda x: x[1:4:2, ::-1], (X,), 0),
    "dynamic_slice": (lambda x, i: lax.dynamic_slice(x, (i, i + 2), (2, 3)), (X, jnp.int32(3)), 0),
    "dynamic_update_slice": (lambda x, i: lax.dynamic_update_slice(x, jnp.ones((2, 2)), (i, i)), (X, jnp.int32(5)), 0),
    "concatenate": (lambda x, y: jnp.concatenate([x, y, x], 1), (X, Y), 0),
    "pad": (lambda x: lax.pad(x, 7.0, ((1, 2, 1), (-1, 3, 0))), (X,), 0),
    "iota": (lambda: lax.broadcasted_iota(jnp.int32, (3, 5), 1), (), 0),
    "tril": (jnp.tril, (floats(5, 5),), 0),
    "sums": (lambda x: (x.sum(0), x.sum(1), x.sum()), (X,), 1e-5),
    "extremes": (lambda x: (x.max(0), x.min(1), x.max()), (X,), 0),
    "prod": (lambda x: x.prod(1), (X,), 1e-5),
    "all_any": (lambda x: ((x > -1).all(1), (x > 1).any(0)), (X,), 0),
    "argmax": (lambda x: (x.argmax(1), x.argmin(0)), (X,), 0),
    "sum_bf16": (lambda x: x.sum(1), (floats(4, 32, dtype=jnp.bfloat16),), 0.01),
    "custom_reduce": (lambda x: lax.reduce(x, 0.0, lambda a, b: a * 0.5 + b, (1,)), (X,), 1e-5),
    "dot": (lambda x, y: x @ y.T, (X, Y), 1e-5),
    "dot_batched": (lambda x, y: jnp.einsum("bik,bkj->bij", x, y), (floats(3, 4, 5), floats(3, 5, 2)), 1e-5),
    "dot_int8": (lambda x, y: lax.dot(x, y, preferred_element_type=jnp.int32),
                 (integers(4, 6, dtype=jnp.int8), integers(6, 3, dtype=jnp.int8)), 0),
    "dot_bf16": (lambda x, y: lax.dot(x, y, preferred_element_type=jnp.float32),
                 (floats(4, 6, dtype=jnp.bfloat16), floats(6, 3, dtype=jnp.bfloat16)), 1e-5),
    "softmax": (lambda x: jax.nn.softmax(x, -1), (X,), 1e-5),
    "gelu": (jax.nn.gelu, (X,), 1e-5),
    "rms_norm": (lambda x: x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6), (X,), 1e-5),
    "fori_loop": (lambda x, n: lax.fori_loop(0, n, lambda i, c: c * 0.5 + i, x), (X, jnp.int32(5)), 1e-5),
    "while_loop": (lambda x: lax.while_loop(lambda c: c[0] < 7, lambda c: (c[0] + 2, c[1] * 2), (0, x)), (X,), 0),
    "scan": (lambda x: lax.scan(lambda c, a: (c + a, c * 2), jnp.zeros(6), x), (X,), 1e-5),
    "cond": (lambda x, p: lax.cond(p, lambda a: a + 1, lambda a: a * 2, x), (X, jnp.bool_(False)), 0),
    "switch": (lambda x, i: lax.switch(i, [lambda a: a + 1, lambda a: a * 2, lambda a: a], x), (X, jnp.int32(9)), 0),
    "nested_jit": (lambda x: jax.jit(lambda y: (y + 1, y * 2))(jax.jit(jnp.sin)(x)), (X,), 2e-6),
    "constants": (lambda x: (x + np.arange(24, dtype=np.float32).reshape(4, 6), np.arange(300) % 3 == 0,
                             np.linspace(0, 1, 200, dtype=np.float32), jnp.array([1, 2, 3], jnp.int4)), (X,), 0),
}

INDICES, ROWS, REPEATED = jnp.asarray([3, 0, 3, 1, -1]), floats(8, 4), integers(50, low=0, high=6)
for dtype in [jnp.float32, jnp.bfloat16, jnp.int32, jnp.uint8]:
    t = jnp.dtype(dtype).name
    values = (floats(37) * 9).astype(dtype) if t in ("float32", "bfloat16") else integers(37, dtype=dtype, low=0)
    CASES[f"sort_{t}"] = (jnp.sort, (values,), 0)
    CASES[f"argsort_{t}"] = (lambda x: (jnp.argsort(x), jnp.argsort(x, descending=True)), (values,), 0)
CASES |= {
    "sort_special": (lambda x: (jnp.sort(x), jnp.argsort(x)), (SPECIAL,), 0),
    "sort_dims": (lambda x: (jnp.sort(x, axis=0), jnp.sort(x, axis=1)), (X,), 0),
    "sort_keys": (lambda k, v: lax.sort((k, v), num_keys=1), (REPEATED, jnp.arange(50.0)), 0),
    "sort_two_keys": (lambda k, v: lax.sort((k, v, v * 2), num_keys=2), (REPEATED, floats(50)), 0),
    "sort_one": (jnp.sort, (floats(1),), 0),
    "sort_many": (jnp.argsort, (integers(1000, low=0, high=30),), 0),
    "take_rows": (lambda x, i: jnp.take(x, i, axis=0), (ROWS, INDICES), 0),
    "take_columns": (lambda x, i: jnp.take(x, i, axis=1, mode="clip"), (ROWS, INDICES), 0),
    "take_outside": (lambda x, i: jnp.take(x, i * 5, axis=0), (ROWS, INDICES), 0),
    "index_rows": (lambda x, i: x[i], (ROWS, INDICES), 0),
    "index_pairs": (lambda x, i: x[i, jnp.abs(i)], (ROWS, INDICES), 0),
    "index_one": (lambda x, i: x[i], (ROWS, jnp.int32(5)), 0),
    "index_2d": (lambda x, i: x[i.reshape(1, 5, 1)], (ROWS, INDICES), 0),
    "take_along_axis": (lambda x, i: jnp.take_along_axis(x, i, axis=1), (X, integers(4, 3, low=0, high=6)), 0),
    "gather_windows": (lambda x, i: jax.vmap(lambda j: lax.dynamic_slice(x, (j, 0), (2, 3)))(i), (ROWS, INDICES), 0),
    "scatter_add": (lambda x, i, u: x.at[i].add(u), (ROWS, INDICES, floats(5, 4)), 1e-6),
    "scatter_set": (lambda x, i, u: x.at[i].set(u), (ROWS, jnp.asarray([6, 0, 2]), floats(3, 4)), 0),
    "scatter_set_row": (lambda x: x.at[2].set(1.0), (ROWS,), 0),
    "scatter_set_slice": (lambda x: x.at[1:3].set(1.0), (ROWS,), 0),
    "scatter_max_min": (lambda x, i: (x.at[i].max(0.5), x.at[i].min(0.1)), (ROWS, INDICES), 0),
    "scatter_mul": (lambda x, i: x.at[i, 1].multiply(2.0), (ROWS, INDICES), 1e-6),
    "scatter_outside": (lambda x, i: x.at[i * 5].add(1.0), (ROWS, INDICES), 1e-6),
    "scatter_windows": (lambda x, u: lax.dynamic_update_slice(x, u, (7, 2)).at[jnp.asarray([0, 3]), 1:3].add(u[:, :2]),
                        (ROWS, floats(2, 3)), 1e-6),
    "bincount": (lambda x: jnp.bincount(x, length=8), (REPEATED,), 0),
    "segment_sum": (lambda x, i: jax.ops.segment_sum(x, i, num_segments=7), (floats(50), REPEATED), 1e-5),
    "cumsum": (lambda x: (jnp.cumsum(x), jnp.cumsum(x[::-1])), (REPEATED,), 0),
    "cumsum_dims": (lambda x: (jnp.cumsum(x, axis=0), jnp.cumsum(x, axis=1)), (X,), 1e-5),
    "cumulative": (lambda x: (lax.cummax(x, axis=1), lax.cummin(x, axis=0, reverse=True), lax.cumprod(x, axis=1),
                              lax.cumsum(x, axis=1, reverse=True)), (X,), 1e-5),
    "cumlogsumexp": (lambda x: lax.cumlogsumexp(x, axis=1), (X,), 1e-5),
    "pool": (lambda x: (lax.reduce_window(x, 0.0, lax.add, (2, 3), (2, 1), "VALID"),
                        lax.reduce_window(x, -jnp.inf, lax.max, (3, 3), (1, 2), "SAME")), (X,), 1e-5),
    "pool_large": (lambda x: lax.reduce_window(x, 0.0, lax.add, (9, 14), (3, 2), ((4, 4), (0, 7)), (1, 2), (2, 1)), (floats(40, 30),), 1e-5),
    "pool_init": (lambda x: lax.reduce_window(x, jnp.float32(1), lambda a, b: a + b, (2, 3), (1, 2), "VALID"), (X,), 1e-5),
    "pool_of_one": (lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 1), (1, 1), "VALID"), (X,), 0),
    "pool_dilated": (lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 1), ((1, 2), (0, -1)), (2, 1), (1, 3)),
                     (X,), 1e-5),
    "where_in_reduce": (lambda x: (lax.reduce(x, -jnp.inf, lambda a, b: jnp.where(a > b, a, b), (1,)),
                                   lax.reduce(x, jnp.inf, lambda a, b: jax.jit(smaller)(a, b), (0, 1))), (X,), 0),
    "where_in_pool": (lambda x: lax.reduce_window(x, -jnp.inf, lambda a, b: jnp.where(a > b, a, b), (2, 3), (1, 2),
                                                  "SAME"), (X,), 0),
    "jit_in_scatter": (lambda x, i: lax.scatter_apply(
        x, i[:, None], lambda a: jnp.where(a > 0, a, jax.jit(lambda b: jnp.where(b < -1, -1.0, b * 2))(a)),
        lax.ScatterDimensionNumbers((1,), (0,), (0,)), update_shape=(3, 4)), (ROWS, jnp.asarray([6, 0, 2])), 0),
    "pool_grad": (jax.grad(lambda x: (max_pool(x, (2, 3), (2, 3), "VALID") ** 2).sum()), (X,), 1e-5),
    "pool_grad_same": (jax.grad(lambda x: (max_pool(x, (2, 2), (2, 2), "SAME") ** 2).sum()), (X[:3, :5],), 1e-5),
    "pool_grad_overlapping": (jax.grad(lambda x: (max_pool(x, (3, 3), (1, 2), "SAME") ** 2).sum()), (X,), 1e-5),
    "pool_grad_image": (jax.grad(lambda x: (max_pool(x, (1, 2, 2, 1), (1, 2, 2, 1), "SAME") ** 2).sum()),
                        (jnp.sin(jnp.arange(210.0)).reshape(2, 5, 7, 3),), 1e-5),
    "pool_grad_equal": (jax.grad(lambda x: (max_pool(x, (3,), (2,), "SAME") * jnp.arange(1.0, 5.0)).sum()),
                        (jnp.ones(8),), 1e-5),
    "pool_grad_nan": (jax.grad(lambda x: (max_pool(x, (3,), (3,), "VALID") * jnp.arange(1.0, 4.0)).sum()),
                      (SPECIAL,), 1e-5),
    "pool_grad_min": (jax.grad(lambda x: (lax.reduce_window(x, jnp.inf, lax.min, (2, 3), (1, 1), "VALID") ** 2).sum()),
                      (X,), 1e-5),
    "repeat": (lambda x, n: jnp.repeat(x, n, total_repeat_length=20), (floats(6), jnp.asarray([3, 0, 5, 1, 2, 4])), 0),
    "nonzero": (lambda x: jnp.nonzero(x, size=9), (jnp.asarray([0, 3, 0, 1, 1, 0, 2]),), 0),
    "searchsorted": (lambda a, v: jnp.searchsorted(a, v), (jnp.arange(10.0), floats(7) * 5), 0),
    "histogram": (lambda x: jnp.histogram(x, bins=5, range=(-2, 2))[0], (floats(60),), 0),
    "top_k": (lambda x: lax.top_k(x, 3), (floats(4, 16),), 0),
}

IMAGE, WEIGHTS = floats(2, 7, 6, 4), floats(3, 3, 4, 8)


def conv(strides=(1, 1), padding="SAME", **options):
    options = {"dimension_numbers": ("NHWC", "HWIO", "NHWC")} | options
    return lambda x, w: lax.conv_general_dilated(x, w, strides, padding, **options)


LOWER = jnp.tril(floats(5, 5)) + 5 * jnp.eye(5)
BATCH = jnp.tril(floats(2, 3, 4, 4)) + 4 * jnp.eye(4)
POSITIVE_DEFINITE = LOWER @ LOWER.T


def solve(**options):
    return lambda a, b: lax.linalg.triangular_solve(a, b, **options)


CASES |= {
    "conv": (conv(), (IMAGE, WEIGHTS), 1e-5),
    "conv_valid_strided": (conv((2, 3), "VALID"), (IMAGE, WEIGHTS), 1e-5),
    "conv_dilated": (conv((1, 2), ((2, 1), (0, 3)), lhs_dilation=(2, 1), rhs_dilation=(1, 2)), (IMAGE, WEIGHTS), 1e-5),
    "conv_negative_padding": (conv((1, 1), ((-1, -2), (-1, 0))), (IMAGE, WEIGHTS), 1e-5),
    "conv_nchw": (conv((1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW")),
                  (floats(2, 4, 7, 6), floats(8, 4, 3, 3)), 1e-5),
    "conv_mixed_layouts": (conv((2, 1), "SAME", dimension_numbers=("CNHW", "IHWO", "HWNC")),
                           (floats(4, 2, 7, 6), floats(4, 3, 2, 8)), 1e-5),
    "conv_feature_groups": (conv(feature_group_count=2), (IMAGE, floats(3, 3, 2, 8)), 1e-5),
    "conv_depthwise": (conv(feature_group_count=4), (IMAGE, floats(3, 3, 1, 4)), 1e-5),
    "conv_batch_groups": (conv(batch_group_count=2), (IMAGE, WEIGHTS), 1e-5),
    "conv_1d": (conv((1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")), (floats(2, 9, 3), floats(4, 3, 5)), 1e-5),
    "conv_3d": (conv((1, 2, 1), "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC")),
                (floats(2, 4, 5, 3, 2), floats(2, 3, 1, 2, 4)), 1e-5),
    "conv_no_space": (lambda x, w: lax.conv_general_dilated(x, w, (), ()), (floats(3, 4), floats(5, 4)), 1e-5),
    "conv_bf16": (conv(preferred_element_type=jnp.float32), (IMAGE.astype(jnp.bfloat16), WEIGHTS.astype(jnp.bfloat16)),
                  1e-5),
    "conv_int8": (conv(preferred_element_type=jnp.int32),
                  (integers(2, 7, 6, 4, dtype=jnp.int8), integers(3, 3, 4, 8, dtype=jnp.int8)), 0),
    "conv_uint8": (conv(preferred_element_type=jnp.int32),
                   (integers(2, 7, 6, 4, dtype=jnp.uint8, high=250), integers(3, 3, 4, 8, dtype=jnp.uint8, high=250)), 0),
    "conv_precision": (conv(precision=lax.Precision.HIGHEST), (IMAGE, WEIGHTS), 1e-5),
    "conv_special": (conv((1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")),
                     (SPECIAL.reshape(1, 9, 1), jnp.ones((2, 1, 1))), 1e-5),
    "conv_empty_batch": (conv(), (floats(0, 7, 6, 4), WEIGHTS), 0),
    "conv_window_too_large": (conv((1, 1), "VALID"), (floats(2, 2, 6, 4), WEIGHTS), 0),
    "conv_no_features": (conv(), (floats(2, 7, 6, 0), floats(3, 3, 0, 8)), 0),
    "convolve": (lambda a, b: (jnp.convolve(a, b), jnp.convolve(b, a, "same"), jnp.correlate(a, b, "valid")),
                 (floats(9), floats(4)), 1e-5),
    "conv_gradients": (lambda x, w: jax.grad(lambda x, w: (conv((2, 1))(x, w) ** 2).sum(), (0, 1))(x, w),
                       (IMAGE, WEIGHTS), 1e-4),
    "cholesky": (jnp.linalg.cholesky, (POSITIVE_DEFINITE,), 1e-5),
    "cholesky_upper": (lambda a: jnp.linalg.cholesky(a, upper=True), (POSITIVE_DEFINITE,), 1e-5),
    "cholesky_batch": (jnp.linalg.cholesky, (BATCH @ BATCH.swapaxes(-1, -2),), 1e-5),
    "cholesky_of_none": (jnp.linalg.cholesky, (floats(0, 3, 3),), 0),
    "cholesky_no_rows": (jnp.linalg.cholesky, (floats(2, 0, 0),), 0),
    "cholesky_indefinite": (jnp.linalg.cholesky, (jnp.stack([POSITIVE_DEFINITE, -POSITIVE_DEFINITE]),), 1e-5),
    "cholesky_nan": (jnp.linalg.cholesky, (POSITIVE_DEFINITE.at[2, 1].set(jnp.nan),), 1e-5),
    "cho_solve": (lambda a, b: jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(a), b),
                  (POSITIVE_DEFINITE, floats(5, 2)), 1e-4),
    "solve_unit": (solve(left_side=True, lower=True, unit_diagonal=True), (LOWER, floats(5, 3)), 1e-4),
    "solve_right": (solve(left_side=False, lower=True), (LOWER, floats(3, 5)), 1e-5),
    "solve_right_transposed": (solve(left_side=False, lower=True, transpose_a=True), (LOWER, floats(3, 5)), 1e-5),
    "solve_adjoint": (solve(left_side=True, lower=False, transpose_a=True, conjugate_a=True), (LOWER.T, floats(5, 3)),
                      1e-5),
    "solve_batch": (solve(left_side=True, lower=True), (BATCH, floats(2, 3, 4, 2)), 1e-5),
    "solve_vector": (lambda a, b: jax.scipy.linalg.solve_triangular(a, b, trans=1), (LOWER.T, floats(5)), 1e-5),
    "solve_no_columns": (solve(left_side=True, lower=True), (LOWER, floats(5, 0)), 0),
    "solve_nan": (solve(left_side=True, lower=True), (LOWER, floats(5, 2).at[2, 0].set(jnp.nan)), 1e-5),
    "solve_other_triangle": (solve(left_side=True, lower=True), (LOWER + jnp.triu(floats(5, 5), 1), floats(5, 2)), 1e-5),
}



def complexes(*shape, dtype=jnp.complex64):
    return (floats(*shape) + 1j * floats(*shape)).astype(dtype)


C, D = complexes(4, 6), complexes(4, 6)
HERMITIAN = (lambda a: a @ a.conj().T + 5 * jnp.eye(5))(complexes(5, 5))
CTRIANGLE = jnp.tril(complexes(5, 5)) + 4 * jnp.eye(5)
PARTS = jnp.asarray([1 + 2j, complex(np.nan, 1), complex(np.inf, -1), complex(0.0, -np.inf), 0j, -3.5j], jnp.complex64)
for name in ["add", "sub", "mul", "div", "eq", "ne", "pow"]:
    CASES[f"{name}_complex"] = (getattr(lax, name), (C, D), 1e-4 if name == "pow" else 2e-6)
for name in ["neg", "abs", "exp", "log", "sqrt", "rsqrt", "sin", "cos", "tan", "tanh", "expm1", "log1p", "sign", "conj",
             "real", "imag", "logistic", "square", "acos", "acosh", "asin", "asinh", "atan", "atanh", "sinh", "cosh"]:
    CASES[f"{name}_complex"] = (getattr(lax, name), (C,), 1e-5)
    CASES[f"chlo_{name}_complex"] = CASES[f"{name}_complex"]
CASES |= {
    "complex": (lambda x, y: (lax.complex(x, y), lax.complex(x, y).real), (X, Y), 0),
    "complex_parts": (lambda x: (x.real, x.imag, jnp.conj(x), -x, x == x, x != x), (PARTS,), 0),
    "complex_constants": (lambda x: (x * (2 - 1j), jnp.array([1 + 2j, 3j], jnp.complex64) + x[0, 0],
                                     x[0] + np.arange(6) * 1j, np.exp(1j * np.arange(200)).astype(np.complex64)), (C,), 1e-6),
    "complex_where": (lambda x: (jnp.where(x.real > 0, x, 0), jnp.where(x.imag > 0, x, -x)), (C,), 0),
    "complex_angle": (jnp.angle, (C,), 1e-5),
    "complex_convert": (lambda x, y: (x.astype(jnp.complex64), y.real.astype(jnp.int32), (y != 0), jnp.arange(5).astype(jnp.complex64)),
                        (X, C * 9), 0),
    "complex_shapes": (lambda x: (x.T, x.reshape(2, 12), x[1:4:2, ::-1], jnp.concatenate([x, x * 2], 1),
                                  jnp.broadcast_to(x[:, None], (4, 3, 6)), jnp.pad(x, ((1, 0), (0, 2))), x[jnp.array([3, 0])],
                                  x.at[1].set(0), x.at[jnp.array([0, 0])].add(1j)), (C,), 1e-6),
    "complex_dynamic": (lambda x, i: lax.dynamic_update_slice(x, lax.dynamic_slice(x, (i, i), (2, 2)), (0, 0)), (C, jnp.int32(1)), 0),
    "complex_sums": (lambda x: (x.sum(0), x.sum(), x.prod(1), x.mean(1), jnp.cumsum(x, 1)), (C,), 1e-5),
    "complex_dot": (lambda x, y: (x @ y.T, jnp.einsum("ij,kj->ik", x, y.conj())), (C, D), 1e-5),
    "complex_empty": (lambda x: (x + x, jnp.abs(x), x.sum(0)), (complexes(0, 3),), 0),
    "complex_loop": (lambda x: lax.fori_loop(0, 3, lambda i, c: c * (0.5 + 1j), x), (C,), 1e-5),
    "complex_conv": (conv((1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")), (complexes(2, 9, 3), complexes(4, 3, 5)), 1e-5),
    "complex_cholesky": (jnp.linalg.cholesky, (HERMITIAN,), 1e-4),
    "complex_cholesky_upper": (lambda a: jnp.linalg.cholesky(a, upper=True), (HERMITIAN,), 1e-4),
    "complex_solve": (solve(left_side=True, lower=True), (CTRIANGLE, complexes(5, 2)), 1e-4),
    "complex_solve_adjoint": (solve(left_side=True, lower=True, transpose_a=True, conjugate_a=True), (CTRIANGLE, complexes(5, 2)), 1e-4),
    "complex_solve_right": (solve(left_side=False, lower=True, transpose_a=True), (CTRIANGLE, complexes(2, 5)), 1e-4),
}
for n in [1, 2, 3, 4, 5, 8, 12, 15, 22, 49, 64, 67, 74, 131, 256, 300]:
    CASES[f"fft_{n}"] = (lambda x: (jnp.fft.fft(x), jnp.fft.ifft(x)), (complexes(2, n),), 1e-4)
    CASES[f"rfft_{n}"] = (lambda x, n=n: (jnp.fft.rfft(x), jnp.fft.irfft(jnp.fft.rfft(x), n)), (floats(2, n),), 1e-4)
for n in [1021, 2310, 4096]:  # JAX computes in f32
    CASES[f"fft_{n}"] = (lambda x: (jnp.fft.fft(x), jnp.fft.ifft(x)), (complexes(2, n),), 1e-3)
    CASES[f"rfft_{n}"] = (lambda x, n=n: (jnp.fft.rfft(x), jnp.fft.irfft(jnp.fft.rfft(x), n)), (floats(2, n),), 1e-3)
CASES |= {
    "irfft": (jnp.fft.irfft, (complexes(3, 9),), 1e-5),
    "irfft_odd": (lambda x: jnp.fft.irfft(x, 15), (complexes(3, 8),), 1e-5),
    "fft_axis": (lambda x: jnp.fft.fft(x, axis=0), (C,), 1e-5),
    "fft_strips": (lambda x: jnp.fft.fft(x, axis=1), (complexes(2, 300, 100),), 1e-3),
    "fft_few_lines": (lambda x: jnp.fft.ifft(x, axis=0), (complexes(128, 3),), 1e-5),
    "fft_prime_lines": (lambda x: (jnp.fft.fft(x, axis=0), jnp.fft.fft(x[:, :2], axis=0)), (complexes(67, 10),), 1e-4),
    "fft2": (lambda x: (jnp.fft.fft2(x), jnp.fft.ifft2(x)), (complexes(2, 5, 6),), 1e-5),
    "rfft2": (lambda x: (jnp.fft.rfft2(x), jnp.fft.irfft2(jnp.fft.rfft2(x), x.shape[-2:])), (floats(2, 5, 6),), 1e-5),
    "irfft2_odd": (lambda x: jnp.fft.irfft2(x, (4, 7)), (complexes(2, 4, 4),), 1e-5),
    "fftn": (lambda x: (jnp.fft.fftn(x, axes=(1, 2, 3)), jnp.fft.rfftn(x.real, axes=(1, 2, 3))), (complexes(2, 3, 4, 5),), 1e-5),
    "fft_batches_of_none": (jnp.fft.fft, (complexes(0, 4),), 0),
    "fft_nan": (jnp.fft.fft, (complexes(3, 8).at[1, 2].set(jnp.nan),), 1e-5),
    "fft_convolution": (lambda a, b: jnp.fft.irfft(jnp.fft.rfft(a, 40) * jnp.fft.rfft(b, 40), 40), (floats(20), floats(16)), 1e-4),
}

# Factors of matrices, which JAX lowers to custom calls for a TPU. Eigenvectors have no sign of their own.
LARGE = floats(40, 40)
for name, a in {"tall": floats(7, 4), "wide": floats(4, 7), "square": LARGE, "batch": floats(2, 3, 5, 4), "no_rows": floats(0, 3),
                "no_columns": floats(3, 0), "of_none": floats(0, 3, 3), "complex": complexes(6, 4), "f64": floats(4, 4),
                "singular": jnp.zeros((3, 3)).at[1].set(2.0)}.items():
    CASES[f"lu_{name}"] = (lax.linalg.lu, (a,), 1e-4)
    CASES[f"qr_{name}"] = (lambda a: tuple(jnp.linalg.qr(a)), (a,), 1e-4)
for name, a in {"symmetric": LARGE + LARGE.T, "hermitian": HERMITIAN, "batch": BATCH @ BATCH.swapaxes(-1, -2), "none": floats(2, 0, 0),
                "diagonal": jnp.diag(jnp.asarray([3.0, -1.0, 3.0, 0.0])), "nan": POSITIVE_DEFINITE.at[2, 1].set(jnp.nan),
                "huge": 1e30 * POSITIVE_DEFINITE,
                "tiny": 1e-30 * POSITIVE_DEFINITE, "large_and_small": jnp.diag(jnp.asarray([1e8, 1.0, -1e-3])) + 0.1}.items():
    CASES[f"eigh_{name}"] = (lambda a: (lambda w, v: (w, (v * w[..., None, :]) @ v.swapaxes(-1, -2).conj(),
                                                      v.swapaxes(-1, -2).conj() @ v))(*jnp.linalg.eigh(a)), (a,), 1e-4)
CASES |= {
    "qr_nan": (lambda a: jnp.linalg.qr(a, mode="r"), (floats(5, 5).at[2, 1].set(jnp.nan),), 1e-4),
    "determinant_nan": (jnp.linalg.det, (floats(5, 5).at[2, 1].set(jnp.nan),), 0),
    "qr_complete": (lambda a: tuple(jnp.linalg.qr(a, mode="complete")), (floats(6, 3),), 1e-4),
    "inverse": (jnp.linalg.inv, (LARGE,), 1e-3),
    "determinant": (lambda a: (jnp.linalg.det(a), jnp.linalg.slogdet(a)), (BATCH,), 1e-4),
    "solve_general": (jnp.linalg.solve, (LARGE, floats(40, 3)), 1e-3),
    "singular_values": (jnp.linalg.svdvals, (floats(6, 4),), 1e-4),
    "approx_max": (lambda x: lax.approx_max_k(x, 5), (floats(4, 100),), 0),
    "approx_min": (lambda x: lax.approx_min_k(x, 3, reduction_dimension=0, recall_target=0.8), (floats(50, 4),), 0),
}

# Random bits: those of XLA on CPUs, of states whose counters carry.
STATES = {"plain": (5, 0, 7, 0), "carry": (2**32 - 1, 2**32 - 3, 2**32 - 2, 2**32 - 1)}
for state, words in STATES.items():
    for algorithm in lax.RandomAlgorithm:
        for dtype in [jnp.uint8, jnp.uint16, jnp.uint32]:
            name = f"{algorithm.name.lower()}_{jnp.dtype(dtype).name}_{state}"
            CASES[name] = (lambda k, a=algorithm, t=dtype: [lax.rng_bit_generator(k, shape, t, a) for shape in
                                                            [(), (1,), (7,), (3, 5), (5, 3), (3, 4, 2), (2, 0), (4, 9)]],
                           (jnp.asarray(words, jnp.uint32),), 0)
CASES |= {f"{impl}_keys": (lambda seed, impl=impl: [jax.random.uniform(k, (9, 5)) for k in jax.random.split(jax.random.key(seed, impl=impl))],
                           (jnp.int32(3),), 0) for impl in ["rbg", "unsafe_rbg"]}

# What JAX lowers to chlo ops: as they are in a lowered module, and decomposed in an exported one.
for name in ["acos", "asin", "atan", "atanh", "sinh", "cosh", "asinh", "erfc", "erf", "square"]:
    CASES[f"chlo_{name}"] = CASES[f"{name}_decomposed"] = (getattr(lax, name), (jnp.tanh(X),), 2e-6)
CASES |= {
    "chlo_lgamma": (lax.lgamma, (jnp.concatenate([X.ravel() * 5, SPECIAL, jnp.arange(-3.0, 9)]),), 2e-5),
    "chlo_digamma": (lax.digamma, (jnp.concatenate([X.ravel() * 5, SPECIAL[SPECIAL > -1e3], jnp.arange(-3.0, 9) + 0.25]),), 2e-5),
    "chlo_bessel_i1e": (lax.bessel_i1e, (jnp.concatenate([X.ravel(), SPECIAL, jnp.linspace(-200, 200, 99)]),), 1e-5),
    "chlo_next_after": (lambda x, y: (lax.nextafter(x, y), lax.nextafter(x, -x), lax.nextafter(x.astype(jnp.bfloat16), y.astype(jnp.bfloat16))),
                        (SPECIAL, jnp.roll(SPECIAL, 1)), 0),
    "chlo_zeta": (lax.zeta, (jnp.linspace(1.1, 20, 40), jnp.linspace(0.1, 30, 40)), 2e-5),
    "chlo_polygamma": (lax.polygamma, (jnp.arange(1.0, 9), jnp.linspace(0.3, 9, 8)), 5e-5),
    "chlo_truncated_normal": (lambda s: jax.random.truncated_normal(jax.random.wrap_key_data(s), -2.0, 2.0, (40,)), (jnp.array([1, 2], jnp.uint32),), 1e-5),
    "chlo_poisson": (lambda s: jax.random.poisson(jax.random.wrap_key_data(s), jnp.arange(1.0, 30)), (jnp.array([1, 2], jnp.uint32),), 0),
    "chlo_erf_inv": (lax.erf_inv, (jnp.linspace(-1, 1, 4001),), 2e-6),
    "erf_inv_outside": (lax.erf_inv, (SPECIAL,), 0),
    "normal": (lambda: jax.random.normal(jax.random.PRNGKey(3), (40,)), (), 1e-5),
    "chlo_acosh": (lax.acosh, (POSITIVE + 1,), 2e-6),
    "chlo_top_k": (lambda x, y: (lax.top_k(x, 3), lax.top_k(y, 9)), (floats(4, 16), SPECIAL), 0),
    "chlo_gelu": (lambda x: jax.nn.gelu(x, approximate=False), (X,), 1e-5),
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """All cases twice, exported once: modules as text in folder `text`, as portable artifacts in folder `artifact`."""
    folder = tmp_path_factory.mktemp("plain")
    for name, (function, arguments, rtol) in CASES.items():
        jitted = jax.jit(function, keep_unused=True)
        exported = export.export(jitted, platforms=["tpu"])(*arguments)
        case = record(folder / "text" / name, exported, *arguments, expected=jitted(*arguments), rtol=rtol, atol=rtol / 10)
        artifact = shutil.copytree(case, folder / "artifact" / name) / "module.stablehlo.mlir"
        artifact.write_bytes(exported.mlir_module_serialized)
        assert artifact.read_bytes().startswith(b"ML\xefR")
        if name.startswith("chlo_"):
            lowered = jitted.trace(*arguments).lower(lowering_platforms=("tpu",)).as_text()
            (case / "module.stablehlo.mlir").write_text(lowered)
    return folder


@pytest.fixture(scope="module", params=["text", "artifact"])
def report(request, recorded, smalti):
    path = recorded / f"{request.param}.json"
    done = subprocess.run([smalti, "conform", str(recorded / request.param), "--json", str(path)], capture_output=True, text=True)
    assert path.exists(), done.stdout + done.stderr
    text = done.stdout
    return {c["case"]: c | {"text": text} for c in json.loads(path.read_text())["cases"]}


@pytest.mark.parametrize("name", CASES)
def test_plain_op_agrees_with_jax(report, name):
    assert report[name]["status"] == "pass", [line for line in report[name]["text"].splitlines() if line.startswith(name + " ")]
