"""Kernels that JAX's wheel contains (jax.experimental.pallas.ops.tpu), unmodified, here: against plain jax.numpy, with their
gradients where they have one."""

import functools

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")
pytest.importorskip("smalti", reason="the Python package is not built (it needs nanobind and jaxlib)")

import jax.numpy as jnp
from jax.experimental.pallas.ops.tpu import flash_attention as flash
from jax.experimental.pallas.ops.tpu import matmul as tiled_matmul
from jax.experimental.pallas.ops.tpu import megablox, paged_attention
from jax.experimental.pallas.ops.tpu import ragged_paged_attention as ragged
from jax.experimental.pallas.ops.tpu.paged_attention import quantization_utils
from jax.experimental.pallas.ops.tpu.random import threefry
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as splash
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as splash_mask

import smalti.jax


pytestmark = pytest.mark.usefixtures("smalti_jax_installed")


def close(got, wanted, rtol, atol):
    jax.tree.map(lambda g, w: np.testing.assert_allclose(np.asarray(g, np.float64), np.asarray(w, np.float64), rtol=rtol,
                                                         atol=atol), got, wanted)


def gradients(f, *arguments):
    """Of the sum of the squares, with respect to all arguments."""
    return jax.jit(jax.grad(lambda *a: (f(*a).astype(jnp.float32) ** 2).sum(), argnums=tuple(range(len(arguments)))))(*arguments)


def normal(*shape, seed=0, dtype=np.float32):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), dtype)


def attention(q, k, v, mask=None, bias=0.0):
    scores = jnp.einsum("...qd,...kd->...qk", q, k) + bias
    if mask is not None:
        scores = jnp.where(mask, scores, -jnp.inf)
    return jnp.einsum("...qk,...kd->...qd", jax.nn.softmax(scores), v)


def causal(length):
    return jnp.tril(jnp.ones((length, length), bool))


@pytest.mark.parametrize("variant", ["full", "causal", "bias", "segments"])
def test_flash_attention_with_its_gradient(variant):
    q, k, v = (normal(1, 2, 256, 128, seed=s) * .1 for s in range(3))
    bias = normal(1, 2, 256, 256, seed=3) if variant == "bias" else None
    ids = jnp.asarray(np.arange(256) // 100, jnp.int32)[None]
    mask = {"causal": causal(256), "segments": ids[0][:, None] == ids[0][None]}.get(variant)

    def ours(q, k, v):
        segments = flash.SegmentIds(ids, ids) if variant == "segments" else None
        return flash.flash_attention(q, k, v, ab=bias, segment_ids=segments, causal=variant == "causal")

    plain = functools.partial(attention, mask=mask, bias=0.0 if bias is None else bias)
    close(ours(q, k, v), plain(q, k, v), 1e-4, 1e-5)
    close(gradients(ours, q, k, v), gradients(plain, q, k, v), 1e-3, 1e-3)


@pytest.mark.parametrize("name", ["causal", "local", "full"])
def test_splash_attention_with_its_gradient(name):
    size = 256
    place = np.arange(size)
    one, plain = {
        "causal": (splash_mask.CausalMask((size, size)), place[:, None] >= place),
        "local": (splash_mask.LocalMask((size, size), (100, 50), 0),
                  (place[:, None] - place <= 100) & (place - place[:, None] <= 50)),
        "full": (splash_mask.FullMask((size, size)), np.ones((size, size), bool)),
    }[name]
    q, k, v = (normal(2, size, 128, seed=s) * .1 for s in range(3))
    kernel = splash.make_splash_mha(splash_mask.MultiHeadMask([one] * 2), head_shards=1, q_seq_shards=1)
    close(jax.jit(kernel)(q, k, v), attention(q, k, v, plain), 1e-4, 1e-5)
    close(gradients(kernel, q, k, v), gradients(lambda q, k, v: attention(q, k, v, plain), q, k, v), 1e-3, 1e-3)


def test_splash_attention_with_fewer_keys_than_queries():
    q, k, v = normal(4, 256, 128) * .1, *(normal(256, 128, seed=s) for s in (1, 2))
    kernel = splash.make_splash_mqa(splash_mask.MultiHeadMask([splash_mask.CausalMask((256, 256))] * 4), head_shards=1,
                                    q_seq_shards=1)
    close(kernel(q, k, v), attention(q, k[None], v[None], causal(256)), 1e-4, 1e-5)
    batch = jnp.stack([q, q[::-1]])
    close(jax.vmap(kernel, in_axes=(0, None, None))(batch, k, v)[1], attention(batch[1], k[None], v[None], causal(256)), 1e-4,
          1e-5)


@pytest.mark.parametrize("quantised", [False, True])
@pytest.mark.parametrize("inline", [False, True])
def test_paged_attention(inline, quantised):
    pages, page, heads, length = 8, 16, 4, 50
    q, k, v = normal(2, heads, 128) * .1, *(normal(heads, pages, page, 128, seed=s) for s in (1, 2))
    q, k, v = (x.astype(jnp.bfloat16).astype(x.dtype) for x in (q, k, v))  # as the kernel rounds them
    lengths, table = jnp.array([length, length], jnp.int32), jnp.array([[0, 2, 4, 6], [7, 5, 3, 1]], jnp.int32)
    given = [quantization_utils.quantize_to_int8(x) for x in (k, v)] if quantised else (k, v)
    if quantised:
        given = [quantization_utils.QuantizedTensor(*x) for x in given]
    got = paged_attention.paged_attention(q, *given, lengths, table, pages_per_compute_block=2, inline_seq_dim=inline)
    for b in range(2):
        keys, values = (x[:, table[b]].reshape(heads, -1, 128)[None, :, :length] for x in (k, v))
        close(got[b], attention(q[b][None, :, None], keys, values)[0, :, 0], *((2e-2, 2e-2) if quantised else (1e-4, 1e-5)))


@pytest.mark.parametrize("window, blocks", [(None, {"num_kv_pages_per_block": 2, "num_queries_per_block": 8}),
                                            (20, {"num_kv_pages_per_block": 2, "num_queries_per_block": 8}),
                                            (None, {})])  # {}: those that JAX chooses for the chip
def test_ragged_paged_attention_of_prefill_and_decoding_together(window, blocks):
    """Sequences of 5, 1 and 20 new tokens behind what they have already; the last rows belong to nobody."""
    new, lengths = np.array([5, 1, 20]), np.array([37, 64, 20], np.int32)
    starts = np.concatenate([[0], np.cumsum(new)]).astype(np.int32)
    q, pages = normal(32, 4, 128) * .1, normal(16, 16, 4, 128, seed=1)
    table = np.random.default_rng(2).permutation(16)[:12].reshape(3, 4).astype(np.int32)
    got = ragged.ragged_paged_attention(q, pages, jnp.asarray(lengths), jnp.asarray(table), jnp.asarray(starts),
                                        jnp.array([3], jnp.int32), sliding_window=window, **blocks)
    for s in range(3):
        rows = pages[table[s]].reshape(-1, 4, 128)[:lengths[s]]
        keys, values = (jnp.repeat(rows[:, i::2], 2, axis=1).transpose(1, 0, 2) for i in range(2))
        at, of = lengths[s] - new[s] + np.arange(new[s])[:, None], np.arange(lengths[s])
        mask = (of <= at) & ((at - of < window) if window else True)
        wanted = attention(q[starts[s]:starts[s + 1]].transpose(1, 0, 2), keys, values, mask).transpose(1, 0, 2)
        close(got[starts[s]:starts[s + 1]], wanted, 2e-3, 2e-3)


def plain_grouped(x, w, sizes):
    ends = np.cumsum(sizes)
    return jnp.concatenate([x[e - s:e] @ w[i] for i, (s, e) in enumerate(zip(np.asarray(sizes), ends))])


@pytest.mark.parametrize("sizes", [[100, 28, 128], [0, 256, 0], [1, 254, 1]])
def test_grouped_matmul_with_its_gradient(sizes):
    x, w, groups = normal(256, 128), normal(3, 128, 128, seed=1), jnp.array(sizes, jnp.int32)
    close(megablox.gmm(x, w, groups), plain_grouped(x, w, sizes), 1e-4, 1e-4)
    close(gradients(lambda x, w: megablox.gmm(x, w, groups), x, w), gradients(lambda x, w: plain_grouped(x, w, sizes), x, w),
          1e-3, 1e-2)


def test_grouped_matmul_of_transposed_weights():
    x, w, sizes = normal(256, 128), normal(2, 256, 128, seed=1), [130, 126]
    got = megablox.gmm(x, w, jnp.array(sizes, jnp.int32), jnp.float32, (128, 128, 128), None, None, True)
    close(got, plain_grouped(x, w.transpose(0, 2, 1), sizes), 1e-4, 1e-4)


def test_tiled_matmul():
    x, y = normal(512, 256, dtype=jnp.bfloat16), normal(256, 512, seed=1, dtype=jnp.bfloat16)
    got = tiled_matmul.matmul(x, y, block_shape=(256, 256), block_k=128)
    close(got, x.astype(jnp.float32) @ y.astype(jnp.float32), 1e-2, 1e-1)


def test_threefry_gives_jaxs_random_bits():
    ours, theirs = (jax.random.key(7, impl=impl) for impl in (threefry.plthreefry_prng_impl, "threefry2x32"))
    np.testing.assert_array_equal(jax.random.bits(ours, (256, 1024)), jax.random.bits(theirs, (256, 1024)))
