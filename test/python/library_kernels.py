"""Kernels of JAX's own library for TPUs, in the sizes that a test can afford: attentions and products of groups."""

import jax
import jax.numpy as jnp
import numpy as np


def _random(seed, *shapes, dtype=jnp.float32):
    generator = np.random.default_rng(seed)
    return tuple(jnp.asarray(generator.standard_normal(shape).astype(np.float32)).astype(dtype) for shape in shapes)


def _tolerance(dtype):
    return (2e-2, 2e-2) if dtype == jnp.bfloat16 else (1e-4, 1e-4)


def splash_attention():
    """Blocks wholly behind the mask are skipped through scalar prefetch; those on its edge are masked."""
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as splash
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as masks

    kinds = {"full": masks.FullMask, "causal": masks.CausalMask,
             "local": lambda shape: masks.LocalMask(shape, window_size=(100, 30), offset=0)}
    by_rows, by_columns = splash.QKVLayout.HEAD_DIM_MINOR, splash.QKVLayout.SEQ_MINOR

    def case(kind, dtype, length, block, layout=by_rows):
        def make(interpret):
            sizes = splash.BlockSizes(block_q=block, block_kv=block, block_kv_compute=block, k_layout=layout,
                                      v_layout=layout)
            return splash.make_splash_mha(masks.MultiHeadMask([kinds[kind]((length, length))] * 2), block_sizes=sizes,
                                          head_shards=1, q_seq_shards=1, interpret=interpret)

        name = f"splash_{kind}_{jnp.dtype(dtype).name}_{length}_{block}{'' if layout == by_rows else '_by_columns'}"
        return name, make, _random(length, *[(2, length, 128)] * 3, dtype=dtype), *_tolerance(dtype)

    for kind in kinds:
        for dtype in (jnp.float32, jnp.bfloat16):
            for length, block in ((256, 128), (512, 128), (512, 256)):
                yield case(kind, dtype, length, block)
            yield case(kind, dtype, 256, 128, by_columns)


def splash_gradients():
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as splash
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as masks

    length, block = 256, 128
    for layout in (splash.QKVLayout.HEAD_DIM_MINOR, splash.QKVLayout.SEQ_MINOR):
        for fused in (False, True):
            def make(interpret, layout=layout, fused=fused):
                dq = None if fused else block
                sizes = splash.BlockSizes(block_q=block, block_kv=block, block_kv_compute=block, block_q_dkv=block,
                                          block_kv_dkv=block, block_kv_dkv_compute=block, block_q_dq=dq,
                                          block_kv_dq=dq, use_fused_bwd_kernel=fused, k_layout=layout,
                                          v_layout=layout)
                attend = splash.make_splash_mha(masks.MultiHeadMask([masks.CausalMask((length, length))] * 2),
                                                block_sizes=sizes, head_shards=1, q_seq_shards=1, interpret=interpret)
                return jax.grad(lambda q, k, v: (attend(q, k, v)**2).sum(), argnums=(0, 1, 2))

            name = f"splash_gradients_{layout.name.lower()}{'_fused' if fused else ''}"
            yield name, make, _random(5, *[(2, length, 128)] * 3), 1e-3, 1e-3


def flash_attention():
    """Has no switch for interpret=True: compared with the formula."""
    from jax.experimental.pallas.ops.tpu import flash_attention as flash

    for causal in (False, True):
        for dtype in (jnp.float32, jnp.bfloat16):
            def make(interpret, causal=causal):
                def kernel(q, k, v):
                    return flash.flash_attention(q, k, v, causal=causal, sm_scale=0.125)

                def formula(q, k, v):
                    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k, preferred_element_type=jnp.float32) * 0.125
                    if causal:
                        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -jnp.inf)
                    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), v.astype(jnp.float32)).astype(q.dtype)

                return formula if interpret else kernel

            name = f"flash_{'causal' if causal else 'full'}_{jnp.dtype(dtype).name}"
            yield name, make, _random(3, *[(1, 2, 256, 128)] * 3, dtype=dtype), *_tolerance(dtype)


def grouped_matmul():
    from jax.experimental.pallas.ops.tpu import megablox

    sizes = jnp.array([64, 0, 100, 92], jnp.int32)
    for transposed in (False, True):
        for dtype in (jnp.float32, jnp.bfloat16):
            def make(interpret, transposed=transposed):
                return lambda x, y, n: megablox.gmm(x, y, n, jnp.float32, (64, 128, 128), transpose_rhs=transposed,
                                                    interpret=interpret)

            shape = (4, 256, 128) if transposed else (4, 128, 256)
            name = f"gmm_{'transposed_' if transposed else ''}{jnp.dtype(dtype).name}"
            yield name, make, (*_random(4, (256, 128), shape, dtype=dtype), sizes), 1e-4, 1e-3


FAMILIES = (splash_attention, splash_gradients, flash_attention, grouped_matmul)
