"""python serialize.py MODULE.mlir VERSION OUT.bc: jaxlib's mosaic-serde pass, then MLIR bytecode as JAX writes it."""

import io
import sys

from jax._src.interpreters import mlir as jax_mlir
from jax._src.lib import tpu
from jax._src.lib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

source, version, out = sys.argv[1:]
context = jax_mlir.make_ir_context()
tpu.register_dialect(context)
with context, ir.Location.unknown():
    module = ir.Module.parse(open(source).read())
    context.allow_unregistered_dialects = True
    passes = f"builtin.module(mosaic-serde{{serialize=true target-version={version}}})"
    PassManager.parse(passes).run(module.operation)
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer, desired_version=0)
    open(out, "wb").write(buffer.getvalue())
