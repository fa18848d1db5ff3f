"""smalti check --against: our verdicts compared with a compiler's, which is that of test/pjrt (it takes what we can read) or libtpu."""

import importlib.util
import json
import pathlib
import subprocess

import pytest

from console_examples import ROOT

CASES = ROOT / "test/data/cases"


@pytest.fixture(scope="module")
def fake(bin_dir):
    return str(bin_dir.parent / "lib/libsmalti_fake_pjrt.so")


@pytest.fixture
def check(smalti, tmp_path):
    def call(*arguments, **variables):
        return subprocess.run([smalti, "check", *map(str, arguments)], capture_output=True, text=True, cwd=tmp_path,
                              env={"PATH": "/nowhere", **{k: str(v) for k, v in variables.items()}}, timeout=600)
    return call


def test_differences_are_rows_and_the_rest_is_counted(check, fake):
    done = check(CASES / "add_grid_1d", CASES / "element_block_dim_padding", "--chip", "v5e,v6e", "--against", fake)
    assert done.returncode == 1, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    refused = str(CASES / "element_block_dim_padding")
    assert [refused, "v5e", "refused:", "unsupported-op", "accepted"] in rows
    assert [refused, "v6e", "refused:", "unsupported-op", "accepted"] in rows
    assert ("2 of 4 verdicts are the same; 0 accepted here and refused by the compiler, 2 refused here and accepted by the "
            "compiler, 0 refused for another reason, 0 without a verdict from one of the two\n") in done.stdout
    assert done.stderr == ""


def test_agreement_is_exit_code_0(check, fake):
    done = check(CASES / "add_grid_1d", CASES / "matmul_int8", "--chip", "v5e", "--against", fake)
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("2 of 2 verdicts are the same;")


def test_json_has_both_verdicts(check, fake):
    done = check(CASES / "add_grid_1d", "--chip", "v5e", "--against", fake, "--json",
                 FAKE_PJRT_ERROR="89:8:Ran out of memory in memory space vmem.")
    assert done.returncode == 1
    out = json.loads(done.stdout)
    pair = out["modules"][0]["chips"]["v5e"]
    assert (pair["agreement"], pair["vmem_ratio"]) == ("we-accept", None)
    assert pair["here"]["accepted"] and not pair["compiler"]["accepted"]
    assert pair["compiler"]["reason"] == "vmem" and set(pair["here"]) - {"warnings"} <= set(pair["compiler"])
    assert out["we_accept"] == 1 and out["same"] == 0


def test_a_crash_is_no_verdict(check, fake):
    done = check(CASES / "add_grid_1d", "--chip", "v5e", "--against", fake, FAKE_PJRT_CRASH=89)
    assert done.returncode == 2
    assert "refused: crash" in done.stdout and "1 without a verdict from one of the two" in done.stdout


def test_a_file_that_cannot_be_read_is_told(check, fake, tmp_path):
    (tmp_path / "empty.mlir").write_text("")
    done = check("empty.mlir", CASES / "add_grid_1d", "--chip", "v5e", "--against", fake)
    assert done.returncode == 2
    assert ["empty.mlir", "v5e", "error", "SM1013", "error", "SM1013"] in [line.split() for line in done.stdout.splitlines()]
    assert done.stdout.count("empty.mlir:\nerror[SM1013]: ") == 1 and "1 of 2 verdicts are the same" in done.stdout


def test_a_file_that_is_no_plugin_is_told_once(check):
    done = check(CASES / "add_grid_1d", CASES / "matmul_int8", "--chip", "v4,v5e", "--against", "/nowhere/libtpu.so")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "error[SM6802]: '/nowhere/libtpu.so' is not a PJRT plugin that can be used\n"
        "  need: a shared library for this processor with the function GetPjrtApi\n"
        "  have: there is no such file\n")


def test_a_plugin_of_another_age_is_told_once(check, fake):
    done = check(CASES / "add_grid_1d", CASES / "matmul_int8", "--chip", "v5e", "--against", fake,
                 FAKE_PJRT_ERROR="82:3:Unexpected PJRT_TopologyDescription_Create_Args size: expected 72, got 56.")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error[SM6803]: the plugin did not ") and done.stderr.count("error[") == 1
    assert done.stderr.endswith(
        "  have: INVALID_ARGUMENT: Unexpected PJRT_TopologyDescription_Create_Args size: expected 72, got 56.\n"
        "  help: the plugin's version of PJRT does not match this client: install another version of it\n")


def test_without_libtpu_a_sentence_says_how_to_get_it(check):
    done = check(CASES / "add_grid_1d", "--chip", "v5e", "--against", "libtpu")
    assert done.returncode == 2
    assert done.stderr == (
        "error[SM6801]: Google's TPU compiler (libtpu) is not installed\n"
        "  need: libtpu.so in the active Python environment, in TPU_LIBRARY_PATH, or by --against FILE\n"
        "  help: pip install libtpu (no TPU is needed to compile), in the environment that is active here\n")


def test_a_chip_of_ones_own_is_unknown_to_the_compiler(check, fake, tmp_path, smalti):
    toml = subprocess.run([smalti, "chips", "v5e", "--toml"], capture_output=True, text=True, check=True).stdout
    (tmp_path / "mine.toml").write_text(toml.replace('name = "v5e"', 'name = "mine"'))
    done = check(CASES / "add_grid_1d", "--chip", "mine.toml", "--against", fake)
    assert done.returncode == 2
    assert done.stderr == (
        "error[SM6609]: Google's compiler does not support chip 'mine'\n"
        "  need: one of v4, v5e, v5p, v6e, v7x, or all\n"
        "  help: omit --against to judge the chip by its own file\n")


@pytest.fixture(scope="module")
def libtpu():
    package = importlib.util.find_spec("libtpu")
    if not package:
        pytest.skip("Google's TPU compiler (PyPI: libtpu) is not installed")
    return str(pathlib.Path(package.origin).parent / "libtpu.so")


def test_libtpu_says_the_same_of_the_recorded_cases(check, libtpu):
    names = ["add_grid_1d", "matmul_int8", "element_block_dim_padding", "rmsnorm_f32"]
    done = check(*(CASES / name for name in names), "--chip", "v4,v5e", "--against", libtpu, "--json")
    assert done.returncode == 0, done.stdout
    assert json.loads(done.stdout)["same"] == 8


@pytest.mark.parametrize("options", [["--format", "text"], ["--format", "bytecode"]], ids=["text", "bytecode"])
def test_a_bare_kernel_is_compiled_as_large_as_its_blocks(smalti, libtpu, tmp_path, options):
    subprocess.run([smalti, "export", CASES / "add_grid_1d", *options, "-o", tmp_path / "kernel"], check=True)
    done = subprocess.run([smalti, "compile", tmp_path / "kernel", "--pjrt-plugin", libtpu], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 accepted, 0 refused" in done.stdout
