"""A kernel with one matrix product, as text:  python3 products.py M N K BLOCK_M BLOCK_N BLOCK_K DTYPE [lhs_t] [rhs_t] [scratch|result|out]

The forms that differ in device code: operands either way round, sums in scratch over the steps of the grid or of one step,
blocks that the arrays do not divide into.
"""

import sys


MLIR = {"f8e4m3fn": "f8E4M3FN", "f8e5m2": "f8E5M2"}


def result_type(dtype):
    """What sums of products are kept as."""
    return {"bf16": "bf16", "f16": "f16", "i8": "i32"}.get(dtype, "f32")


def kernel(m, n, k, bm, bn, bk, dtype, lhs_t=False, rhs_t=False, form="scratch", precision=None):
    steps = [-(-a // b) for a, b in ((m, bm), (n, bn), (k, bk))]
    lhs, rhs = (f"{bk}x{bm}" if lhs_t else f"{bm}x{bk}"), (f"{bn}x{bk}" if rhs_t else f"{bk}x{bn}")
    space = "#tpu.memory_space<vmem>"
    made, dtype = result_type(dtype), MLIR.get(dtype, dtype)
    total = "i32" if dtype == "i8" else "f32"
    f, zero, two = ("i", "0", "2") if total == "i32" else ("f", "0.0", "2.0")
    out = f"memref<{bm}x{bn}x{made}, {space}>"
    acc = f"memref<{bm}x{bn}x{total}, {space}>"
    sums, half = f"vector<{bm}x{bn}x{total}>", f"vector<{bm}x{bn}x{made}>"
    asks = f", precision = #tpu.contract_precision<{precision}>" if precision else ""
    dims = f"[{0 if lhs_t else 1}], [{1 if rhs_t else 0}], [{1 if lhs_t else 0}], [{0 if rhs_t else 1}], [0, {1 if lhs_t else 0}, 1, {0 if rhs_t else 1}]"
    product = (f"tpu.matmul %xv, %yv, %zero {{dimension_numbers = #tpu.dot_dimension_numbers<{dims}, [], []>{asks}, transpose_lhs_hint = false}} : "
               f"vector<{lhs}x{dtype}>, vector<{rhs}x{dtype}>, {sums} -> {sums}")
    scratch, around = form == "scratch", form == "around"
    body = [f"%zero = arith.constant dense<{zero}> : {sums}", "%c0 = arith.constant 0 : index"]
    if scratch:
        body += ["%first = arith.constant 0 : i32", f"%last = arith.constant {steps[2] - 1} : i32", "%begins = arith.cmpi eq, %k, %first : i32",
                 "scf.if %begins {", f"  %nil = arith.constant {zero} : {total}", f"  %zeros = vector.broadcast %nil : {total} to {sums}",
                 f"  tpu.vector_store %acc[%c0, %c0], %zeros {{strides = array<i32>}} : {acc}, {sums},", "} else {", "}",
                 f"%a = vector.load %acc[%c0, %c0] : {acc}, {sums}"]
    if around:  # other threads write what is read after the product
        body += [f"%at = tpu.iota {{dimensions = array<i32: 0, 1>}} : vector<{bm}x{bn}xi32>", f"%numbers = arith.sitofp %at : vector<{bm}x{bn}xi32> to {sums}",
                 f"tpu.vector_store %acc[%c0, %c0], %numbers {{strides = array<i32>}} : {acc}, {sums},"]
    body += [f"%xv = vector.load %x[%c0, %c0] : memref<{lhs}x{dtype}, {space}>, vector<{lhs}x{dtype}>",
             f"%yv = vector.load %y[%c0, %c0] : memref<{rhs}x{dtype}, {space}>, vector<{rhs}x{dtype}>", f"%p = {product}"]
    if scratch:
        body += [f"%s = arith.add{f} %a, %p : {sums}", f"tpu.vector_store %acc[%c0, %c0], %s {{strides = array<i32>}} : {acc}, {sums},",
                 "%ends = arith.cmpi eq, %k, %last : i32", "scf.if %ends {", f"%r = vector.load %acc[%c0, %c0] : {acc}, {sums}"]
    elif around:
        body += [f"%kept = vector.load %acc[%c0, %c0] : {acc}, {sums}", f"%r = arith.addf %p, %kept : {sums}"]
    elif form == "reduced":  # every row is divided by its sum: other threads need the product's elements
        body += [f"%e = math.exp %p : {sums}", f"%rz = arith.constant dense<0.0> : vector<{bm}xf32>",
                 f"%row = vector.multi_reduction <add>, %e, %rz [1] : {sums} to vector<{bm}xf32>",
                 f"%col = vector.shape_cast %row : vector<{bm}xf32> to vector<{bm}x1xf32>",
                 f"%wide = vector.broadcast %col : vector<{bm}x1xf32> to {sums}", f"%r = arith.divf %e, %wide : {sums}"]
    else:
        body += [f"%two = arith.constant dense<{two}> : {sums}", f"%r = arith.mul{f} %p, %two : {sums}"]
    if made != total:
        body += [f"%h = arith.truncf %r : {sums} to {half}"]
    body += [f"tpu.vector_store %z[%c0, %c0], %{'r' if made == total else 'h'} {{strides = array<i32>}} : {out}, {half},"]
    if scratch:
        body += ["}"]
    windows = ", ".join(f"{{transform_indices = @{name}, window_bounds = array<i64: {bounds.replace('x', ', ')}>}}"
                        for name, bounds in (("mx", lhs), ("my", rhs), ("mz", f"{bm}x{bn}")))
    lines = "\n    ".join(body)
    semantics = ", ".join(f"#tpu.dimension_semantics<{s}>" for s in ("parallel", "parallel", "arbitrary"))
    at = "%i: i32, %j: i32, %k: i32"
    x, y = ("%k, %i" if lhs_t else "%i, %k"), ("%j, %k" if rhs_t else "%k, %j")
    return f"""module @product {{
  func.func @product({at}, %x: memref<{lhs}x{dtype}, {space}>, %y: memref<{rhs}x{dtype}, {space}>, %z: {out}{f', %acc: {acc}' if scratch or around else ''})
      attributes {{dimension_semantics = [{semantics}], iteration_bounds = array<i64: {steps[0]}, {steps[1]}, {steps[2]}>,
                  scalar_prefetch = 0 : i64, scratch_operands = {int(scratch or around)} : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{windows}]}} {{
    {lines}
    return
  }}
  func.func @mx({at}) -> (i32, i32) {{ return {x} : i32, i32 }}
  func.func @my({at}) -> (i32, i32) {{ return {y} : i32, i32 }}
  func.func @mz({at}) -> (i32, i32) {{ return %i, %j : i32, i32 }}
}}
"""
