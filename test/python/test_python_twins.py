"""The Python twins of the kernel library (docs/kernels/python): they compute the same, and their lines are as many as
docs/kernels/README.md says."""

import importlib.util
import re

import numpy as np
import pytest

import kernel_oracles
from conftest import ROOT

jax = pytest.importorskip("jax", reason="JAX is not installed: nobody to run the Python twins")
jnp = jax.numpy

PAGES = ROOT / "docs/kernels"
SOURCES = {"vector_add": "VectorAdd", "tiled_dot": "TiledDot", "matmul": "Matmul", "softmax": "Softmax",
           "flash_attention": "FlashAttention", "paged_attention": "PagedAttention",
           "block_sparse_matmul": "BlockSparseMatmul", "stream_pipelined": "StreamPipelined"}
random = np.random.default_rng(0)


def twin(name):
    spec = importlib.util.spec_from_file_location("twin_" + name, PAGES / "python" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def uniform(*shape):
    return random.uniform(-1, 1, shape).astype(np.float32)


def agree(got, wanted):
    np.testing.assert_allclose(np.asarray(got, np.float64), wanted, atol=1e-5 * max(1, np.max(np.abs(wanted))))


def test_vector_add_and_dot():
    x, y, start = uniform(3000), uniform(3000), uniform(1)
    agree(twin("vector_add")(x, y, block=1024, interpret=True), x + y)
    agree(twin("tiled_dot")(x, y, start, block=1024, interpret=True), kernel_oracles.tiled_dot(x, y, start))


@pytest.mark.parametrize("transpose", [False, True])
def test_matmul(transpose):
    x, y, bias = uniform(70, 150), uniform(150, 140), uniform(140)
    got = twin("matmul")(x.T if transpose else x, y.T if transpose else y, bias, transpose_x=transpose,
                         transpose_y=transpose, activation=jax.nn.relu, bm=32, bn=128, bk=128, interpret=True)
    agree(got, np.maximum(x @ y + bias, 0))


def test_rows():
    x, scale = uniform(20, 300), uniform(300)
    for columns in (300, 128):
        agree(twin("softmax")(x, block_rows=8, block_columns=columns, interpret=True), kernel_oracles.softmax(x))
    agree(twin("rms_norm")(x, scale, epsilon=1e-6, block_rows=8, interpret=True),
          kernel_oracles.rms_norm(x, scale, epsilon=1e-6))


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal):
    q, k, v = uniform(2, 4, 50, 16), uniform(2, 2, 70, 16), uniform(2, 2, 70, 16)
    bias = uniform(1, 4, 50, 70)
    segments = [random.integers(0, 3, (2, n)).astype(np.int32) for n in (50, 70)]
    got = twin("flash_attention")(q, k, v, bias, *map(jnp.asarray, segments), causal=causal, bq=32, bk=32, interpret=True)
    agree(got, kernel_oracles.attention(q, k, v, bias, *segments, causal=causal, bias=True, segments=True, scale=0))


def test_paged_attention():
    q, k, v = uniform(3, 4, 32), uniform(2, 9, 16, 32), uniform(2, 9, 16, 32)
    lengths, table = np.array([40, 0, 17], np.int32), random.integers(0, 9, (3, 3)).astype(np.int32)
    got = twin("paged_attention")(*map(jnp.asarray, (q, k, v, lengths, table)), interpret=True)
    agree(got, kernel_oracles.paged_attention(q, k, v, lengths, table))


def test_block_sparse_matmul():
    rows, columns = np.array([0, 0, 2], np.int32), np.array([0, 2, 1], np.int32)
    blocks, y = uniform(3, 8, 128), uniform(384, 256)
    got = twin("block_sparse_matmul")(*map(jnp.asarray, (rows, columns, blocks, y)), rows=24, bn=128, interpret=True)
    agree(got, kernel_oracles.block_sparse_matmul(rows, columns, blocks, y, rows=24))


def code_lines(text, comment):
    lines = [line.strip() for line in text.splitlines()]
    return len([line for line in lines if line and not line.startswith(comment)])


def measured(name):
    """Lines of code of the function that makes the call, in C++ and in Python."""
    cpp = (ROOT / f"kernels/{SOURCES[name]}.cpp").read_text()
    body = re.search(rf"^PallasCall {name}_call\(.*?^}}$", cpp, re.M | re.S).group(0)
    python = (PAGES / "python" / f"{name}.py").read_text()
    return code_lines(body, "//"), code_lines(python[python.index("\ndef "):], "#")


def test_line_counts_are_those_of_the_page():
    page = (PAGES / "README.md").read_text()
    wanted = {name: "| {} | {} | {} |".format(name, *measured(name)) for name in SOURCES}
    missing = [row for row in wanted.values() if row not in page]
    assert not missing, "docs/kernels/README.md lacks:\n" + "\n".join(missing)
