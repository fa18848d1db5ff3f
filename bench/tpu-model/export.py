"""Exports the kernels of rows of device times from JAX and tokamax: one module a row, into a cache.

    python export.py ROWS.csv CACHE [GROUP_SIZES.json]     prints {"id": …, "module": …} or {"id": …, "lacks": …} a line

Runs in an environment of its own (requirements.txt). Sizes of groups are constants of the module, so that its control
flow needs no inputs.
"""

import csv
import hashlib
import inspect
import json
import pathlib
import re
import sys

import os

os.environ.setdefault("JAXTYPING_DISABLE", "1")  # its checks of annotations know no tracers of exports

import numpy as np

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from chips import CORES_PER_DEVICE, DEVICE_KINDS
from families import family_of

DTYPES = {"bf16": jnp.bfloat16, "f32": jnp.float32, "i32": jnp.int32, "f8_e4m3fn": jnp.float8_e4m3fn}


class Lacks(Exception):
  """Why a row cannot be built, in a sentence."""


def compiling_for(generation):
  """Kernels ask which chip they are compiled for; without a TPU a mesh of devices of that kind answers."""
  device = jax.sharding.AbstractDevice(device_kind=DEVICE_KINDS[generation], num_cores=CORES_PER_DEVICE[generation], platform="tpu")
  return jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((), (), abstract_device=device))


def number(row, name):
  found = re.search(rf"\b{name}=(\w+)", row["block_sizes"])
  if not found or not found.group(1).isdigit():
    raise Lacks(f"the row does not say {name}")
  return int(found.group(1))


def word(row, name):
  return re.search(rf"\b{name}=(\w+)", row["block_sizes"]).group(1)


def arrays(row):
  """`lhs bf16[8,4] rhs …` → {"lhs": ShapeDtypeStruct, …}; `lhs f8_e4m3fn[8,4] scale bf16[8,1]` is one quantized array."""
  def struct(dtype, shape):
    return jax.ShapeDtypeStruct([int(d) for d in shape.split(",")], DTYPES[dtype])
  found = re.findall(r"(\w+) (\w+)\[([\d,]+)\](?: scale (\w+)\[([\d,]+)\])?", row["shapes"])
  out = {}
  for name, dtype, shape, scale_dtype, scale_shape in found:
    if dtype in DTYPES:
      out[name] = struct(dtype, shape)
    if scale_dtype:
      import qwix
      out[name] = qwix.QArray(out[name], struct(scale_dtype, scale_shape))
  return out


def group_sizes(row, sizes):
  """How many rows each group has: drawn as tokamax draws them, or listed."""
  groups = int(re.search(r"groups=(\d+)", row["shapes"]).group(1))
  listed = re.search(r"md5:(\w+)", row["shapes"])
  if listed:
    if listed.group(1) not in sizes:
      raise Lacks(f"no list of group sizes with md5 {listed.group(1)} is at hand")
    return np.array(sizes[listed.group(1)], np.int32)
  listed = re.search(r"nonzero=\d+ \[([\d, ]+)\]", row["shapes"])
  if listed:
    return np.array([int(s) for s in listed.group(1).split(",")], np.int32)
  total = int(re.search(r"total=(\d+)", row["shapes"]).group(1))
  return np.bincount(np.random.default_rng(0).choice(groups, total), minlength=groups).astype(np.int32)


def matmul(row, _):
  """The kernels of JAX's tutorial of matrix products."""
  size = int(re.search(r"m=k=n=(\d+)", row["shapes"]).group(1))
  bm, bk, bn = (number(row, n) for n in ("bm", "bk", "bn"))
  transposed, relu = "rhsT" in row["kernel"], "relu" in row["kernel"]
  dims = (((1,), (1,)), ((), ())) if transposed else (((1,), (0,)), ((), ()))

  def kernel(x_ref, y_ref, z_ref, acc_ref):
    @pl.when(pl.program_id(2) == 0)
    def _():
      acc_ref[...] = jnp.zeros_like(acc_ref)

    acc_ref[...] += jax.lax.dot_general(x_ref[...], y_ref[...], dims, preferred_element_type=jnp.float32)

    @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
    def _():
      acc = acc_ref[...]
      z_ref[...] = (jax.nn.relu(acc) if relu else acc).astype(z_ref.dtype)

  rhs = pl.BlockSpec((bn, bk), lambda i, j, k: (j, k)) if transposed else pl.BlockSpec((bk, bn), lambda i, j, k: (k, j))
  call = pl.pallas_call(
      kernel,
      grid=(size // bm, size // bn, size // bk),
      in_specs=[pl.BlockSpec((bm, bk), lambda i, j, k: (i, k)), rhs],
      out_specs=pl.BlockSpec((bm, bn), lambda i, j, k: (i, j)),
      out_shape=jax.ShapeDtypeStruct((size, size), jnp.bfloat16),
      scratch_shapes=[pltpu.VMEM((bm, bn), jnp.float32)],
      compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")))
  array = jax.ShapeDtypeStruct((size, size), jnp.bfloat16)
  return call, (array, array)


def with_residuals(row, call):
  """Without an activation the residuals are the result again, which XLA copies."""
  if "return_residuals" not in row["kernel"]:
    return call
  return lambda lhs, rhs: (call(lhs, rhs),) * 2


def grouped(row, sizes):
  """tokamax's grouped matrix products: forward, by transposed weights, and of weights."""
  from tokamax._src.ops.ragged_dot import pallas_mosaic_tpu_kernel as kernels
  a = arrays(row)
  lhs, rhs = a["lhs"], a["rhs"]
  groups = group_sizes(row, sizes)
  m, k, n = (number(row, t) for t in ("tile_m", "tile_k", "tile_n"))
  buffers = int(re.search(r"lhs x(\d)", row["buffering"]).group(1))
  common = dict(precision=jax.lax.Precision.DEFAULT, out_dtype=jnp.bfloat16, input_buffer_count=buffers)
  if "tgmm" in row["kernel"]:
    def call(lhs, rhs):
      return kernels.tgmm(lhs.mT, rhs, group_sizes=jnp.asarray(groups), tiling=(m, k, n), **common)
  elif "rhs-transposed" in row["kernel"]:
    # v5p's and v6e's entries name tiles after the forward product, the others after this one, whose contracted
    # dimension is the forward product's n.
    tiling = (m, n, k) if row["generation"] in ("v5p", "v6e") else (m, k, n)
    def call(lhs, rhs):
      return kernels.gmm(lhs, rhs, group_sizes=jnp.asarray(groups), tiling=tiling, transpose_rhs=True, **common)
  else:
    def call(lhs, rhs):
      return kernels.gmm(lhs, rhs, group_sizes=jnp.asarray(groups), tiling=(m, k, n), **common)
  return with_residuals(row, call), (lhs, rhs)


def grouped_v2(row, sizes):
  """tokamax's second kernel of grouped matrix products, which chooses its tiles itself."""
  from tokamax._src.ops.experimental.gmm_v2 import gmm_v2 as kernels
  a = arrays(row)
  groups = group_sizes(row, sizes)
  transposed = "rhs-transposed" in row["kernel"]
  def call(lhs, rhs):
    return kernels.gmm_v2(lhs=lhs, rhs=rhs, group_sizes=jnp.asarray(groups), preferred_element_type=jnp.bfloat16,
                          **({"transpose_rhs": True} if transposed else {}))
  return with_residuals(row, call), (a["lhs"], a["rhs"])


def attention(row, _):
  """tokamax's splash attention with the copies around it."""
  from tokamax._src.ops.attention import base, pallas_mosaic_tpu as forward, pallas_mosaic_tpu_vjp as backward
  a = arrays(row)
  q, k, v = a["q"], a["k"], a["v"]
  mask = base.Mask(is_causal="causal" in row["shapes"])
  common = dict(
      precision=(jax.lax.Precision.DEFAULT,) * 2, logits_dtype=jnp.dtype(jnp.float32), logits_scale=q.shape[-1] ** -0.5,
      bias=None, logits_soft_cap=None, mask=mask, dropout_mask=None, dropout_rate=0.0, paging_info=None,
      q_indices=None, k_indices=None, normalize_output=True)
  if "vjp" in row["kernel"]:
    config = backward.Config(**{n: number(row, n) for n in ("block_q_dkv", "block_kv_dkv", "block_kv_dkv_compute")})
    op = backward.PallasMosaicTpuFlashAttentionVjp()
    out = jax.ShapeDtypeStruct(q.shape[:3] + v.shape[3:], q.dtype)
    stats = jax.ShapeDtypeStruct((q.shape[0], q.shape[2], q.shape[1]), jnp.float32)
    def call(m, l, out, dout, q, k, v):
      return op._fwd((m, l), out, dout, q, k, v, return_residuals=False, config=config, **common)[0]
    return call, (stats, stats, out, out, q, k, v)
  layouts = {n: getattr(forward.splash.QKVLayout, word(row, n)) for n in ("q_layout", "k_layout", "v_layout")}
  blocks = {n: number(row, n) for n in ("block_q", "block_kv", "block_kv_compute")}
  flags = {n: word(row, n) == "True" for n in ("use_experimental_scheduler", "use_base2_exp")}
  config = forward.Config(**blocks, **layouts, **flags)
  residuals = "+residuals" in row["kernel"]
  op = forward.PallasMosaicTpuFlashAttention()
  def call(q, k, v):
    return op._fwd(q, k, v, return_residuals=residuals, config=config, **common)
  return call, (q, k, v)


def cross_entropy(row, _):
  """tokamax's linear layer with softmax cross-entropy."""
  from tokamax._src.ops.linear_softmax_cross_entropy_loss import pallas_mosaic_tpu_kernel as kernels
  a = arrays(row)
  x, w, labels = a["x"], a["w"], a["labels"]
  names = ("b_block_size", "h_block_size", "v_block_size")
  # "XLA" stands for rows that were measured with the default blocks: they are slower by as much.
  blocks = dict(zip(names, (1024, 512, 2048))) if row["block_sizes"] == "XLA" else {n: number(row, n) for n in names}
  reduction = re.search(r"reduction=(\w+)", row["kernel"]).group(1)
  if "vjp" in row["kernel"]:
    def call(dout, lse, x, labels, w):
      return kernels.linear_softmax_cross_entropy_loss_bwd_pallas_mosaic_tpu(
          dout, lse, x, labels, w, reduction=reduction, **blocks)
    scalar = jax.ShapeDtypeStruct((), jnp.float32)
    return call, (scalar, jax.ShapeDtypeStruct((x.shape[0],), jnp.float32), x, labels, w)
  def call(x, labels, w):
    return kernels.linear_softmax_cross_entropy_loss_fwd_pallas_mosaic_tpu(x, labels, w, reduction=reduction, **blocks)
  return call, (x, labels, w)


def splash_paper(row, _):
  raise Lacks("the row does not print its block sizes")


BUILDERS = {"matmul": matmul, "gmm": grouped, "dlhs": grouped, "tgmm": grouped, "gmm v2": grouped_v2,
            "attention": attention, "attention vjp": attention, "cross entropy": cross_entropy,
            "cross entropy vjp": cross_entropy, "splash": splash_paper}
KEYS = ["generation", "kernel", "shapes", "dtype", "block_sizes", "buffering"]


def key_of(row, builder):
  """Of the cache: what is built, and how."""
  text = "|".join([row.get(k, "") for k in KEYS] + [inspect.getsource(builder)])
  return hashlib.sha256(text.encode()).hexdigest()[:16]


def module_text(row, builder, sizes):
  jax.clear_caches()
  with compiling_for(row["generation"]):
    call, operands = builder(row, sizes)
    return jax.jit(call).trace(*operands).lower(lowering_platforms=("tpu",)).as_text()


def main():
  rows, cache = sys.argv[1:3]
  lists = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
  sizes = json.loads(lists.read_text()) if lists and lists.exists() else {}
  cache = pathlib.Path(cache)
  cache.mkdir(parents=True, exist_ok=True)
  for row in csv.DictReader(open(rows)):
    try:
      builder = BUILDERS.get(family_of(row))
      if not builder:
        raise Lacks(f"no builder knows the kernel {row['kernel']}")
      path = cache / f"{key_of(row, builder)}.mlir"
      if not path.exists():
        part = path.with_suffix(f".{os.getpid()}")  # atomic, even if others export at the same time
        part.write_text(module_text(row, builder, sizes))
        part.rename(path)
      print(json.dumps({"id": row["id"], "module": str(path)}), flush=True)
    except Lacks as e:
      print(json.dumps({"id": row["id"], "lacks": str(e)}), flush=True)
    except Exception as e:  # a kernel may refuse its configuration in many ways
      first = (str(e) or type(e).__name__).splitlines()[0][:200]
      print(json.dumps({"id": row["id"], "lacks": f"JAX refuses the kernel: {first}"}), flush=True)


if __name__ == "__main__":
  main()
