"""Products whose results have another type than their operands: the sums of the operands' type, converted, as JAX computes them."""

import jax
import numpy as np
import pytest
from jax import lax
from test_program_results import exported

#: types of the operands and of the result
TYPES = [
    ("float64", "float64", "float32"),
    ("float64", "float64", "bfloat16"),
    ("float32", "float32", "float64"),
    ("float32", "float32", "int32"),
    ("complex64", "complex64", "float32"),
    ("complex64", "complex64", "complex64"),
    ("float32", "complex64", "complex64"),
    ("float32", "float32", "complex64"),
    ("int32", "int32", "float32"),
    ("int32", "int32", "int64"),
    ("int8", "int8", "int16"),
    ("uint8", "int8", "int32"),
    ("bool", "bool", "int32"),
    ("float16", "bfloat16", "float32"),
]


def operand(shape, dtype, seed):
    numbers = np.random.default_rng(seed).integers(-3, 4, shape) + np.random.default_rng(seed + 9).integers(0, 2, shape) / 2
    if dtype.startswith("complex"):
        numbers = numbers + 1j * np.random.default_rng(seed + 1).integers(-3, 4, shape)
    if dtype.startswith("uint"):
        numbers = np.abs(numbers)
    return numbers.astype(jax.numpy.dtype(dtype))


@pytest.mark.parametrize("left,right,result", TYPES)
def test_products_agree_with_jax(left, right, result):
    with jax.enable_x64(True):
        x, y = operand((4, 8), left, 0), operand((8, 3), right, 5)
        f = lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ())), preferred_element_type=jax.numpy.dtype(result))
        expected = np.asarray(jax.jit(f)(x, y))
        module = exported(f, x, y)
    for target in ("interpret", "cpu"):
        got = module.compile(target=target)(x, y)[0]
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


def test_products_of_c64_can_have_results_of_c128():
    """JAX's own compiler drops imaginary parts here."""
    with jax.enable_x64(True):
        x, y = operand((4, 8), "complex64", 0), operand((8, 3), "complex64", 5)
        module = exported(lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ())), preferred_element_type=np.complex128), x, y)
    np.testing.assert_array_equal(module.run(x, y)[0], x.astype(np.complex128) @ y.astype(np.complex128))


def test_signs_of_a_format_without_zero_and_negative_numbers():
    x = np.array([0.5, 1, 4, np.nan], jax.numpy.float8_e8m0fnu)
    got = exported(lax.sign, x).run(x)[0].astype(np.float32)
    np.testing.assert_array_equal(got, np.array([1, 1, 1, np.nan], np.float32))
