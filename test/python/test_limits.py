"""Kernels that do not end, or take more than they may: smalti run says so, objects return it."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest
import smalti as package

from console_examples import ROOT

ENDLESS = str(ROOT / "test/errors/SM9012/endless.mlir")
OUTSIDE = str(ROOT / "test/errors/SM4111/kernel.mlir")
LARGE = str(ROOT / "test/errors/SM9002/kernel.mlir")


@pytest.fixture
def run(smalti, tmp_path):
    return lambda *arguments: subprocess.run([smalti, *map(str, arguments)], capture_output=True, text=True,
                                             cwd=tmp_path, timeout=120)


def on_both(run, *arguments):
    """What both targets do: the same."""
    machine, native = (run("run", *arguments, "--target", target) for target in ("interpret", "cpu"))
    assert (native.returncode, native.stderr) == (machine.returncode, machine.stderr)
    return native


def test_an_endless_loop_ends_at_the_step_limit(run):
    done = on_both(run, ENDLESS, "--out-shape", "i32[1]", "--step-limit", "1000000")
    assert (done.returncode, done.stderr) == (
        3, f"error[SM4104]: the kernel did not end within the step limit\n  --> {ENDLESS}:8:7\n   in kernel 'endless'\n"
        "  need: at most 1000000 instructions and grid steps\n  have: no end after 1000000\n"
        "  help: look for a loop whose condition never becomes false, or raise the step limit\n"
        f"error[SM4104]: device 0 core 0 is running\n  --> {ENDLESS}:8:7\n")


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_an_endless_loop_ends_in_time(run, target):
    done = run("run", ENDLESS, "--out-shape", "i32[1]", "--step-limit", "0", "--timeout-seconds", "1", "--target", target)
    lines = done.stderr.splitlines()
    assert done.returncode == 4 and lines[0] == "error[SM9012]: the run timed out"
    assert "  need: at most 1 s" in lines
    assert "  help: raise --timeout-seconds, or lower --step-limit to see where it hangs" in lines


LOOPS = """
module {
  func.func @loops(%i: i32, %x: memref<8x128xf32, #tpu.memory_space<vmem>>, %o: memref<8x128xf32, #tpu.memory_space<vmem>>)
      attributes {iteration_bounds = array<i64: 4>, dimension_semantics = [#tpu.dimension_semantics<parallel>],
                  scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, window_params = [
                    {transform_indices = @rows, window_bounds = array<i64: 8, 128>},
                    {transform_indices = @rows, window_bounds = array<i64: 8, 128>}]} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0 : i32
    %v = vector.load %x[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    %unused = scf.while (%a = %i) : (i32) -> i32 {
      %more = arith.cmpi sge, %a, %zero : i32
      scf.condition(%more) %a : i32
    } do {
    ^bb0(%a: i32):
      scf.yield %a : i32
    }
    vector.store %v, %o[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    return
  }
  func.func @rows(%i: i32) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }
}
"""


@pytest.mark.parametrize("target", ["interpret", "cpu", "cuda-host"])
def test_an_endless_loop_without_users_is_not_dropped(run, tmp_path, target):
    (tmp_path / "loops.mlir").write_text(LOOPS)
    done = run("run", "loops.mlir", "--in", "f32[32,128]", "--out-shape", "f32[32,128]", "--step-limit", "1000000",
               "--target", target)
    assert done.returncode == 3
    assert done.stderr.startswith("error[SM4104]: the kernel did not end within the step limit\n  --> loops.mlir:16:7\n")


@pytest.mark.parametrize("target", ["interpret", "cpu", "cuda-host"])
@pytest.mark.parametrize("call", ["run", "compile", "check"])
def test_the_time_limit_is_an_option_of_every_call(call, target):
    module = package.load(ENDLESS, results=[package.ArrayType(np.dtype(np.int32), (1,))])
    options = {"timeout_seconds": 1, "step_limit": 0, "target": target}
    with pytest.raises(package.Error) as caught:
        module.compile(**options)() if call == "compile" else getattr(module, call)(**options)
    assert caught.value.code == "SM9012" and caught.value.diagnostic.need == "at most 1 s"


def test_the_time_limit_of_the_environment(smalti, tmp_path):
    program = f"import smalti, numpy as np; smalti.load({ENDLESS!r}, results=[np.zeros(1, np.int32)]).run(target='cpu')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60,
                          env=os.environ | {"SMALTI_TIMEOUT_SECONDS": "1", "SMALTI_STEP_LIMIT": "0",
                                            "PYTHONPATH": os.pathsep.join(sys.path)})
    assert "error[SM9012]: the run timed out" in done.stderr and done.returncode == 1


def test_what_show_runs_ends_in_time(run):
    done = run("show", ENDLESS, "--out-shape", "i32[1]", "--stage", "windows", "--step-limit", "0", "--timeout-seconds", "1")
    assert done.returncode == 4 and done.stderr.startswith("error[SM9012]: the run timed out\n")


@pytest.mark.parametrize("json", [[], ["--json"]])
def test_what_does_not_look_at_the_time_ends_with_the_process(run, tmp_path, json):
    text = (ROOT / "examples/new/kernel.mlir").read_text()
    (tmp_path / "long.mlir").write_text(text.replace("NAME", "hello")
                                        .replace("iteration_bounds = array<i64: 4>", "iteration_bounds = array<i64: 199999999>")
                                        .replace("return %i, %zero", "return %zero, %zero"))
    begin = time.monotonic()
    done = run("run", "long.mlir", "--target", "cpu", "--in", "f32[256,128]", "--in", "f32[256,128]",
               "--out-shape", "f32[256,128]", "--timeout-seconds", "1", *json)
    assert done.returncode == 4 and time.monotonic() - begin < 60
    if json:
        assert '"code": "SM9012"' in done.stdout and done.stderr == ""
    else:
        assert done.stderr == ("error[SM9012]: the run timed out\n  need: at most 1 s\n"
                               "  help: raise --timeout-seconds, or lower --step-limit to see where it hangs\n")


def outside(severity, block, help):
    """What is said of the block of the third step."""
    return (f"\n{severity}[SM4111]: the index map of {block} gives a block outside the array\n"
            f"  --> {OUTSIDE}:14:1\n   in kernel 'kernel'\n   in grid step (2)\n"
            "  need: at least one element of every block inside f32[16,128]\n"
            "  have: block index (2, 0), elements [16:24, 0:128]\n"
            f"  help: {help}\n")


def test_a_block_outside_its_array_is_found(run):
    done = on_both(run, OUTSIDE, "--in", "f32[16,128]", "--out-shape", "f32[24,128]")
    assert (done.returncode, done.stderr) == (0, outside(
        "warning", "input 0", "harmless if nothing uses the block, which is undefined; otherwise clamp the block index in the "
        "index map, or make the grid smaller"))
    silent = on_both(run, OUTSIDE, "--in", "f32[16,128]", "--out-shape", "f32[24,128]", "--no-check-bounds")
    assert (silent.returncode, silent.stderr) == (0, "")


def test_a_block_of_an_output_outside_its_array_fails_the_run(run):
    done = on_both(run, OUTSIDE, "--in", "f32[24,128]", "--out-shape", "f32[16,128]")
    assert (done.returncode, done.stderr) == (3, outside(
        "finding", "output 0", "clamp the block index in the index map, or make the grid smaller"))


def test_memory_is_limited(run):
    done = on_both(run, LARGE, "--in", "f32[4096,128]", "--out-shape", "f32[4096,128]", "--memory-limit-mib", "1")
    assert done.returncode == 4 and done.stderr.startswith("error[SM9002]: the memory limit is reached by output 0\n")


MAIN = """
#include <stdlib.h>
#include "kernel.h"
int main(void) { %s }
"""


@pytest.fixture
def result_of(run, tmp_path):
    """What the exit code of a C program is whose main has these lines."""
    def call(module, lines, *arguments):
        done = run("export", module, "--format", "object", "-o", "kernel.o", *arguments)
        assert done.returncode == 0, done.stderr
        (tmp_path / "main.c").write_text(MAIN % lines)
        subprocess.run(["cc", "-std=c11", "-Wall", "-Werror", "main.c", "kernel.o", "-o", "main"], cwd=tmp_path, check=True)
        return subprocess.run(["./main"], cwd=tmp_path, timeout=60).returncode
    return call


def test_objects_have_a_step_limit(result_of, tmp_path):
    lines = "int32_t out[1]; return kernel(out);"
    assert result_of(ENDLESS, lines, "--out-shape", "i32[1]", "--step-limit", "100000") == 6
    assert "6: more than about 100000 grid steps, or iterations of its loops\n" in (tmp_path / "kernel.h").read_text()
    assert result_of(ENDLESS, lines, "--out-shape", "i32[1]") == 6
    assert "6: more than about 200000000 grid steps, or iterations of its loops\n" in (tmp_path / "kernel.h").read_text()


def test_objects_without_a_limit_do_not_count(result_of, tmp_path):
    case = str(ROOT / "test/data/cases/while_loop_collatz")
    assert result_of(case, "return 0;", "--step-limit", "0") == 0
    assert "6:" not in (tmp_path / "kernel.h").read_text()
    assert "smalti.look" not in subprocess.run(["nm", "kernel.o"], cwd=tmp_path, capture_output=True, text=True).stdout


def test_objects_return_that_a_block_is_outside(result_of, tmp_path):
    lines = "static float in[16 * 128], out[24 * 128]; return kernel(in, out);"
    assert result_of(OUTSIDE, lines, "--in", "f32[16,128]", "--out-shape", "f32[24,128]") == 5
    assert "5: an index map gave a block outside its array\n" in (tmp_path / "kernel.h").read_text()


def test_a_workspace_that_overlaps_an_array_is_refused(result_of):
    case = str(ROOT / "test/data/cases/matmul_bf16_gelu")
    lines = """
  char *all = aligned_alloc(64, kernel_workspace_bytes + (1 << 22));
  uint16_t *a = (uint16_t *)(all + kernel_workspace_bytes / 64 * 64 + 64), *b = a + (1 << 19), *out = b + (1 << 19);
  if (kernel_workspace_bytes == 0 || kernel_in(all, a, b, out) != 0) return 1;
  if (kernel_in(out, a, b, out) != 2 || kernel_in(b, a, b, out) != 2) return 2;
  return kernel_in((char *)a - 64, a, b, out) == 2 ? 0 : 3;"""
    assert result_of(case, lines) == 0
