"""smalti export --format object: C programs call recorded kernels; nothing of Smalti or LLVM is linked."""

import json
import re
import subprocess

import numpy as np
import pytest

from console_examples import ROOT

CASES = ROOT / "test/data/cases"


@pytest.fixture
def smalti_export(smalti, tmp_path):
    def call(case, *arguments, output="kernel.o"):
        return subprocess.run([smalti, "export", str(CASES / case), "--format", "object", "-o", str(tmp_path / output),
                               *arguments], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    return call


def main_of(names, sizes, outputs):
    """A program that reads its operands from files NAME.bin, calls the kernel, and writes its results."""
    lines = ['#include <stdio.h>', '#include <stdlib.h>', '#include "kernel.h"', "int main(void) {", "  FILE *f;"]
    for name, size in zip(names, sizes):
        lines.append(f"  void *{name} = aligned_alloc(64, ({size} + 63) / 64 * 64);")
        if name not in outputs:
            lines.append(f'  f = fopen("{name}.bin", "rb"); if (fread({name}, 1, {size}, f) != {size}) return 9; fclose(f);')
    lines.append(f"  const int result = kernel({', '.join(names)});")
    for name, size in zip(names, sizes):
        if name in outputs:
            lines.append(f'  f = fopen("{name}.bin", "wb"); fwrite({name}, 1, {size}, f); fclose(f);')
    return "\n".join([*lines, "  return result;", "}", ""])


@pytest.mark.parametrize("case", ["add_grid_1d", "matmul_bf16_gelu", "matmul_int8", "flash_attention_causal_f32",
                                  "rmsnorm_f32", "alias_partial_update", "while_loop_collatz"])
def test_a_c_program_computes_what_was_recorded(smalti_export, case, tmp_path):
    done = smalti_export(case)
    assert done.returncode == 0, done.stderr
    described = json.loads((CASES / case / "case.json").read_text())
    arguments = [np.load(CASES / case / a["file"]) for a in described["args"]]
    results = [np.load(CASES / case / r["file"]) for r in described["results"]]
    names = [f"in{i}" for i in range(len(arguments))] + [f"out{i}" for i in range(len(results))]
    for name, array in zip(names, arguments):
        (tmp_path / f"{name}.bin").write_bytes(np.ascontiguousarray(array).tobytes())
    (tmp_path / "main.c").write_text(main_of(names, [a.nbytes for a in arguments + results],
                                             names[len(arguments):]))
    subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "main.c", "kernel.o", "-o", "main"],
                   cwd=tmp_path, check=True)
    assert subprocess.run(["./main"], cwd=tmp_path, timeout=60).returncode == 0
    for i, (expected, info) in enumerate(zip(results, described["results"])):
        got = np.frombuffer((tmp_path / f"out{i}.bin").read_bytes(), expected.dtype).reshape(expected.shape)
        if info["dtype"] == "bfloat16":
            got, expected = [(a.astype(np.uint32) << 16).view(np.float32) for a in (got, expected)]
        np.testing.assert_allclose(got.astype(np.float64), expected.astype(np.float64), rtol=2e-2, atol=2e-2)
    needed = subprocess.run(["ldd", "main"], cwd=tmp_path, capture_output=True, text=True).stdout
    assert "LLVM" not in needed and "smalti" not in needed and "libm." not in needed


def test_the_header_says_what_is_not_written(smalti_export, tmp_path):
    assert smalti_export("cast_i4_to_f32").returncode == 0
    assert ": one element per byte, sign-extended\n" in (tmp_path / "kernel.h").read_text()
    assert smalti_export("add_grid_1d").returncode == 0
    assert "stays as it is" not in (tmp_path / "kernel.h").read_text()


def test_header_is_cplusplus_too(smalti_export, tmp_path):
    assert smalti_export("add_grid_1d", "--symbol", "add").returncode == 0
    header = (tmp_path / "kernel.h").read_text()
    assert "int add(const float *in0, const float *in1, float *out0);" in header and "f32[4096]" in header
    (tmp_path / "main.cpp").write_text('#include "kernel.h"\nint main() { return add(nullptr, nullptr, nullptr); }\n')
    subprocess.run(["c++", "main.cpp", "kernel.o", "-o", "main"], cwd=tmp_path, check=True)
    assert subprocess.run(["./main"], cwd=tmp_path).returncode == 2


@pytest.mark.parametrize("processor, machine", [("haswell", 62), ("x86_64-linux-gnu/sapphirerapids", 62),
                                                ("aarch64-linux-gnu/neoverse-n1", 183)])
def test_other_processors(smalti_export, tmp_path, processor, machine):
    done = smalti_export("matmul_bf16_gelu", "--target-cpu", processor, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    elf = (tmp_path / "kernel.o").read_bytes()
    assert elf[:4] == b"\x7fELF" and int.from_bytes(elf[18:20], "little") == machine
    assert json.loads(done.stdout)["function"] == "kernel"
    assert processor.split("/")[-1] in (tmp_path / "kernel.h").read_text()


def test_a_processor_without_the_instructions_is_refused(smalti_export, tmp_path):
    """No processor has both FMA4 and AVX-512: one of the two objects cannot run here."""
    (tmp_path / "main.c").write_text('''#include "kernel.h"
static float in0[4096], in1[4096], out0[4096];
int main(void) { return kernel(in0, in1, out0); }
''')
    results = set()
    for processor in ("bdver4", "sapphirerapids", "host"):
        if smalti_export("add_grid_1d", "--target-cpu", processor).returncode != 0:
            pytest.skip("not an x86-64 processor")
        assert "4: this processor lacks" in (tmp_path / "kernel.h").read_text()
        subprocess.run(["cc", "main.c", "kernel.o", "-o", "main"], cwd=tmp_path, check=True)
        results.add(subprocess.run(["./main"], cwd=tmp_path).returncode)
    assert results == {0, 4}


def test_what_is_not_native_is_refused(smalti_export, tmp_path):
    done = smalti_export("dist_right_permute_barrier")
    assert done.returncode == 3
    assert re.fullmatch(r"error\[SM7003\]: kernel 'rpb_k' cannot be compiled ahead of time\n  --> \S+\.py:\d+\S*\n"
                        r"(.*\n)*?  need: native code for the whole kernel\n"
                        r"  have: it copies to another device or core, or signals it\n"
                        r"  help: run it by smalti run, or from a program that links Smalti\n", done.stderr), done.stderr
    assert not (tmp_path / "kernel.o").exists()


def test_an_op_that_is_not_native_is_named_with_its_place(smalti_export):
    done = smalti_export("debug_print_scalar")
    assert done.returncode == 3
    assert re.search(r"^error\[SM7003\]: .*\n  --> \S+\.py:\d+", done.stderr), done.stderr
    assert "  have: ops that are not native yet: tpu.log (debug_print)\n" in done.stderr


def test_nothing_is_left_when_the_header_cannot_be_written(smalti_export, tmp_path):
    (tmp_path / "kernel.h").mkdir()
    done = smalti_export("add_grid_1d")
    assert done.returncode == 2
    assert done.stderr == f"error[SM1006]: cannot write '{tmp_path}/kernel.h': Is a directory\n" \
        "  help: write to a folder that exists and that you may write to\n"
    assert not (tmp_path / "kernel.o").exists()


@pytest.mark.parametrize("arguments, output, code", [
    (["--target-cpu", "pentium9"], "kernel.o", "SM7001"),
    (["--target-cpu", ""], "kernel.o", "SM7001"),
    (["--target-cpu", "i686-linux-gnu/haswell"], "kernel.o", "SM7005"),
    (["--target-cpu", "s390x-linux-gnu/z15"], "kernel.o", "SM7005"),
    (["--symbol", "1st"], "kernel.o", "SM1000"),
    (["--symbol", "wchar_t"], "kernel.o", "SM1000"),
    (["--symbol", "__add"], "kernel.o", "SM1000"),
    ([], "exp.o", "SM1000"),
    ([], "double.o", "SM1000"),
    ([], "kernel.h", "SM1000"),
    ([], "-", "SM1000"),
    ([], "nowhere/kernel.o", "SM1006"),
])
def test_bad_requests_are_refused(smalti, tmp_path, arguments, output, code):
    done = subprocess.run([smalti, "export", str(CASES / "add_grid_1d"), "--format", "object", "-o", output, *arguments],
                          capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.returncode in (2, 3) and done.stderr.startswith(f"error[{code}]"), done.stderr
