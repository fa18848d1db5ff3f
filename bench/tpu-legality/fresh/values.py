"""Bodies that compute values: chains of ops drawn by chance over types and shapes, products, reductions, casts."""

from common import *

SHAPES = [(8, 128), (16, 256), (64, 128), (33, 100), (32, 384), (5, 130), (4, 32, 128), (2, 3, 8, 128), (7, 16, 64), (256, 512), (1, 128), (24, 1)]
FLOATS = ["f32", "bf16"]


def elementwise(rng, x):
  """One op that suits the type, on a value."""
  t = x.dtype
  if t == jnp.bool_:
    return rng.choice([lambda v: ~v, lambda v: v ^ True, lambda v: v & ~v])(x)
  if jnp.issubdtype(t, jnp.floating):
    if jnp.dtype(t).itemsize == 1:
      return x.astype(rng.choice([jnp.float32, jnp.bfloat16]))
    return rng.choice([jnp.exp, jnp.tanh, lambda v: v * v, lambda v: v + 1, lambda v: jnp.maximum(v, 0), jnp.abs, lambda v: v / 3,
                       lambda v: lax.rsqrt(jnp.abs(v) + 1), jax.nn.sigmoid, jax.nn.gelu, lambda v: jnp.where(v > 0, v, v * v),
                       jnp.floor, jnp.sign, jnp.round, lambda v: jnp.clip(v, -1, 1), lambda v: -v, jnp.log1p, jax.nn.softplus,
                       lambda v: v.astype(jnp.int32), lambda v: jnp.where(jnp.isnan(v), 0, v), jnp.sin, lambda v: lax.erf_inv(v),
                       lambda v: jnp.power(v, 3), lambda v: jnp.exp2(v), jnp.sqrt, lambda v: 1 / v, jnp.ceil, lambda v: jnp.minimum(v, 2)])(x)
  wide = [lambda v: v * 3, lambda v: v + v, lambda v: v - 1]
  bits = [lambda v: v & 3, lambda v: v | 1, lambda v: v ^ v, lambda v: ~v]
  shifts = [lambda v: v << 1, lambda v: v >> 2]
  others = [lambda v: jnp.maximum(v, 1), lambda v: jnp.where(v > 1, v, v & 1), lambda v: v // 3, lambda v: v % 4, lambda v: (v == 2)]
  casts = [lambda v: v.astype(jnp.float32), lambda v: v.astype(jnp.int32), lambda v: v.astype(jnp.bfloat16)]
  return rng.choice(wide + bits + shifts + others + casts + casts)(x)


def moving(rng, x):
  """One op that moves elements or adds them up."""
  n = x.ndim
  axis = rng.randrange(n)
  choice = rng.randrange(11)
  number = x.dtype in (jnp.float32, jnp.bfloat16, jnp.int32)
  if choice == 0 and number:
    return x - jnp.max(x, axis=axis, keepdims=True)
  if choice == 1 and number:
    return jnp.sum(x, axis=axis, keepdims=True)
  if choice == 2 and n > 1:
    return jnp.swapaxes(x, -1, -2)
  if choice == 3:
    return jnp.concatenate([x, x], axis)
  if choice == 4 and x.dtype != jnp.bool_:
    return pltpu.roll(x, rng.choice([1, 3, 8]), axis)
  if choice == 5:
    return x.reshape(x.shape[:-2] + (-1,)) if n > 2 else x[None]
  if choice == 6:
    size = max(1, x.shape[axis] // 2)
    return lax.slice_in_dim(x, 0, size, axis=axis)
  if choice == 7:
    return jnp.where(lax.broadcasted_iota(jnp.int32, x.shape, axis) < 3, x, jnp.zeros_like(x))
  if choice == 8:
    return jnp.broadcast_to(lax.slice_in_dim(x, 0, 1, axis=axis), x.shape)
  if choice == 9 and number:
    return jnp.sum(x, axis=axis) if n > 1 else x
  if choice == 10:
    return jnp.repeat(x, 2, axis)
  return x


def chain(rng):
  dtype, shape = rng.choice(["f32", "f32", "bf16", "bf16", "i32", "i8", "u8", "i16", "f8e4", "b1", "u32", "i4"]), rng.choice(SHAPES)
  seed, length, move = rng.random(), rng.randrange(2, 7), rng.choice([0.2, 0.5])

  def compute(x):
    import random
    draw = random.Random(seed)
    for _ in range(length):
      x = (moving if draw.random() < move else elementwise)(draw, x)
      if x.size > 1 << 19:
        break
    return x

  out = jax.eval_shape(compute, struct(shape, dtype))
  if not out.shape:
    raise ValueError("a scalar")

  def body(x, o):
    o[...] = compute(x[...])
  return f"{dtype}{shape} {length} ops", whole(body, out, struct(shape, dtype))


def reduction(rng):
  dtype = rng.choice(["f32", "bf16", "i32", "i16", "i8", "f8e4", "u32", "b1"])
  shape = rng.choice(SHAPES[:-1])
  what = rng.choice(["sum", "max", "min", "argmax", "argmin", "any", "all", "prod", "mean", "logsumexp"])
  axes = tuple(sorted(rng.sample(range(len(shape)), rng.randrange(1, len(shape) + 1))))
  keep = flip(rng)
  if what in ("argmax", "argmin"):
    compute = lambda x: getattr(jnp, what)(x, axis=axes[0], keepdims=keep)
  elif what in ("any", "all"):
    compute = lambda x: getattr(jnp, what)(x != 0 if x.dtype != jnp.bool_ else x, axis=axes, keepdims=keep).astype(jnp.int32)
  elif what == "logsumexp":
    compute = lambda x: jax.scipy.special.logsumexp(x, axis=axes, keepdims=keep)
  else:
    compute = lambda x: getattr(jnp, what)(x, axis=axes, keepdims=keep).astype(x.dtype)
  out = jax.eval_shape(compute, struct(shape, dtype))
  if not out.shape:
    keep = True
    out = jax.eval_shape(compute, struct(shape, dtype))

  def body(x, o):
    o[...] = compute(x[...])
  return f"{what} {dtype}{shape} over {axes} keep {keep}", whole(body, out, struct(shape, dtype))


def reshape(rng):
  dtype = rng.choice(["f32", "bf16", "i8", "i16", "b1", "i4"])
  dims = rng.choice([[2, 4, 8, 128], [8, 4, 32], [16, 256], [3, 8, 128], [64, 1], [1, 384], [7, 128], [2, 16, 64], [4, 512], [6, 100], [32, 2, 128], [1024], [16, 1, 128],
                     [2, 2, 8, 256], [12, 64], [8, 1280], [96, 128], [5, 2, 256]])
  size = 1
  for d in dims:
    size *= d
  target, left = [], size
  for _ in range(rng.randrange(0, 3)):
    divisors = [d for d in (1, 2, 3, 4, 5, 7, 8, 12, 16, 32) if left % d == 0]
    target.append(rng.choice(divisors))
    left //= target[-1]
  target.append(left)

  def body(x, o):
    o[...] = x[...].reshape(target)
  return f"reshape {dtype}{dims}->{target}", whole(body, struct(target, dtype), struct(dims, dtype))


def transpose(rng):
  dtype = rng.choice(["f32", "bf16", "i8", "i32", "b1", "f8e4", "u16"])
  shape = rng.choice([(16, 128), (128, 256), (4, 16, 128), (2, 3, 16, 128), (8, 100), (3, 33, 64), (2, 64, 64), (5, 7), (32, 32, 32), (1, 128), (256, 8)])
  perm = list(range(len(shape)))
  while perm == sorted(perm):
    rng.shuffle(perm)

  def body(x, o):
    o[...] = jnp.transpose(x[...], perm)
  return f"perm {dtype}{shape} {perm}", whole(body, struct([shape[p] for p in perm], dtype), struct(shape, dtype))


def cast(rng):
  a, b = rng.sample(list(TYPES), 2)
  shape = rng.choice([(8, 128), (33, 100), (4, 8, 128), (512,), (16, 256), (1, 128), (2, 2, 16, 128), (128, 1)])
  after = flip(rng, 0.3)

  def body(x, o):
    v = x[...].astype(TYPES[b])
    o[...] = (v.T if after and v.ndim == 2 else v)
  out = struct(shape[::-1] if after and len(shape) == 2 else shape, b)
  return f"{a}->{b} {shape} {'T' if after else ''}", whole(body, out, struct(shape, a))


def product(rng):
  pairs = [("f32", "f32"), ("bf16", "bf16"), ("i8", "i8"), ("f8e4", "f8e4"), ("f8e5", "f8e4"), ("bf16", "f32"), ("bf16", "i8"), ("i4", "i4"), ("f32", "i8"), ("i8", "i4"),
           ("f8e4", "bf16"), ("i16", "i16"), ("f8e5", "f32")]
  a, b = rng.choice(pairs)
  m, k, n, g = rng.choice([8, 16, 100, 128, 256]), rng.choice([64, 128, 200, 256, 512]), rng.choice([1, 64, 128, 200, 256]), rng.choice([0, 0, 2, 4])
  lt, rt = flip(rng, 0.3), flip(rng, 0.4)
  lhs, rhs = ([k, m] if lt else [m, k]), ([n, k] if rt else [k, n])
  batch = [g] if g else []
  off = len(batch)
  dims = (((off + (0 if lt else 1),), (off + (1 if rt else 0),)), (tuple(range(off)), tuple(range(off))))
  result = rng.choice(["i32", "i32", "f32"]) if a in ("i8", "i4", "i16") else rng.choice(["f32", "f32", "f32", "bf16"])
  precision = rng.choice([None, None, None, lax.Precision.HIGHEST, lax.Precision.DEFAULT])

  def body(x, y, o):
    o[...] = lax.dot_general(x[...], y[...], dims, precision=precision, preferred_element_type=TYPES[result])
  return (f"{a}{lhs} {b}{rhs} batch {g} -> {result} {precision}",
          whole(body, struct(batch + [m, n], result), struct(batch + lhs, a), struct(batch + rhs, b)))


def gather(rng):
  dtype, index = rng.choice(["f32", "i32", "bf16", "i8", "u32"]), rng.choice(["i32", "i32", "i32", "i8", "i16"])
  shape = rng.choice([(8, 128), (16, 128), (8, 256), (1, 128), (8, 64), (4, 100), (32, 128), (2, 8, 128)])
  axis = rng.randrange(len(shape))
  ishape = list(shape)
  if flip(rng, 0.4):
    ishape[axis] = rng.choice([8, 16, 128, 256])

  def body(x, i, o):
    o[...] = jnp.take_along_axis(x[...], i[...], axis=axis)
  return f"{dtype}{shape} by {index}{ishape} axis {axis}", whole(body, struct(ishape, dtype), struct(shape, dtype), struct(ishape, index))


def join(rng):
  dtype, axis = rng.choice(["f32", "bf16", "i8", "b1", "i16", "i4"]), rng.randrange(3)
  base = [rng.choice([1, 2, 4]), rng.choice([1, 8, 16, 20, 32]), rng.choice([64, 100, 128, 256])]
  sizes = [rng.choice([1, 4, 8, 12, 28, 64, 128]) for _ in range(rng.randrange(2, 4))]
  shapes = [base[:axis] + [s] + base[axis + 1:] for s in sizes]
  if axis and flip(rng, 0.6):
    shapes = [s[1:] for s in shapes]
    axis -= 1
  out = list(shapes[0])
  out[axis] = sum(sizes)

  def body(*refs):
    refs[-1][...] = jnp.concatenate([r[...] for r in refs[:-1]], axis)
  return f"{dtype}{shapes} axis {axis}", whole(body, struct(out, dtype), *[struct(s, dtype) for s in shapes])


FAMILIES = dict(chain=(chain, 120), reduction=(reduction, 60), reshape=(reshape, 60), transpose=(transpose, 30), cast=(cast, 40),
                product=(product, 70), gather=(gather, 25), join=(join, 30))
