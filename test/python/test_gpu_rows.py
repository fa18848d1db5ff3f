"""Code for GPUs that reduces rows in the registers of its threads."""


import numpy as np
import pytest


def softmax_kernel(rows, columns, dtype):
    """Of 16 blocks of rows; the second result has each row's largest element in 128 columns."""
    block, wide = f"memref<{rows}x{columns}x{dtype}, #tpu.memory_space<vmem>>", f"vector<{rows}x{columns}xf32>"
    most, rounds = f"memref<{rows}x128xf32, #tpu.memory_space<vmem>>", dtype != "f32"
    given, made = f"vector<{rows}x{columns}x{dtype}>", "%p" if not rounds else "%out"
    row, column, part = f"vector<{rows}xf32>", f"vector<{rows}x1xf32>", f"vector<{rows}x128xf32>"
    window = "{{transform_indices = @rows, window_bounds = array<i64: {}, {}>}}".format
    return f"""module {{
  func.func @softmax(%i: i32, %x: {block}, %o: {block}, %m: {most}) attributes {{dimension_semantics = [#tpu.dimension_semantics<parallel>],
      iteration_bounds = array<i64: 16>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>,
      window_params = [{window(rows, columns)}, {window(rows, columns)}, {window(rows, 128)}]}} {{
    %c0 = arith.constant 0 : index
    %given = vector.load %x[%c0, %c0] : {block}, {given}
    {f"%v = arith.extf %given : {given} to {wide}" if rounds else ""}
    %low = arith.constant dense<0xFF800000> : {row}
    %max = vector.multi_reduction <maximumf>, {"%v" if rounds else "%given"}, %low [1] : {wide} to {row}
    %maxc = vector.shape_cast %max : {row} to {column}
    %maxw = vector.broadcast %maxc : {column} to {wide}
    %d = arith.subf {"%v" if rounds else "%given"}, %maxw : {wide}
    %e = math.exp %d : {wide}
    %zero = arith.constant dense<0.0> : {row}
    %sum = vector.multi_reduction <add>, %e, %zero [1] : {wide} to {row}
    %sumc = vector.shape_cast %sum : {row} to {column}
    %sumw = vector.broadcast %sumc : {column} to {wide}
    %p = arith.divf %e, %sumw : {wide}
    {f"%out = arith.truncf %p : {wide} to {given}" if rounds else ""}
    tpu.vector_store %o[%c0, %c0], {made} {{strides = array<i32>}} : {block}, {given},
    %maxp = vector.broadcast %maxc : {column} to {part}
    tpu.vector_store %m[%c0, %c0], %maxp {{strides = array<i32>}} : {most}, {part},
    return
  }}
  func.func @rows(%i: i32) -> (i32, i32) {{
    %c0 = arith.constant 0 : i32
    return %i, %c0 : i32, i32
  }}
}}
"""


# Rows in registers, several of them; rows that threads share with others or do not divide evenly; too many for registers.
@pytest.mark.parametrize("rows, columns, dtype", [(1, 4096, "f32"), (1, 4096, "bf16"), (1, 8192, "f32"), (2, 4096, "bf16"), (4, 2048, "f32"),
                                                  (2, 128, "f32"), (4, 1024, "bf16"), (8, 1024, "f32"), (1, 1000, "f32"), (1, 16384, "f32")])
def test_softmax_of_rows(run, tmp_path, rows, columns, dtype):
    (tmp_path / "softmax.mlir").write_text(softmax_kernel(rows, columns, dtype))

    def results(target, seed):
        done = run("run", "softmax.mlir", "--in", f"{dtype}[{16 * rows},{columns}]", "--out-shape", f"{dtype}[{16 * rows},{columns}]",
                   "--out-shape", f"f32[{16 * rows},128]", "--fill", "random", "--out", "out", "--target", target, "--seed", seed)
        assert done.returncode == 0, done.stderr
        return [np.load(tmp_path / f"out/out{i}.npy") for i in range(2)]

    for target, seed in (("cuda-host", "0"), ("cuda-host", "7"), ("cuda-host:sm_80", "3")):
        (out, most), (want, largest) = results(target, seed), results("interpret", seed)
        np.testing.assert_array_equal(most, largest)
        if dtype == "f32":
            np.testing.assert_allclose(out, want, rtol=1e-5)
        else:
            assert np.abs(out.view(np.int16).astype(int) - want.view(np.int16).astype(int)).max() <= 1  # rounded from other sums


def test_rows_in_registers_are_read_once(run, tmp_path):
    """The three passes of a softmax over a row read it once, and one warp's sums are all that goes through memory."""
    (tmp_path / "softmax.mlir").write_text(softmax_kernel(1, 4096, "bf16"))
    done = run("show", "softmax.mlir", "--in", "bf16[16,4096]", "--out-shape", "bf16[16,4096]", "--out-shape", "f32[16,128]", "--target",
               "cuda:h100", "--stage", "ptx")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ld.global.v4.b32") == 2 and done.stdout.count("ld.global.b16") == 0
    assert done.stdout.count("st.global.v4.b32") == 2 and done.stdout.count("st.shared.b32") == 2
    assert done.stdout.count("cvt.rn.bf16x2.f32") == 8  # neighbours are rounded together
    assert done.stdout.count("bar.sync") == 2  # one for each reduction, none between points
    assert done.stdout.count("ex2.approx.ftz.f32") == 16
    assert done.stdout.count("div.full.f32") == 16 and "div.rn.f32" not in done.stdout  # which has a branch
    assert ".minnctapersm 5" in done.stdout  # while some blocks of threads reduce, others load


@pytest.mark.parametrize("seed", ["0", "7", "8", "9"])
def test_a_reduction_of_each_row_needs_one_barrier(run, tmp_path, seed):
    """Results of successive points are in two alternating buffers: none is overwritten before all threads have read it."""
    block = "memref<1x4096xf32, #tpu.memory_space<vmem>>"
    (tmp_path / "most.mlir").write_text(f"""module {{
  func.func @most(%i: i32, %x: {block}, %o: {block}) attributes {{dimension_semantics = [#tpu.dimension_semantics<parallel>],
      iteration_bounds = array<i64: 32>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>,
      window_params = [{{transform_indices = @rows, window_bounds = array<i64: 1, 4096>}},
                       {{transform_indices = @rows, window_bounds = array<i64: 1, 4096>}}]}} {{
    %c0 = arith.constant 0 : index
    %v = vector.load %x[%c0, %c0] : {block}, vector<1x4096xf32>
    %low = arith.constant dense<0xFF800000> : vector<1xf32>
    %max = vector.multi_reduction <maximumf>, %v, %low [1] : vector<1x4096xf32> to vector<1xf32>
    %c = vector.shape_cast %max : vector<1xf32> to vector<1x1xf32>
    %w = vector.broadcast %c : vector<1x1xf32> to vector<1x4096xf32>
    %p = arith.mulf %v, %w : vector<1x4096xf32>
    tpu.vector_store %o[%c0, %c0], %p {{strides = array<i32>}} : {block}, vector<1x4096xf32>,
    return
  }}
  func.func @rows(%i: i32) -> (i32, i32) {{
    %c0 = arith.constant 0 : i32
    return %i, %c0 : i32, i32
  }}
}}
""")
    results = []
    for target in ("interpret", "cuda-host"):
        done = run("run", "most.mlir", "--in", "f32[32,4096]", "--out-shape", "f32[32,4096]", "--fill", "random", "--seed", seed, "--out",
                   target, "--target", target)
        assert done.returncode == 0, done.stderr
        results.append(np.load(tmp_path / target / "out0.npy"))
    np.testing.assert_array_equal(*results)
    done = run("show", "most.mlir", "--in", "f32[32,4096]", "--out-shape", "f32[32,4096]", "--target", "cuda:h100", "--stage", "ptx")
    assert done.stdout.count("bar.sync") == 1, done.stderr
