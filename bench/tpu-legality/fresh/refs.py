"""Bodies that address refs: dynamic and strided loads and stores, manual copies, blocks of windows, scalars."""

from common import *

INDICES = {
    "i": lambda i, s: i, "i*8": lambda i, s: i * 8, "i*32": lambda i, s: i * 32, "multiple_of(i*5,8)": lambda i, s: pl.multiple_of(i * 5, 8),
    "multiple_of(s,16)": lambda i, s: pl.multiple_of(s[i], 16), "s*32": lambda i, s: s[i] * 32, "s": lambda i, s: s[i],
    "(i+1)*16": lambda i, s: (i + 1) * 16, "i*64//2": lambda i, s: i * 64 // 2, "i*64%96": lambda i, s: i * 64 % 96,
    "where": lambda i, s: jnp.where(s[i] > 0, i * 32, 64), "max(i*32,32)": lambda i, s: jnp.maximum(i * 32, 32),
    "min(i*8,s*8)": lambda i, s: jnp.minimum(i * 8, s[i] * 8), "i<<5": lambda i, s: i << 5, "64-i*32": lambda i, s: 64 - i * 32,
    "32": lambda i, s: 32, "3": lambda i, s: 3, "i*8+s*32": lambda i, s: i * 8 + s[i] * 32, "lax.div": lambda i, s: lax.div(i, jnp.int32(2)) * 32,
    "rem": lambda i, s: lax.rem(i, jnp.int32(2)) * 64, "cond": lambda i, s: lax.cond(s[0] > 1, lambda: i * 32, lambda: i * 64), "clip": lambda i, s: jnp.clip(i * 32, 0, 64),
    "i*i*8": lambda i, s: i * i * 8, "s&-32": lambda i, s: s[i] & -32, "multiple_of(i,128)": lambda i, s: pl.multiple_of(i, 128),
    "multiple_of(multiple_of(i,8),4)": lambda i, s: pl.multiple_of(pl.multiple_of(i, 8), 4), "f2i": lambda i, s: (i.astype(jnp.float32) * 32).astype(jnp.int32),
}


def prefetched(body, array, out, dtype, scratch=(), in_space=None):
  spec = pl.BlockSpec(memory_space=in_space) if in_space else pl.BlockSpec(array, lambda i, s: (0,) * len(array))
  grid = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(4,), in_specs=[spec],
                                      out_specs=pl.BlockSpec(out, lambda i, s: (0,) * len(out)), scratch_shapes=scratch)
  call = pl.pallas_call(body, out_shape=struct(out, dtype), grid_spec=grid)
  return call, (struct((4,), "i32"), struct(array, dtype))


def window(rng, body_of, what, in_space=None, scratch=None):
  dtype = rng.choice(["f32", "bf16", "i8", "i16", "f8e4", "b1", "i4", "i32"])
  array = rng.choice([(128, 128), (128, 256), (96, 512), (64, 100), (4, 64, 128), (3, 64, 256), (2, 2, 64, 128), (1024,), (4096,)])
  name = rng.choice(list(INDICES))
  lanes = flip(rng, 0.25) and len(array) > 1
  axis = len(array) - 1 if lanes or len(array) == 1 else len(array) - 2
  if len(array) > 2 and flip(rng, 0.25):
    axis = len(array) - 3
  size = rng.choice([1, 2, 4, 8, 16, 24, 32, 64, 128] if axis < len(array) - 1 else [1, 64, 128, 128, 256, 512])
  size = min(size, array[axis])
  out = list(array)
  out[axis] = size
  call, args = body_of(array, tuple(out), dtype, axis, size, INDICES[name])
  return f"{what} {dtype}{array} axis {axis} ds({name},{size})", (call, args)


def at(array, axis, start, size):
  return tuple(pl.ds(start, size) if d == axis else slice(None) for d in range(len(array)))


def load(rng):
  def make(array, out, dtype, axis, size, index):
    def body(s, x, o):
      o[...] = x[at(array, axis, index(pl.program_id(0), s), size)]
    return prefetched(body, array, out, dtype)
  return window(rng, make, "load")


def store(rng):
  def make(array, out, dtype, axis, size, index):
    def body(s, x, o):
      o[at(array, axis, index(pl.program_id(0), s), size)] = x[at(array, axis, 0, size)]
    return prefetched(body, array, array, dtype)
  return window(rng, make, "store")


def loop(rng):
  """An index from a counter of a loop."""
  def make(array, out, dtype, axis, size, index):
    unroll = rng.choice([1, 1, 2, True])

    def body(s, x, o):
      def step(i, c):
        o[at(array, axis, index(i, s), size)] = x[at(array, axis, index(i, s), size)]
        return c
      lax.fori_loop(0, 4, step, 0, unroll=unroll)
    return prefetched(body, array, array, dtype)
  return window(rng, make, "loop")


def copy(rng):
  def make(array, out, dtype, axis, size, index):
    back = flip(rng, 0.3)

    def body(s, x, o, buffer, sem):
      if back:
        copy = pltpu.make_async_copy(x.at[at(array, axis, index(pl.program_id(0), s), size)], buffer, sem.at[0])
      else:
        copy = pltpu.make_async_copy(x.at[at(array, axis, index(pl.program_id(0), s), size)], buffer, sem.at[0])
      copy.start()
      copy.wait()
      o[...] = buffer[...]
    return prefetched(body, array, out, dtype, [pltpu.VMEM(out, TYPES[dtype]), pltpu.SemaphoreType.DMA((2,))], in_space=ANY)
  return window(rng, make, "copy")


def copy_into(rng):
  """From HBM into a part of a scratch."""
  dtype = rng.choice(["f32", "bf16", "i8", "b1", "i4", "i32"])
  rows, lanes = rng.choice([16, 32, 64, 96]), rng.choice([128, 256, 384])
  size, start = rng.choice([1, 2, 4, 8, 16, 24, 32]), rng.choice([0, 1, 2, 4, 8, 12, 16, 32])
  dynamic = flip(rng)
  slots = flip(rng)

  def body(x, o, buffer, sem):
    i = pl.program_id(0)
    first = i * start if dynamic else start
    view = buffer.at[lax.rem(i, jnp.int32(2))] if slots else buffer
    copy = pltpu.make_async_copy(x, view.at[pl.ds(first, size), :], sem)
    copy.start()
    copy.wait()
    o[...] = view[...]
  shape = ((2,) if slots else ()) + (rows, lanes)
  call = pl.pallas_call(body, out_shape=struct((rows, lanes), dtype), grid=(2,), in_specs=[pl.BlockSpec(memory_space=ANY)],
                        out_specs=pl.BlockSpec((rows, lanes), lambda i: (0, 0)),
                        scratch_shapes=[pltpu.VMEM(shape, TYPES[dtype]), pltpu.SemaphoreType.DMA])
  return f"{dtype}({size},{lanes}) into ({rows},{lanes}) at {start}{' dynamic' if dynamic else ''} slots {slots}", (call, (struct((size, lanes), dtype),))


def strided(rng):
  dtype = rng.choice(["f32", "f32", "i32", "bf16", "i8"])
  lanes, rows = rng.choice([128, 128, 64, 256, 100]), rng.choice([32, 64, 128])
  stride, start, on = rng.choice([2, 3, 4, 8]), rng.choice([0, 1, 3, "dynamic"]), rng.choice(["load", "load", "store", "3d", "lanes"])
  size = 8 if on != "lanes" else 16

  def body(x, o):
    first = pl.program_id(0) if start == "dynamic" else start
    if on == "3d":
      o[...] = x[:, pl.ds(first, size, stride), :]
    elif on == "load":
      o[...] = x[pl.ds(first, size, stride), :]
    elif on == "store":
      o[pl.ds(first, size, stride), :] = x[0:size, :]
    else:
      o[...] = x[:, pl.ds(first, size, stride)]
  array = (2, rows, lanes) if on == "3d" else (rows, lanes)
  out = {"3d": (2, size, lanes), "load": (size, lanes), "store": array, "lanes": (rows, size)}[on]
  call = pl.pallas_call(body, out_shape=struct(out, dtype), grid=(2,), in_specs=[pl.BlockSpec(array, lambda i: (0,) * len(array))],
                        out_specs=pl.BlockSpec(out, lambda i: (0,) * len(out)))
  return f"{on} {dtype}{array} start {start} stride {stride}", (call, (struct(array, dtype),))


def block(rng):
  dtype, rank = rng.choice(["f32", "bf16", "i8", "i4", "b1", "f8e4", "u16"]), rng.choice([1, 2, 3, 3, 4])
  array = [rng.choice([2, 4, 6]) for _ in range(max(0, rank - 2))] + [rng.choice([16, 24, 64, 100, 256]) for _ in range(min(rank, 2) - 1)] + [rng.choice([100, 128, 256, 384, 1024, 1000])]
  size, kept = [], []
  for d, n in enumerate(array):
    lead = d < rank - 2
    c = rng.choice([1, 2, None, n] if lead else [n, n, 8, 16, 32, 4, 12, 24] if d == rank - 2 else [n, 128, 128, 256, 64, 512, 1536])
    size.append(min(c, n) if c else None)
  spec = pl.BlockSpec(tuple(size), lambda *g: tuple(g))
  grid = tuple(pl.cdiv(n, s or 1) for n, s in zip(array, size))

  def body(x, o):
    o[...] = x[...]
  call = pl.pallas_call(body, out_shape=struct(array, dtype), grid=grid, in_specs=[spec], out_specs=spec)
  return f"{dtype}{array} block {size}", (call, (struct(array, dtype),))


def element(rng):
  dtype = rng.choice(["f32", "bf16", "i8"])
  rows, start = rng.choice([8, 16, 24, 32]), rng.choice(list(INDICES))
  if "s" in start or start in ("where", "cond"):
    start = "i*32"
  lanes = rng.choice([128, 256])

  def body(x, o):
    o[...] = x[...]
  call = pl.pallas_call(body, out_shape=struct((4, rows, lanes), dtype), grid=(4,),
                        in_specs=[pl.BlockSpec((pl.Element(rows), pl.Element(lanes)), lambda i: (INDICES[start](i, None), 0))],
                        out_specs=pl.BlockSpec((None, rows, lanes), lambda i: (i, 0, 0)))
  return f"{dtype} Element({rows}) at {start}", (call, (struct((128, lanes), dtype),))


def scalars(rng):
  dtype = rng.choice(["i32", "f32", "u32", "i16", "i8", "bf16", "u8", "b1", "f8e4"])
  ops = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b, "max": jnp.maximum, "div": lambda a, b: a / b if jnp.issubdtype(a.dtype, jnp.floating) else a // b,
         "rem": lambda a, b: a % b, "select": lambda a, b: jnp.where(a > b, a, b), "copy": lambda a, b: a, "shift": lambda a, b: a << 2, "and": lambda a, b: a & b,
         "exp": lambda a, b: jnp.exp(a), "i32": lambda a, b: a.astype(jnp.int32), "f32": lambda a, b: a.astype(jnp.float32), "sqrt": lambda a, b: jnp.sqrt(a),
         "abs": lambda a, b: jnp.abs(a), "neg": lambda a, b: -a, "popcount": lambda a, b: lax.population_count(a), "clz": lambda a, b: lax.clz(a), "floor": lambda a, b: jnp.floor(a)}
  what, to = rng.choice(list(ops)), rng.choice(["smem", "splat"])
  result = jax.eval_shape(ops[what], struct((), dtype), struct((), dtype))

  def body(s, o):
    v = ops[what](s[1], s[2])
    if to == "smem":
      o[0] = v
    else:
      o[...] = jnp.full(o.shape, v)
  out = jax.ShapeDtypeStruct((4,) if to == "smem" else (8, 128), result.dtype)
  call = pl.pallas_call(body, out_shape=out, in_specs=[pl.BlockSpec(memory_space=SMEM)],
                        out_specs=pl.BlockSpec(memory_space=SMEM if to == "smem" else VMEM))
  return f"{what} {dtype} to {to}", (call, (struct((8,), dtype),))


def extract(rng):
  """A scalar of a vector in VMEM."""
  dtype = rng.choice(["f32", "i32", "bf16", "i8", "u32"])
  where = rng.choice(["x[0,0]", "x[i,0]", "x[i,5]", "x[0,i]", "sum", "max", "value[3,4]"])

  def body(x, o):
    i = pl.program_id(0)
    v = {"x[0,0]": lambda: x[0, 0], "x[i,0]": lambda: x[i, 0], "x[i,5]": lambda: x[i, 5], "x[0,i]": lambda: x[0, i], "sum": lambda: jnp.sum(x[...]),
         "max": lambda: jnp.max(x[...]), "value[3,4]": lambda: x[...][3, 4]}[where]()
    o[0] = v
  call = pl.pallas_call(body, out_shape=struct((4,), dtype), grid=(2,), in_specs=[pl.BlockSpec((16, 128), lambda i: (0, 0))],
                        out_specs=pl.BlockSpec(memory_space=SMEM))
  return f"{dtype} {where}", (call, (struct((16, 128), dtype),))


FAMILIES = dict(load=(load, 90), store=(store, 60), loop=(loop, 50), copy=(copy, 90), copy_into=(copy_into, 50), strided=(strided, 30),
                block=(block, 60), element=(element, 15), scalars=(scalars, 50), extract=(extract, 15))
