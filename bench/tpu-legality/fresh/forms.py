"""Kernels that the other families leave out: pipelines inside kernels, scratch and views of it, masks, bits, several windows, libraries' idioms."""

from common import *


def pipeline(rng):
  """emit_pipeline over arrays in HBM."""
  dtype, rows, lanes = rng.choice(["f32", "bf16", "i32", "i8", "i16"]), rng.choice([8, 16, 24, 32, 64, 128, 12]), rng.choice([128, 256, 512, 100])
  steps, what = rng.choice([1, 4, 8]), rng.choice(["copy", "double", "sum", "matmul", "two", "accumulate", "buffered", "nested"])

  def inner(x, o):
    o[...] = x[...] if what in ("copy", "buffered") else x[...] | x[...] if dtype == "i8" else x[...] + x[...]

  block = pl.BlockSpec((rows, lanes), lambda i: (i, 0))
  if what == "matmul":
    m, k, n = rng.choice([128, 256, 512]), rng.choice([128, 256, 512]), rng.choice([128, 256])
    dtype = rng.choice(["f32", "bf16"])

    def body(x, y, o, acc):
      def step(a, b, c):
        j = pl.program_id(2)

        @pl.when(j == 0)
        def _():
          acc[...] = jnp.zeros_like(acc)
        acc[...] += jnp.dot(a[...], b[...], preferred_element_type=jnp.float32)

        @pl.when(j == 1)
        def _():
          c[...] = acc[...].astype(c.dtype)
      pltpu.emit_pipeline(step, grid=(2, 2, 2), in_specs=[pl.BlockSpec((m, k), lambda i, j, l: (i, l)), pl.BlockSpec((k, n), lambda i, j, l: (l, j))],
                          out_specs=[pl.BlockSpec((m, n), lambda i, j, l: (i, j))])(x, y, o)
    args = (struct((2 * m, 2 * k), dtype), struct((2 * k, 2 * n), dtype))
    call = pl.pallas_call(body, out_shape=struct((2 * m, 2 * n), dtype), in_specs=[pl.BlockSpec(memory_space=ANY)] * 2,
                          out_specs=pl.BlockSpec(memory_space=ANY), scratch_shapes=[pltpu.VMEM((m, n), jnp.float32)])
    return f"matmul {m}x{k}x{n} {dtype}", (call, args)
  if what == "sum":
    def body(x, o):
      o[...] = jnp.zeros_like(o)

      def step(a):
        o[...] += a[...] if dtype not in ("i8",) else a[...] & a[...]
      pltpu.emit_pipeline(step, grid=(steps,), in_specs=[block])(x)
    call = pl.pallas_call(body, out_shape=struct((rows, lanes), dtype), in_specs=[pl.BlockSpec(memory_space=ANY)])
    return f"sum {dtype}({rows},{lanes})x{steps}", (call, (struct((rows * steps, lanes), dtype),))
  if what == "buffered":
    block = pl.BlockSpec((rows, lanes), lambda i: (i, 0), pipeline_mode=pl.Buffered(rng.choice([2, 3, 4])))
  outer = rng.choice([1, 2])

  def body(x, o):
    if what == "nested":
      def each(i, c):
        part = pl.ds(i * rows * steps, rows * steps)
        pltpu.emit_pipeline(inner, grid=(steps,), in_specs=[block], out_specs=[block])(x.at[part], o.at[part])
        return c
      lax.fori_loop(0, outer, each, 0)
    elif what == "two":
      pltpu.emit_pipeline(inner, grid=(steps,), in_specs=[block], out_specs=[block])(x, o)
      pltpu.emit_pipeline(inner, grid=(steps,), in_specs=[block], out_specs=[block])(o, o)
    else:
      pltpu.emit_pipeline(inner, grid=(steps,), in_specs=[block], out_specs=[block])(x, o)
  shape = (rows * steps * (outer if what == "nested" else 1), lanes)
  call = pl.pallas_call(body, out_shape=struct(shape, dtype), in_specs=[pl.BlockSpec(memory_space=ANY)], out_specs=pl.BlockSpec(memory_space=ANY))
  return f"{what} {dtype}({rows},{lanes})x{steps}", (call, (struct(shape, dtype),))


def view(rng):
  """Reshaped, bitcast and chained views of refs."""
  dtype = rng.choice(["f32", "bf16", "i8", "i32", "i16", "i4"])
  shape = rng.choice([(16, 128), (64, 128), (32, 256), (2, 16, 128), (4, 8, 256), (3, 64, 128), (128, 128), (2, 32, 512)])
  what = rng.choice(["reshape", "reshape", "bitcast", "chain", "at then ds", "squeeze", "scratch reshape", "static odd", "dynamic view"])
  to = None
  if what.endswith("reshape"):
    size = 1
    for d in shape:
      size *= d
    lanes = rng.choice([shape[-1], shape[-1], 128, 256, 512])
    lead = rng.choice([(), (2,), (4,), (8,), (2, 2)])
    rest = size // lanes
    for d in lead:
      rest //= d
    to = lead + (rest, lanes)
    if rest < 1:
      raise ValueError
  wide = rng.choice(["i32", "u32", "bf16", "i8"])
  k = rng.choice([0, 1, 4, 8, 16])

  def body(s, x, o, *scratch):
    i = pl.program_id(0)
    if what == "reshape":
      o[...] = x.reshape(to)[...]
    elif what == "scratch reshape":
      scratch[0][...] = x[...]
      o[...] = scratch[0].reshape(to)[...]
    elif what == "bitcast":
      o[...] = x.bitcast(TYPES[wide])[...]
    elif what == "chain":
      o[...] = x.at[..., pl.ds(0, 128)].at[..., pl.ds(k, 8), :][...]
    elif what == "at then ds":
      o[...] = x.at[..., pl.ds(i * 8, 8), :][...]
    elif what == "squeeze":
      o[...] = x[(i,) + (slice(None),) * (len(shape) - 1)]
    elif what == "static odd":
      o[...] = x[..., k:k + 5, :]
    else:
      o[...] = x.at[..., pl.ds(pl.multiple_of(s[i], 8), 8), :][..., pl.ds(0, 8), :]
  out = {"reshape": to, "scratch reshape": to, "squeeze": shape[1:], "static odd": shape[:-2] + (5, shape[-1]), "chain": shape[:-2] + (8, 128)}.get(what, shape[:-2] + (8, shape[-1]))
  result = dtype
  if what == "bitcast":
    a, b = jnp.dtype(TYPES[dtype]).itemsize, jnp.dtype(TYPES[wide]).itemsize
    out, result = shape[:-2] + (shape[-2] * a // b, shape[-1]), wide
  grid = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(2,), in_specs=[pl.BlockSpec(shape, lambda i, s: (0,) * len(shape))],
                                      out_specs=pl.BlockSpec(out, lambda i, s: (0,) * len(out)),
                                      scratch_shapes=[pltpu.VMEM(shape, TYPES[dtype])] if what == "scratch reshape" else [])
  return f"{what} {dtype}{shape} -> {result}{out} {k}", (pl.pallas_call(body, out_shape=struct(out, result), grid_spec=grid), (struct((4,), "i32"), struct(shape, dtype)))


def mask(rng):
  """Bools made by comparisons, joined, reduced, cast, selected by, kept."""
  dtype, shape = rng.choice(["f32", "bf16", "i32", "i16", "i8", "u8"]), rng.choice([(8, 128), (32, 256), (64, 128), (20, 100), (2, 16, 128), (256,), (1, 128), (40, 1)])
  what = rng.choice(["and or", "not", "select mask", "any lanes", "all rows", "to type", "store", "count", "xor chain", "row mask", "lane mask", "broadcast row", "broadcast col",
                     "transposed", "sliced", "mixed width", "concat", "reshaped", "scratch", "scalar or", "where bool"])

  def compute(x, y):
    m = x > y if dtype != "u8" else x == y
    n = x == 1
    axis = len(shape) - 1
    if what == "and or":
      return jnp.where((m & n) | ~m, x, y)
    if what == "not":
      return jnp.where(~m, x, y)
    if what == "select mask":
      return jnp.where(jnp.where(n, m, n), x, y)
    if what == "any lanes":
      return jnp.where(jnp.any(m, axis, keepdims=True), x, y)
    if what == "all rows":
      return jnp.where(jnp.all(m, 0, keepdims=True), x, y)
    if what == "to type":
      return m.astype(x.dtype)
    if what == "store":
      return m
    if what == "count":
      return jnp.sum(m.astype(jnp.int32), axis, keepdims=True)
    if what == "xor chain":
      return (m ^ n ^ (y == 2)).astype(jnp.float32)
    if what == "row mask":
      return jnp.where((lax.broadcasted_iota(jnp.int32, shape, 0) < 5) & m, x, y)
    if what == "lane mask":
      return jnp.where((lax.broadcasted_iota(jnp.int32, shape, axis) < 5) & m, x, y)
    if what == "broadcast row":
      return jnp.where(jnp.broadcast_to(lax.slice_in_dim(m, 0, 1, axis=0), shape), x, y)
    if what == "broadcast col":
      return jnp.where(jnp.broadcast_to(lax.slice_in_dim(m, 0, 1, axis=axis), shape), x, y)
    if what == "transposed":
      return jnp.where(jnp.swapaxes(m, -1, -2), jnp.swapaxes(x, -1, -2), 0)
    if what == "sliced":
      return jnp.where(lax.slice_in_dim(m, 0, max(1, shape[0] // 2), axis=0), lax.slice_in_dim(x, 0, max(1, shape[0] // 2), axis=0), 0)
    if what == "mixed width":
      return jnp.where(m & (y.astype(jnp.float32) > 2), x.astype(jnp.float32), y.astype(jnp.float32))
    if what == "concat":
      return jnp.concatenate([m, n], 0)
    if what == "reshaped":
      return jnp.where(m.reshape((1,) + shape), x.reshape((1,) + shape), 0)
    if what == "scalar or":
      return jnp.where(m | (jnp.max(y.astype(jnp.float32)) > 3), x, y)
    if what == "where bool":
      return jnp.where(m, n, y == 2)
    return m
  out = jax.eval_shape(compute, struct(shape, dtype), struct(shape, dtype))

  def body(x, y, o, *scratch):
    if what == "scratch":
      scratch[0][...] = compute(x[...], y[...])
      o[...] = scratch[0][...]
    else:
      o[...] = compute(x[...], y[...])
  return f"{what} {dtype}{shape}", whole(body, out, struct(shape, dtype), struct(shape, dtype), scratch_shapes=[pltpu.VMEM(shape, jnp.bool_)] if what == "scratch" else [])


def bits(rng):
  """Bitcasts, packed halves, random bits."""
  dtype, to = rng.sample(["f32", "i32", "u32", "bf16", "i16", "u16", "i8", "u8", "f8e4"], 2)
  shape = rng.choice([(8, 128), (16, 128), (32, 256), (64, 128), (2, 32, 128), (24, 100)])
  what = rng.choice(["bitcast", "bitcast", "convert", "convert", "pack", "unpack", "round", "random", "uniform", "nibbles"])

  def compute(x):
    if what == "bitcast":
      return pltpu.bitcast(x, TYPES[to])
    if what == "convert":
      return lax.bitcast_convert_type(x, TYPES[to])
    if what == "pack":
      return pltpu.pack_elementwise([x.astype(jnp.float32), x.astype(jnp.float32)], packed_dtype=jnp.bfloat16)
    if what == "unpack":
      return pltpu.unpack_elementwise(x.astype(jnp.uint32) if not jnp.issubdtype(x.dtype, jnp.floating) else lax.bitcast_convert_type(x.astype(jnp.float32), jnp.uint32), index=1, packed_dtype=jnp.bfloat16, unpacked_dtype=jnp.float32)
    if what == "round":
      return pltpu.stochastic_round(x.astype(jnp.float32), lax.bitcast_convert_type(x.astype(jnp.float32), jnp.uint32), target_dtype=jnp.bfloat16)
    if what == "random":
      pltpu.prng_seed(3)
      return pltpu.prng_random_bits(x.shape)
    if what == "uniform":
      pltpu.prng_seed(3, 4)
      b = pltpu.bitcast(pltpu.prng_random_bits(x.shape), jnp.uint32)
      return lax.bitcast_convert_type((b >> 9) | jnp.uint32(0x3F800000), jnp.float32) - 1
    low = (x.astype(jnp.int32) << 28) >> 28
    return jnp.concatenate([low, x.astype(jnp.int32) >> 4], 0).astype(jnp.float32)
  result = None

  def body(x, o):
    o[...] = compute(x[...])
  if what in ("bitcast",):
    a, b = jnp.dtype(TYPES[dtype]).itemsize, jnp.dtype(TYPES[to]).itemsize
    result = struct(shape[:-2] + (shape[-2] * a // b, shape[-1]), to)
  elif what == "random":
    result = struct(shape, "i32")
  elif what == "uniform":
    result = struct(shape, "f32")
  elif what == "pack":
    result = struct(shape, "u32")
  elif what == "unpack":
    result = struct(shape, "f32")
  elif what == "round":
    result = struct(shape, "bf16")
  else:
    result = jax.eval_shape(compute, struct(shape, dtype))
  return f"{what} {dtype}{shape} {to}", whole(body, result, struct(shape, dtype))


def windows(rng):
  """Several windows: squeezed, whole, broadcast, in SMEM, aliased, with their own buffers; several results."""
  dtype, other = rng.choice(["f32", "bf16", "i32"]), rng.choice(["f32", "bf16", "i8", "i32"])
  rows, lanes = rng.choice([8, 16, 32, 64, 128, 256, 512]), rng.choice([128, 256, 512, 1024])
  kinds = rng.sample(["squeezed", "row", "column", "whole", "smem", "buffered", "once"], rng.randrange(1, 4))
  alias, results, dynamic = flip(rng, 0.3), rng.choice([1, 1, 2, 3]), flip(rng, 0.2)
  steps = rng.choice([2, 4])
  main = pl.BlockSpec((rows, lanes), lambda i, *_: (i, 0))
  specs, args = [main], [struct((rows * steps, lanes), dtype)]
  for k in kinds:
    spec, shape = {"squeezed": (pl.BlockSpec((None, rows, lanes), lambda i, *_: (i, 0, 0)), (steps, rows, lanes)),
                   "row": (pl.BlockSpec((1, lanes), lambda i, *_: (0, 0)), (1, lanes)),
                   "column": (pl.BlockSpec((rows, 1), lambda i, *_: (i, 0)), (rows * steps, 1)),
                   "whole": (pl.BlockSpec((rows, lanes), lambda i, *_: (0, 0)), (rows, lanes)),
                   "smem": (pl.BlockSpec(memory_space=SMEM), (8,)),
                   "buffered": (pl.BlockSpec((rows, lanes), lambda i, *_: (i, 0), pipeline_mode=pl.Buffered(1)), (rows * steps, lanes)),
                   "once": (pl.BlockSpec((rows, lanes), lambda i, *_: (i // 2, 0)), (rows * steps, lanes))}[k]
    specs.append(spec)
    args.append(struct(shape, "i32" if k == "smem" else other))

  def body(*refs):
    x, rest, outs = refs[0], refs[1:len(specs)], refs[len(specs):]
    v = x[...].astype(jnp.float32)
    for k, r in zip(kinds, rest):
      v = v * r[pl.program_id(0)].astype(jnp.float32) if k == "smem" else v + r[...].astype(jnp.float32)
    outs[0][...] = v.astype(outs[0].dtype)
    if len(outs) > 1:
      outs[1][...] = jnp.sum(v, 1, keepdims=True)
    if len(outs) > 2:
      outs[2][...] = jnp.broadcast_to(jnp.max(v, 0, keepdims=True), outs[2].shape)
  out_shapes = [struct((rows * steps, lanes), dtype), struct((rows * steps, 1), "f32"), struct((8 * steps, lanes), "f32")][:results]
  out_specs = [main, pl.BlockSpec((rows, 1), lambda i, *_: (i, 0)), pl.BlockSpec((8, lanes), lambda i, *_: (i, 0))][:results]
  options = dict(input_output_aliases={0: 0}) if alias else {}
  call = pl.pallas_call(body, out_shape=out_shapes, grid=(steps,), in_specs=specs, out_specs=out_specs, **options)
  return f"{dtype},{other}({rows},{lanes}) {kinds} alias {alias} results {results}", (call, tuple(args))


def scoped(rng):
  """run_scoped, arrays of semaphores, scratch of odd ranks and types."""
  dtype = rng.choice(["f32", "bf16", "i8", "i4", "f8e4", "b1", "i16"])
  shape = rng.choice([(8, 128), (32, 128), (3, 100), (2, 4, 16, 128), (256,), (1024,), (5, 33), (1, 1)])
  what = rng.choice(["run_scoped", "scratch", "two slots", "smem", "copy out", "loop", "swap"])
  if what in ("two slots", "swap"):
    shape = (2,) + shape

  def body(x, o, *scratch):
    def use(buffer, *_):
      buffer[...] = x[...]
      o[...] = buffer[...]
    if what == "run_scoped":
      pl.run_scoped(use, pltpu.VMEM(shape, TYPES[dtype]))
    elif what == "scratch":
      use(scratch[0])
    elif what == "two slots":
      scratch[0][0] = x[1]
      scratch[0][1] = x[0]
      o[...] = scratch[0][...]
    elif what == "swap":
      for k in range(2):
        o[k] = x[1 - k]
    elif what == "smem":
      def one(s):
        s[0] = 5
        o[...] = jnp.where(s[0] > 4, x[...], jnp.zeros_like(x[...]))
      pl.run_scoped(one, pltpu.SMEM((4,), jnp.int32))
    elif what == "copy out":
      def send(buffer, sem):
        buffer[...] = x[...]
        pltpu.sync_copy(buffer, o) if False else pltpu.make_async_copy(buffer, o, sem).start()
        pltpu.make_async_copy(buffer, o, sem).wait()
      pl.run_scoped(send, pltpu.VMEM(shape, TYPES[dtype]), pltpu.SemaphoreType.DMA)
    else:
      def each(i, c):
        pl.run_scoped(use, pltpu.VMEM(shape, TYPES[dtype]))
        return c
      lax.fori_loop(0, 3, each, 0)
  scratch = [pltpu.VMEM(shape, TYPES[dtype])] if what in ("scratch", "two slots") else []
  return f"{what} {dtype}{shape}", whole(body, struct(shape, dtype), struct(shape, dtype), scratch_shapes=scratch)


def spread(rng):
  """Broadcasts, iotas, pads, slices, squeezes, stacks, flips, einsums, where the tile's shape changes."""
  dtype = rng.choice(["f32", "bf16", "i32", "i8", "i16", "u8", "b1"])
  shape = rng.choice([(8, 128), (16, 256), (1, 128), (8, 1), (1, 1), (2, 8, 128), (128,), (4, 1, 128), (24, 100), (33,), (2, 3, 4, 128), (1, 16, 128)])
  what = rng.choice(["new first", "new last", "new middle", "squeeze", "row to rows", "rank up", "pad", "slice", "stack", "tile", "repeat", "einsum", "split", "stride", "swap", "flatten", "rowvec", "colvec", "outer"])
  a, b = rng.choice([0, 1, 2, 8]), rng.choice([0, 1, 3, 8, 128])

  def compute(x):
    if what == "new first":
      return jnp.broadcast_to(x[None], (3,) + x.shape)
    if what == "new last":
      return x[..., None]
    if what == "new middle":
      return x[..., None, :]
    if what == "squeeze":
      return jnp.squeeze(x)
    if what == "row to rows":
      return jnp.broadcast_to(x[..., :1, :], x.shape[:-2] + (16, x.shape[-1]))
    if what == "rank up":
      return jnp.broadcast_to(x, (2,) + x.shape)
    if what == "pad":
      return jnp.pad(x, [(0, a)] * (x.ndim - 1) + [(0, b)])
    if what == "slice":
      return lax.slice(x, [min(a, d - 1) for d in x.shape], x.shape)
    if what == "stack":
      return jnp.stack([x, x], rng_axis % (x.ndim + 1))
    if what == "tile":
      return jnp.tile(x, (1,) * (x.ndim - 1) + (2,))
    if what == "repeat":
      return jnp.repeat(x, 2, axis=rng_axis % x.ndim)
    if what == "einsum":
      return jnp.sum(x.astype(jnp.float32) * 2, axis=rng_axis % x.ndim) if x.ndim > 1 else x
    if what == "split":
      return jnp.split(x, 2, axis=rng_axis % x.ndim)[1]
    if what == "stride":
      return x[..., ::2]
    if what == "swap":
      return jnp.swapaxes(x, 0, -1)
    if what == "flatten":
      return x.reshape(-1)
    if what == "rowvec":
      return x[..., 0, :] if x.ndim > 1 else x
    if what == "colvec":
      return x[..., 0]
    return x[..., :, None].astype(jnp.float32) * x[..., None, :].astype(jnp.float32)
  rng_axis = rng.randrange(4)
  out = jax.eval_shape(compute, struct(shape, dtype))
  if not out.shape or out.size > 1 << 18:
    raise ValueError

  def body(x, o):
    o[...] = compute(x[...])
  return f"{what} {dtype}{shape} {a} {b} {rng_axis}", whole(body, out, struct(shape, dtype))


def quantized(rng):
  """Products whose operands are made narrow or wide in the kernel; scales by row, column or group."""
  m, k, n = rng.choice([16, 128, 256, 512]), rng.choice([128, 256, 512, 1024]), rng.choice([128, 256, 512])
  kind = rng.choice(["w8", "w4", "w8 scale rows", "dynamic", "f8", "group", "i8 out", "w8 batch", "residual"])
  weights = "i4" if kind == "w4" else "f8e4" if kind == "f8" else "i8"

  def body(x, w, s, o):
    a, b = x[...], w[...]
    if kind == "dynamic":
      scale = jnp.max(jnp.abs(a.astype(jnp.float32)), 1, keepdims=True) / 127
      q = jnp.round(a.astype(jnp.float32) / scale).astype(jnp.int8)
      r = jnp.dot(q, b, preferred_element_type=jnp.int32).astype(jnp.float32) * scale * s[...]
    elif kind == "group":
      half = k // 2
      r = sum(jnp.dot(a[:, g * half:(g + 1) * half], b[g * half:(g + 1) * half].astype(a.dtype), preferred_element_type=jnp.float32) * s[...] for g in range(2))
    elif kind == "w8 scale rows":
      r = jnp.dot(a, (b.astype(jnp.float32) * s[...]).astype(a.dtype), preferred_element_type=jnp.float32)
    elif kind == "residual":
      r = jnp.dot(a, b.astype(a.dtype), preferred_element_type=jnp.float32) + jnp.sum(a.astype(jnp.float32), 1, keepdims=True)
    else:
      r = jnp.dot(a, b.astype(a.dtype), preferred_element_type=jnp.float32) * s[...]
    o[...] = jnp.clip(jnp.round(r), -128, 127).astype(o.dtype) if kind == "i8 out" else r.astype(o.dtype)
  dtype = rng.choice(["bf16", "f32"])
  call = pl.pallas_call(body, out_shape=struct((2 * m, n * 2), "i8" if kind == "i8 out" else dtype), grid=(2, 2),
                        in_specs=[pl.BlockSpec((m, k), lambda i, j: (i, 0)), pl.BlockSpec((k, n), lambda i, j: (0, j)), pl.BlockSpec((1, n), lambda i, j: (0, j))],
                        out_specs=pl.BlockSpec((m, n), lambda i, j: (i, j)))
  return f"{kind} {dtype} {m}x{k}x{n}", (call, (struct((2 * m, k), dtype), struct((k, 2 * n), weights), struct((1, 2 * n), "f32")))


def recurrent(rng):
  """State kept over the grid, scans over rows, decode against pages, top-k, segment sums, convolutions."""
  kind = rng.choice(["linear scan", "state", "pages", "topk", "segments", "conv", "rows by id", "softmax rows", "moving", "batched dot", "qk norm", "transposed dot", "histogram", "moments"])
  dtype, n, d = rng.choice(["f32", "bf16"]), rng.choice([8, 16, 32, 64, 128]), rng.choice([128, 256, 512, 64])
  scratch, ids = [], False
  out = (4 * n, d)
  block = pl.BlockSpec((n, d), lambda i, *_: (i, 0))
  if kind in ("linear scan", "state", "moving", "moments"):
    scratch = [pltpu.VMEM((1 if kind == "linear scan" else n, d), jnp.float32)]

  def body(ids, x, w, o, *s):
    i = pl.program_id(0)
    if kind == "linear scan":
      @pl.when(i == 0)
      def _():
        s[0][...] = jnp.zeros_like(s[0])

      def step(r, h):
        h = h * 0.9 + x[pl.ds(r, 1), :].astype(jnp.float32)
        o[pl.ds(r, 1), :] = h.astype(o.dtype)
        return h
      s[0][...] = lax.fori_loop(0, n, step, s[0][...])
    elif kind in ("state", "moving"):
      s[0][...] = jnp.where(i == 0, 0.0, s[0][...]) * 0.5 + x[...].astype(jnp.float32)
      o[...] = (s[0][...] if kind == "state" else s[0][...] - jnp.mean(s[0][...], 0, keepdims=True)).astype(o.dtype)
    elif kind == "moments":
      v = x[...].astype(jnp.float32)
      s[0][...] += v * v
      o[...] = (v * lax.rsqrt(jnp.sum(s[0][...], axis=(0, 1), keepdims=True))).astype(o.dtype)
    elif kind == "topk":
      v, r = x[...].astype(jnp.float32), jnp.zeros((n, d), jnp.float32)
      lane = lax.broadcasted_iota(jnp.int32, v.shape, 1)
      for _ in range(2):
        at = jnp.argmax(v, 1, keepdims=True)
        r = jnp.where(lane == at, v, r)
        v = jnp.where(lane == at, -jnp.inf, v)
      o[...] = r.astype(o.dtype)
    elif kind == "segments":
      hot = (lax.broadcasted_iota(jnp.int32, (n, n), 0) // 4 == lax.broadcasted_iota(jnp.int32, (n, n), 1) // 4).astype(x.dtype)
      o[...] = jnp.dot(hot, x[...], preferred_element_type=jnp.float32).astype(o.dtype)
    elif kind == "conv":
      v = x[...].astype(jnp.float32)
      row = lax.broadcasted_iota(jnp.int32, v.shape, 0)
      o[...] = sum(jnp.where(row >= k, pltpu.roll(v, k, 0) if k else v, 0) * w[k:k + 1, :].astype(jnp.float32) for k in range(4)).astype(o.dtype)
    elif kind == "rows by id":
      def step(r, c):
        o[pl.ds(r, 1), :] = x[pl.ds(ids[r % 4], 1), :]
        return c
      lax.fori_loop(0, n, step, 0)
    elif kind == "softmax rows":
      v = x[...].astype(jnp.float32)
      e = jnp.exp(v - jnp.max(v, 0, keepdims=True))
      o[...] = (e / jnp.sum(e, 0, keepdims=True)).astype(o.dtype)
    elif kind == "batched dot":
      v = x[...].reshape(n // 8, 8, d)
      o[...] = lax.dot_general(v, v, (((2,), (2,)), ((0,), (0,))), preferred_element_type=jnp.float32).sum(-1, keepdims=True).reshape(n, 1).astype(o.dtype) + x[...]
    elif kind == "qk norm":
      v = x[...].astype(jnp.float32).reshape(n, d // 64, 64)
      o[...] = (v * lax.rsqrt(jnp.mean(v * v, -1, keepdims=True))).reshape(n, d).astype(o.dtype)
    elif kind == "transposed dot":
      o[...] = jnp.dot(x[...].T, x[...], preferred_element_type=jnp.float32)[:n, :].astype(o.dtype) if d >= n else x[...]
    elif kind == "histogram":
      bins = lax.broadcasted_iota(jnp.int32, (n, d), 1)
      o[...] = (x[:, :1].astype(jnp.int32) == bins).astype(o.dtype)
    else:
      def step(p, c):
        o[...] += (x[...].astype(jnp.float32) * ids[p].astype(jnp.float32)).astype(o.dtype)
        return c
      o[...] = jnp.zeros_like(o)
      lax.fori_loop(0, ids[0], step, 0)
  spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(4,), in_specs=[block, pl.BlockSpec((8, d), lambda i, *_: (0, 0))], out_specs=block, scratch_shapes=scratch)
  call = pl.pallas_call(body, out_shape=struct(out, dtype), grid_spec=spec)
  return f"{kind} {dtype}({n},{d})", (call, (struct((4,), "i32"), struct(out, dtype), struct((8, d), dtype)))


FAMILIES = dict(pipeline=(pipeline, 40), view=(view, 60), mask=(mask, 60), bits=(bits, 40), windows=(windows, 50), scoped=(scoped, 40), spread=(spread, 80),
                quantized=(quantized, 40), recurrent=(recurrent, 50))
