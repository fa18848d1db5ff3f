"""What the kernels of the library compute, in NumPy: one function per kernel, `(inputs…, **parameters)`, in f64 where
the kernel has floats."""

import numpy as np


def gelu(z):
    return z * 0.5 * (1 + np.vectorize(__import__("math").erf)(z / np.sqrt(2)))


ACTIVATIONS = {"none": lambda z: z, "relu": lambda z: np.maximum(z, 0), "gelu": gelu, "scale": lambda z: z * 0.01}


def matmul(x, y, bias=None, *, transpose_x, transpose_y, activation):
    z = (x.T if transpose_x else x) @ (y.T if transpose_y else y)
    return ACTIVATIONS[activation](z if bias is None else z + bias)
