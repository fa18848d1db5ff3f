"""The install tree: a program outside the tree finds it with find_package, and public headers need nothing of MLIR."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*command, **kwargs):
    done = subprocess.run(command, capture_output=True, text=True, **kwargs)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def consumer(bin_dir, tmp_path_factory):
    prefix, build = tmp_path_factory.mktemp("install"), tmp_path_factory.mktemp("build")
    run("cmake", "--build", str(bin_dir.parent), "--target", "tools")  # as ./do build
    run("cmake", "--install", str(bin_dir.parent), "--prefix", str(prefix))
    run("cmake", "-S", str(ROOT / "test/consumer"), "-B", str(build), "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", str(build))
    return build / "consumer", prefix


def test_what_is_installed_is_built_by_do_build(bin_dir):
    build = bin_dir.parent
    rules = "".join(file.read_text() for file in build.rglob("cmake_install.cmake"))
    installed = {os.path.relpath(os.path.realpath(f), build) for f in re.findall(rf'"({build}/(?:bin|lib)/[^"]*)"', rules)}
    built = set(re.findall(r" -o (\S+)", run("ninja", "-C", str(build), "-t", "commands", "tools")))
    assert "bin/smalti" in installed and installed <= built


def test_consumer_outside_the_tree_runs_a_kernel(consumer):
    program, _ = consumer
    out = run(str(program), str(ROOT / "examples/mistakes/missing_init.mlir"))
    assert out.splitlines()[0] == "f32[256,256]"
    assert out.splitlines()[-1] != "0 findings"


def test_installed_headers_are_free_of_mlir_and_llvm(consumer):
    _, prefix = consumer
    headers = list((prefix / "include/smalti").rglob("*.h"))
    assert headers
    for header in headers:
        text = header.read_text()
        assert "mlir/" not in text and "llvm/" not in text, header


def test_installed_tool_runs(consumer):
    _, prefix = consumer
    assert "smalti" in run(str(prefix / "bin/smalti"), "--version")


def test_the_program_of_the_readme(consumer, tmp_path):
    _, prefix = consumer
    text = (ROOT / "README.md").read_text()
    [program], [cmake] = (re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S) for kind in ("cpp", "cmake"))
    (tmp_path / "add.cpp").write_text(program)
    (tmp_path / "CMakeLists.txt").write_text(cmake)
    run("cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build"), "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", str(tmp_path / "build"))
    for target in ("interpret", "cpu"):
        assert run(str(tmp_path / "build/add"), env={**os.environ, "SMALTI_TARGET": target}) == "2\n"


@pytest.mark.parametrize("installed", [True, False], ids=["installed", "build tree"])
def test_a_project_in_cplusplus_only_has_kernels(consumer, bin_dir, tmp_path, installed):
    """From the install tree and from the build tree; an edit of the recorded case makes the kernel again."""
    _, prefix = consumer
    shutil.copytree(ROOT / "test/data/cases/add_grid_1d", tmp_path / "add")
    (tmp_path / "main.cpp").write_text('#include "add.h"\nint main() { return add(nullptr, nullptr, nullptr); }\n')
    (tmp_path / "CMakeLists.txt").write_text("""cmake_minimum_required(VERSION 3.25)
project(kernels LANGUAGES CXX)
find_package(smalti 0.1 REQUIRED)
smalti_add_kernel(add add)
add_executable(main main.cpp)
target_link_libraries(main PRIVATE add)
""")
    build, place = tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}" if installed else f"-Dsmalti_DIR={bin_dir.parent}"
    run("cmake", "-S", str(tmp_path), "-B", str(build), "-G", "Ninja", place)
    run("cmake", "--build", str(build))
    assert subprocess.run([build / "main"]).returncode == 2
    assert "--format object" not in run("cmake", "--build", str(build), "--verbose")
    (tmp_path / "add/module.stablehlo.mlir").touch()
    assert "--format object" in run("cmake", "--build", str(build), "--verbose")


@pytest.mark.parametrize("call, said", [
    ("add kernel.mlir INS f32[8]",
     "smalti_add_kernel(add): a module is one source, here are 3: kernel.mlir INS f32[8] The keywords are CPU, KERNEL, IN "
     "and OUT_SHAPE."),
    ("add kernel.cpp CPUS haswell",
     "smalti_add_kernel(add): 'CPUS' is no C++ source Of C++ sources the only keyword is CPU."),
    ("add kernel.cpp IN f32[8]",
     "smalti_add_kernel(add): KERNEL, IN and OUT_SHAPE are for modules Of C++ sources the only keyword is CPU."),
    ("add kernel.mlir CPU", "smalti_add_kernel(add): nothing follows CPU"),
    ("add", "smalti_add_kernel(add): a module or C++ sources are missing"),
])
def test_what_is_wrong_with_a_kernel_is_said(tmp_path, call, said):
    (tmp_path / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.25)
project(kernels LANGUAGES CXX)
include({ROOT}/cmake/SmaltiKernels.cmake)
smalti_add_kernel({call})
""")
    done = subprocess.run(["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build"), "-G", "Ninja"],
                          capture_output=True, text=True)
    assert done.returncode != 0 and said in " ".join(done.stderr.split()), done.stderr


def test_a_c_program_uses_kernels_without_smalti_or_llvm(consumer, tmp_path):
    _, prefix = consumer
    run("cmake", "-S", str(ROOT / "test/consumer_c"), "-B", str(tmp_path), "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", str(tmp_path))
    program = str(tmp_path / "consumer_c")
    assert run(program) == "ok\n"
    libraries = run("ldd", program)
    assert "LLVM" not in libraries and "smalti" not in libraries and "stdc++" not in libraries
