"""Functions that the families of fresh kernels share: element types, and one way to make a call."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

TYPES = {"f32": jnp.float32, "bf16": jnp.bfloat16, "i32": jnp.int32, "u32": jnp.uint32, "i16": jnp.int16, "u16": jnp.uint16,
         "i8": jnp.int8, "u8": jnp.uint8, "i4": jnp.int4, "f8e4": jnp.float8_e4m3fn, "f8e5": jnp.float8_e5m2, "b1": jnp.bool_}
NARROW = ["i8", "bf16", "f32", "f8e4", "i4", "i16"]
VMEM = pltpu.MemorySpace.VMEM if hasattr(pltpu, "MemorySpace") else pltpu.VMEM
ANY = pl.ANY
HBM = pltpu.MemorySpace.HBM if hasattr(pltpu, "MemorySpace") else pl.ANY
SMEM = pltpu.SMEM


def struct(shape, dtype):
  return jax.ShapeDtypeStruct(tuple(shape), TYPES[dtype])


def whole(body, out, *args, **options):
  """A kernel without a grid on whole arrays in VMEM: (function, arguments)."""
  return pl.pallas_call(body, out_shape=out, **options), args


def params(**kw):
  return pltpu.CompilerParams(**kw)


def flip(rng, probability=0.5):
  return rng.random() < probability
