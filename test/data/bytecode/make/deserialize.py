"""python deserialize.py BODY.bc OUT.mlir: what jaxlib makes of a body, as generic text."""

import sys

from jax._src.interpreters import mlir as jax_mlir
from jax._src.lib import tpu
from jax._src.lib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

body, out = sys.argv[1:]
context = jax_mlir.make_ir_context()
tpu.register_dialect(context)
with context, ir.Location.unknown():
    context.allow_unregistered_dialects = True
    module = ir.Module.parse(open(body, "rb").read())
    PassManager.parse("builtin.module(mosaic-serde{serialize=false})").run(module.operation)
    open(out, "w").write(module.operation.get_asm(print_generic_op_form=True) + "\n")
