"""Kernels through a CUDA driver without a GPU (fake_cuda.c): the calls of the driver, and the message of each failure."""

import json
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

from conftest import ROOT, tool_environment

CASES = ROOT / "test/data/cases"
PLACE = f"  --> {CASES}/add_grid_1d/module.stablehlo.mlir:3:10\n   in kernel 'add_k'\n"


def test_sm5008_a_machine_without_a_gpu(run):
    if pathlib.Path("/dev/nvidia0").exists():
        pytest.skip("this machine has a GPU")
    done = run("run", CASES / "add_grid_1d", "--target", "cuda")
    assert done.stderr == (
        "error[SM5008]: the target 'cuda' cannot run here\n"
        "  have: there is no NVIDIA driver: libcuda.so.1 cannot be loaded\n"
        "  help: --target cuda-host runs the same code without a GPU; smalti show --target cuda:GPU shows it\n")


def test_a_call_goes_through_the_driver(run, fake_cuda, tmp_path):
    """In and out again: what the kernel does not write keeps what an aliased operand holds."""
    done = run("run", CASES / "alias_partial_update", "--target", "cuda", "--out", tmp_path, env=fake_cuda("works"))
    assert done.stderr == "" and done.returncode == 1  # nothing was computed
    out, before = (np.load(f) for f in (tmp_path / "out0.npy", CASES / "alias_partial_update/in0.npy"))
    np.testing.assert_array_equal(out, before)


@pytest.mark.parametrize("mode, why", [
    ("none", "there is an NVIDIA driver but no GPU"),
    ("partial", "the NVIDIA driver has CUDA 12.4, but no function cuStreamCreate"),
    ("uncounted", "the CUDA driver cannot count the GPUs: error 802: system not yet initialized"),
])
def test_sm5008_drivers_that_do_not_do(run, fake_cuda, mode, why):
    done = run("run", CASES / "add_grid_1d", "--target", "cuda", env=fake_cuda(mode))
    assert done.stderr == (f"error[SM5008]: the target 'cuda' cannot run here\n  have: {why}\n"
                           "  help: --target cuda-host runs the same code without a GPU; smalti show --target cuda:GPU shows it\n")


OLD_DRIVER = (
    "error[SM5008]: the target 'cuda' cannot run here\n  need: CUDA 11.4 or later\n  have: the NVIDIA driver is too old: it has CUDA 11.2\n"
    "  help: update the driver; --target cuda-host runs the same code without a GPU; smalti show --target cuda:GPU shows it\n")


def test_sm5008_a_driver_that_is_too_old(run, fake_cuda, tmp_path):
    assert run("run", CASES / "add_grid_1d", "--target", "cuda", env=fake_cuda("old")).stderr == OLD_DRIVER
    # One of before CUDA 11.3 lacks the function that finds all others, but tells its version.
    subprocess.run(["cc", "-shared", "-fPIC", "-DOLD", "-o", tmp_path / "libcuda.so.1", ROOT / "test/python/fake_cuda.c"], check=True)
    older = {**fake_cuda("old"), "LD_LIBRARY_PATH": str(tmp_path)}
    assert run("run", CASES / "add_grid_1d", "--target", "cuda", env=older).stderr == OLD_DRIVER


def test_sm5008_a_driver_that_cannot_be_loaded(run, tmp_path):
    (tmp_path / "libcuda.so.1").write_text("cut off")
    done = run("run", CASES / "add_grid_1d", "--target", "cuda", env={"LD_LIBRARY_PATH": str(tmp_path)})
    assert done.stderr == (f"error[SM5008]: the target 'cuda' cannot run here\n"
                           f"  have: the NVIDIA driver cannot be loaded: {tmp_path}/libcuda.so.1: file too short\n"
                           "  help: --target cuda-host runs the same code without a GPU; smalti show --target cuda:GPU shows it\n")


WITHOUT_PTXAS = {"PATH": "/usr/bin:/bin", "VIRTUAL_ENV": "", "CUDA_HOME": "", "CUDA_PATH": "", "FAKE_CUDA_LOADS": "1"}


def test_sm7205_a_driver_older_than_the_code(run, fake_cuda, tmp_path):
    """PTX for sm_90a needs CUDA 12.4, unless ptxas assembles it; what that makes may also be newer than the driver."""
    message = ("error[SM7205]: the NVIDIA driver is too old to assemble code for sm_90a\n   in kernel 'add_k'\n"
               "  need: CUDA 12.4 or later\n  have: CUDA 12.0\n  help: update the driver, or install ptxas of that version: pip install nvidia-cuda-nvcc\n")
    assert run("run", CASES / "add_grid_1d", "--target", "cuda", env={**fake_cuda("12.0"), **WITHOUT_PTXAS}).stderr == message
    _, environment = tool_environment(tmp_path, CUBIN)
    done = run("run", CASES / "add_grid_1d", "--target", "cuda", env={**fake_cuda("12.0"), **WITHOUT_PTXAS, **environment})
    assert done.stderr == "load a cubin\n" + message
    # Code for sm_80 needs no newer driver.
    done = run("run", CASES / "add_grid_1d", "--target", "cuda:sm_80", env={**fake_cuda("12.0"), **WITHOUT_PTXAS})
    assert done.stderr == "load PTX\n"


# A ptxas that writes something like a cubin, and tells for which GPU.
CUBIN = "printf '\\177ELF' > $4\necho \"$2\" >> \"$0.calls\"\n"


@pytest.mark.parametrize("target, architecture", [("cuda", "sm_90a"), ("cuda:sm_80", "sm_90")])
def test_ptxas_assembles_the_code_where_it_is_installed(run, fake_cuda, tmp_path, target, architecture):
    """For the GPU that is there, once: the cubin is cached. If it fails, the driver assembles the PTX."""
    tool, environment = tool_environment(tmp_path / "tools", CUBIN)
    works = {**fake_cuda("works"), **WITHOUT_PTXAS, **environment, "SMALTI_CACHE": str(tmp_path / "kept")}
    for _ in range(2):
        assert run("run", CASES / "alias_partial_update", "--target", target, env=works).stderr == "load a cubin\n"
    assert tool.with_name("ptxas.calls").read_text() == f"-arch={architecture}\n"
    tool.write_text("#!/bin/sh\necho it is closed today\nexit 1\n")
    assert run("run", CASES / "alias_partial_update", "--target", target, env=works).stderr == "load PTX\n"


def test_sm7210_code_for_another_gpu(run, fake_cuda):
    done = run("run", CASES / "add_grid_1d", "--target", "cuda:h100", env=fake_cuda("a100"))
    assert done.stderr == ("error[SM7210]: GPU 0 does not run code for sm_90a\n  need: sm_90\n  have: sm_80\n"
                           "  help: omit the GPU's name, so that the code is for the GPU that is there\n")
    done = run("run", CASES / "add_grid_1d", "--target", "cuda:sm_86", env=fake_cuda("a100"))
    assert done.stderr == ("error[SM7210]: GPU 0 does not run code for sm_86\n  need: sm_86 or later\n  have: sm_80\n"
                           "  help: omit the GPU's name, so that the code is for the GPU that is there\n")


def test_sm7210_more_shared_memory_than_a_gpu_has(run, fake_cuda):
    done = run("run", CASES / "matmul_bf16_gelu", "--target", "cuda:h100", env=fake_cuda("narrow"))
    lines = done.stderr.splitlines()
    assert lines[0] == "error[SM7210]: the code for sm_90a needs more shared memory than GPU 0 has"
    assert lines[-3].startswith("  need: ") and lines[-3].endswith(" bytes for a block of threads")
    assert lines[-2:] == ["  have: 1024 bytes", "  help: omit the GPU's name, so that the code is for the GPU that is there"]


def test_sm7205_a_gpu_that_tells_nothing(run, fake_cuda):
    assert run("run", CASES / "add_grid_1d", "--target", "cuda", env=fake_cuda("silent")).stderr == (
        "error[SM7205]: the CUDA driver cannot tell property 75 of GPU 0\n  have: error 1: no\n"
        "  help: --target cuda-host runs the same code without a GPU\n")


def test_sm9001_prints_of_a_kernel_that_prints_nothing(run, fake_cuda):
    """A larger buffer would not help, so that there is no second launch."""
    assert run("run", CASES / "add_grid_1d", "--target", "cuda", env=fake_cuda("printing")).stderr == (
        "error[SM9001]: the kernel's code reports that its prints do not fit into memory, and it prints nothing\n" + PLACE +
        "  help: this is a bug in Smalti: please report it with the module\n")


@pytest.mark.parametrize("mode, message", [
    ("full", "error[SM7205]: the CUDA driver cannot allot 16384 bytes on the GPU\nPLACE  have: error 2: out of memory\n"
             "  help: smaller arrays, or a GPU with more memory\n"),
    ("faulty", "error[SM7208]: the CUDA driver cannot run the kernel to its end\n"
               "PLACE  have: error 700: an illegal memory access was encountered\n"
               "  help: this process has lost the GPU: run it again; --target cuda-host or interpret may show why\n"),
    ("crowded", "error[SM7205]: the CUDA driver cannot launch the kernel\n"
                "PLACE  have: error 701: too many resources requested for launch\n  help: --target cuda-host runs the same code without a GPU\n"),
])
def test_what_the_driver_refuses(run, fake_cuda, mode, message):
    assert run("run", CASES / "add_grid_1d", "--target", "cuda", env=fake_cuda(mode)).stderr == message.replace("PLACE", PLACE)


def test_sm7206_a_kernel_that_does_not_end(run, fake_cuda):
    """The code counts its iterations; without a step limit, the machine does not run the kernel."""
    done = run("run", CASES / "add_grid_1d", "--target", "cuda", "--step-limit", "0", env=fake_cuda("endless"))
    assert done.stderr == ("error[SM7206]: the kernel did not end on the GPU\n" + PLACE +
                           "  need: at most 1099511627776 iterations of loops in a block of threads\n"
                           "  help: look for a loop whose condition never becomes false; --step-limit ends it earlier\n")
    # With a step limit the machine runs the kernel to report where it is: here it ends within the limit.
    assert run("run", CASES / "add_grid_1d", "--target", "cuda", "--step-limit", "1000000", env=fake_cuda("endless")).returncode == 0


def test_a_fault_is_explained_by_the_machine(run, fake_cuda):
    """A kernel that ends early gives no results: the machine runs it again, and here finds nothing wrong."""
    done = run("run", CASES / "add_grid_1d", "--target", "cuda", env=fake_cuda("early"))
    assert done.returncode == 0 and "as expected" in done.stdout


def test_sm7203_a_gpu_that_is_too_old(run, fake_cuda):
    done = run("run", CASES / "add_grid_1d", "--target", "cuda", env=fake_cuda("small"))
    assert done.stderr.startswith("error[SM7203]: there is no code for a GPU named 'sm_70'\n  need: sm_80 (a100 a30), sm_86")


@pytest.mark.parametrize("target", ["cuda:1", "cuda:sm_80@1", "cuda:h100@1"])
def test_the_gpu_of_a_number(run, fake_cuda, target):
    """Of two GPUs the first has no memory: the call goes to the second."""
    done = run("run", CASES / "alias_partial_update", "--target", target, env=fake_cuda("two"))
    assert done.stderr == ""
    assert "cannot allot" in run("run", CASES / "alias_partial_update", "--target", "cuda", env=fake_cuda("two")).stderr


@pytest.mark.parametrize("target, number", [("cuda:2", 2), ("cuda:h100@7", 7), ("cuda:h100@x", -1), ("cuda:99999999999", -1)])
def test_sm7205_gpus_that_are_not_there(run, fake_cuda, target, number):
    done = run("run", CASES / "add_grid_1d", "--target", target, env=fake_cuda("two"))
    assert done.stderr == (f"error[SM7205]: there is no GPU number {number}\n  need: a number below 2, counted from 0\n  have: {number}\n"
                           "  help: omit it for the first GPU; CUDA_VISIBLE_DEVICES selects the GPUs that a process sees\n")


def test_cases_run_in_children_that_start_the_driver_themselves(run, fake_cuda):
    """`conform` forks, with a limit of memory: a process that has begun to use a GPU cannot hand it on, and a driver reserves
    address space beyond any limit."""
    done = run("conform", CASES / "alias_partial_update", "--target", "cuda", "--json", env=fake_cuda("works"))
    assert done.stderr == ""
    case, = json.loads(done.stdout)["cases"]
    assert (case["status"], case["code"]) == ("fail", None)  # the kernel ran: the fake computes nothing


def test_cases_with_faults_on_the_gpu_fail(run, fake_cuda):
    """They are not refused: the kernel ran."""
    done = run("conform", CASES / "add_grid_1d", "--target", "cuda", "--json", env=fake_cuda("faulty"))
    case, = json.loads(done.stdout)["cases"]
    assert (case["status"], case["code"]) == ("fail", "SM7208")


@pytest.mark.parametrize("mode, target, shown", [
    ("works", "cuda", "sm_90a"), ("a100", "cuda", "sm_80"), ("a100", "cuda:0", "sm_80"), ("a100", "cuda:h100", "sm_90a"),
    ("a100", "cuda:h100@0", "sm_90a"), ("none", "cuda", "sm_90a"), ("none", "cuda:a100@1", "sm_80"), ("small", "cuda", "sm_90a"),
])
def test_show_takes_the_gpu_that_run_takes(run, fake_cuda, mode, target, shown):
    done = run("show", CASES / "add_grid_1d", "--target", target, "--stage", "ptx", env=fake_cuda(mode))
    assert done.returncode == 0 and f".target {shown}\n" in done.stdout, done.stderr


def test_show_names_a_gpu_that_is_not_there(run, fake_cuda):
    done = run("show", CASES / "add_grid_1d", "--target", "cuda:3", "--stage", "ptx", env=fake_cuda("two"))
    assert done.stderr == ("error[SM7205]: there is no GPU number 3\n  need: a number below 2, counted from 0\n  have: 3\n"
                           "  help: omit it for the first GPU; CUDA_VISIBLE_DEVICES selects the GPUs that a process sees\n")


def test_code_is_cached_between_processes(run, fake_cuda, tmp_path):
    """Cached in the folder of native code; code for another GPU is another entry."""
    kept = {**fake_cuda("works"), "SMALTI_CACHE": str(tmp_path / "kept")}
    counts = []
    for target in ("cuda", "cuda", "cuda:a100", "cuda"):
        done = run("run", CASES / "alias_partial_update", "--target", target, env=kept)
        assert done.stderr == "", done.stderr
        counts.append(len([f for f in (tmp_path / "kept").rglob("*") if f.is_file() and b".entry smalti_kernel" in f.read_bytes()]))
    assert counts == [1, 1, 2, 2]


def test_code_with_tensor_maps_is_cached(run, fake_cuda, tmp_path):
    """The entry describes the tensor maps, of which the driver encodes those of each call."""
    kept = {**fake_cuda("works"), "SMALTI_CACHE": str(tmp_path / "kept"), "FAKE_CUDA_TRACE": "1"}
    said = [run("run", CASES / "matmul_bf16_gelu", "--target", "cuda:h100", env=kept).stderr for _ in range(2)]
    assert said[0] == said[1] and said[0].count("map ") == 2, said
    entries = [f.read_bytes() for f in (tmp_path / "kept").rglob("*") if f.is_file()]
    assert len([e for e in entries if b"cp.async.bulk.tensor" in e]) == 1


LAUNCHER = """
#include <assert.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernel.h"

typedef unsigned long long CUdeviceptr;
typedef int (*Find)(const char *, void **, int, uint64_t, int *);

int main(void) {
  Find find = (Find)dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuGetProcAddress_v2");
  int (*load)(void **, const void *, unsigned, int *, void **), (*get)(void **, void *, const char *), (*set)(void *, int, int);
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
  find("cuModuleLoadDataEx", (void **)&load, 2010, 0, NULL), find("cuModuleGetFunction", (void **)&get, 2000, 0, NULL);
  find("cuFuncSetAttribute", (void **)&set, 9000, 0, NULL), find("cuLaunchKernel", (void **)&launch, 4000, 0, NULL);
  static char ptx[1 << 20];
  FILE *f = fopen("kernel.ptx", "r");
  assert(f && fread(ptx, 1, sizeof ptx - 1, f) > 0);
  void *module, *function;
  assert(load(&module, ptx, 0, NULL, NULL) == 0 && get(&function, module, kernel_FUNCTION) == 0 && set(function, 8, kernel_SHARED_BYTES) == 0);
  CUdeviceptr addresses[kernel_ARRAYS];
  for (int i = 0; i < kernel_ARRAYS; ++i) addresses[i] = (uintptr_t)calloc(1, (size_t)kernel_ARRAY_BYTES[i]);
  int32_t status = 0;
  CUdeviceptr arrays = (uintptr_t)addresses, workspace = (uintptr_t)malloc((size_t)kernel_WORKSPACE_BYTES + 1), ended = (uintptr_t)&status;
  long long points = kernel_points(), iterations = 1LL << 40;
  void *arguments[] = {&arrays, &workspace, &ended, &points, &iterations};
  assert(launch(function, 1, 1, 1, kernel_THREADS, 1, 1, kernel_SHARED_BYTES, NULL, arguments, NULL) == 0 && status == 0);
  printf("%d arrays of %lld bytes, %lld points\\n", kernel_ARRAYS, kernel_ARRAY_BYTES[0], points);
  return 0;
}
"""


def test_a_c_program_launches_exported_code(run, fake_cuda, tmp_path):
    """What the header declares is what the driver takes."""
    done = run("export", CASES / "add_grid_1d", "--format", "ptx", "-o", "kernel.ptx", "--json")
    assert done.returncode == 0, done.stderr
    assert '"gpu": "sm_80"' in done.stdout or '"gpu":"sm_80"' in done.stdout
    assert ".target sm_80" in (tmp_path / "kernel.ptx").read_text()
    (tmp_path / "launcher.c").write_text(LAUNCHER)
    subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-o", "launcher", "launcher.c", "-ldl"], cwd=tmp_path, check=True)
    said = subprocess.run(["./launcher"], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, **fake_cuda("works")})
    assert (said.returncode, said.stdout) == (0, "3 arrays of 16384 bytes, 4 points\n"), said.stderr


# What the header uses of cuda.h (CUDA Driver API).
CUDA_H = """
#define CUDA_VERSION 12000
#include <stdint.h>
#include <stdlib.h>
typedef enum { CUDA_SUCCESS = 0 } CUresult;
typedef unsigned long long CUdeviceptr;
typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;
typedef struct { _Alignas(64) uint64_t opaque[16]; } CUtensorMap;
typedef enum { CU_TENSOR_MAP_DATA_TYPE_UINT8, CU_TENSOR_MAP_DATA_TYPE_UINT16, CU_TENSOR_MAP_DATA_TYPE_UINT32 } CUtensorMapDataType;
enum { CU_TENSOR_MAP_INTERLEAVE_NONE = 0, CU_TENSOR_MAP_SWIZZLE_128B = 3, CU_TENSOR_MAP_L2_PROMOTION_L2_256B = 3,
       CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0 };
CUresult cuTensorMapEncodeTiled(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *,
                                const cuuint32_t *, const cuuint32_t *, int, int, int, int);
"""

ENCODER = """
#include "cuda.h"
#include "kernel.h"
#include <dlfcn.h>
#include <stdio.h>

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address, const cuuint64_t *extents,
                                const cuuint64_t *strides, const cuuint32_t *box, const cuuint32_t *steps, int a, int b, int c, int d) {
  int (*find)(const char *, void **, int, uint64_t, int *) = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuGetProcAddress_v2");
  int (*encode)(void *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *, const uint32_t *, int, int, int, int);
  find("cuTensorMapEncodeTiled", (void **)&encode, 12000, 0, NULL);
  return (CUresult)encode(map, type, rank, address, extents, strides, box, steps, a, b, c, d);
}

int main(void) {
  CUdeviceptr addresses[kernel_ARRAYS];
  for (int i = 0; i < kernel_ARRAYS; ++i) addresses[i] = (uintptr_t)aligned_alloc(256, (size_t)(kernel_ARRAY_BYTES[i] + 255) / 256 * 256);
  CUtensorMap maps[kernel_MAPS];
  const int result = kernel_encode_maps(maps, addresses);
  printf("%d, %d maps, %d threads\\n", result, kernel_MAPS, kernel_THREADS);
  return 0;
}
"""


def test_exported_code_with_tensor_maps(run, fake_cuda, tmp_path):
    """The header's function encodes the same maps as a call does, in the driver's own terms."""
    done = run("export", CASES / "matmul_bf16_gelu", "--format", "ptx", "--target-gpu", "h100", "-o", "kernel.ptx")
    assert done.returncode == 0, done.stderr
    assert "cp.async.bulk.tensor" in (tmp_path / "kernel.ptx").read_text()
    header = (tmp_path / "kernel.h").read_text()
    assert "void *arguments[] = {&arrays, &workspace, &ended, &points, &iterations, maps};" in header
    (tmp_path / "cuda.h").write_text(CUDA_H)
    (tmp_path / "encoder.c").write_text(ENCODER)
    subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-o", "encoder", "encoder.c", "-ldl"], cwd=tmp_path, check=True)
    traced = {**fake_cuda("works"), "FAKE_CUDA_TRACE": "1"}
    said = subprocess.run(["./encoder"], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, **traced})
    assert (said.returncode, said.stdout) == (0, "0, 2 maps, 160 threads\n"), said.stderr
    assert said.stderr == run("run", CASES / "matmul_bf16_gelu", "--target", "cuda:h100", env=traced).stderr
    # A program without cuda.h may include the header, and encode the maps itself.
    (tmp_path / "plain.c").write_text('#include "kernel.h"\nint main(void) { return kernel_MAPS - 2; }\n')
    subprocess.run(["cc", "-std=c11", "-o", "plain", "plain.c"], cwd=tmp_path, check=True)
    assert subprocess.run(["./plain"], cwd=tmp_path).returncode == 0


def test_exported_code_needs_a_name_and_no_prints(run):
    said = run("export", CASES / "add_grid_1d", "--format", "cubin").stderr
    assert said == ("error[SM1000]: a file of device code and its header need a name\n"
                    "  help: name the code: -o kernel.cubin; its header is kernel.h\n")
    said = run("export", CASES / "debug_print_vector", "--format", "ptx", "-o", "k.ptx").stderr
    assert said.startswith("error[SM7201]: ") and "  have: debug prints, which only Smalti can format\n" in said
    assert run("export", CASES / "add_grid_1d", "--format", "ptx", "--target-gpu", "sm_35", "-o", "k.ptx").stderr.startswith("error[SM7203]")
