"""What the kernels of the library compute, in NumPy: one function per kernel, `(inputs…, **parameters)`, in f64 where
the kernel has floats."""

import numpy as np


def gelu(z):
    return z * 0.5 * (1 + np.vectorize(__import__("math").erf)(z / np.sqrt(2)))


ACTIVATIONS = {"none": lambda z: z, "relu": lambda z: np.maximum(z, 0), "gelu": gelu, "scale": lambda z: z * 0.01}


def matmul(x, y, bias=None, *, transpose_x, transpose_y, activation):
    z = (x.T if transpose_x else x) @ (y.T if transpose_y else y)
    return ACTIVATIONS[activation](z if bias is None else z + bias)


def vector_add(x, y):
    return x + y


def tiled_dot(x, y, start):
    return start + np.dot(x, y)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layer_norm(x, scale, shift, *, epsilon):
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + epsilon) * scale + shift


def rms_norm(x, scale, *, epsilon):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + epsilon) * scale


def attend(s, mask, v):
    """softmax(s where mask) v; rows without any key are 0."""
    s = np.where(mask, s, -np.inf)
    e = np.exp(s - np.maximum(s.max(axis=-1, keepdims=True), -1e300))
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total == 0, 1, total) @ v


def attention(q, k, v, *more, causal, bias, segments, scale):
    more = list(more)
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    s = q @ np.swapaxes(k, 2, 3) * (scale or 1 / np.sqrt(q.shape[-1]))
    if bias:
        s = s + more.pop(0)
    mask = np.ones(s.shape, bool)
    if segments:
        mask &= more[0][:, None, :, None] == more[1][:, None, None, :]
    if causal:
        mask &= np.arange(s.shape[2])[:, None] >= np.arange(s.shape[3])
    return attend(s, mask, v)


def paged_attention(q, k_pages, v_pages, lengths, table):
    out = np.zeros(q.shape)
    group = q.shape[1] // k_pages.shape[0]
    for b, length in enumerate(lengths):
        for h in range(q.shape[1]):
            k, v = (p[h // group, table[b]].reshape(-1, q.shape[2])[:length] for p in (k_pages, v_pages))
            if length:
                s = k @ q[b, h] / np.sqrt(q.shape[2])
                out[b, h] = attend(s[None], True, v)[0]
    return out


def block_sparse_matmul(block_rows, block_columns, blocks, y, *, rows):
    x = np.zeros((rows, y.shape[0]))
    _, m, k = blocks.shape
    for i, j, block in zip(block_rows, block_columns, blocks):
        x[i * m:(i + 1) * m, j * k:(j + 1) * k] = block
    return x @ y


def grouped_matmul(x, y, group_sizes, *, transpose_y=False):
    y = np.swapaxes(y, 1, 2) if transpose_y else y
    out, row = np.zeros((x.shape[0], y.shape[2])), 0
    for group, size in enumerate(group_sizes):
        out[row:row + size] = x[row:row + size] @ y[group]
        row += size
    return out


def copy(x):
    return x


def square_plus_one(x):
    return x * x + 1
