"""`smalti check --legality-only` against recorded verdicts of Google's TPU compiler, and against the compiler itself."""

import importlib.util
import json
import pathlib
import subprocess

import pytest

import tpu_compiler
from conftest import ROOT

SAMPLE = ROOT / "test/data/tpu_legality"  # some kernels for each reason, and accepted ones; libtpu 0.0.50.1
ALL = ROOT.parent / "shared/data/tpu_legality"
VMEM_SAMPLE = ROOT / "test/data/tpu_vmem"  # kernels of random shapes, with the bytes that libtpu 0.0.50.1 allots
ALL_VMEM = ROOT.parent / "shared/data/tpu_vmem"

_spec = importlib.util.spec_from_file_location("tpu_legality_bench", ROOT / "bench/tpu-legality/tpu-legality.py")
bench = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(bench)


@pytest.fixture(scope="module", autouse=True)
def same_binaries(bin_dir):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SMALTI_BIN_DIR", str(bin_dir))
        yield


def shares(folder):
    """Counts over all chips of a folder of modules with verdicts."""
    rows = bench.load(folder, "both")
    ours, _ = bench.judged([path for path, _, _ in rows])
    counts, wrong = bench.compare(rows, ours)
    return sum(counts.values(), type(counts["v5e"])()), wrong


def test_the_sample_is_judged_as_the_compiler_judges_it():
    total, wrong = shares(SAMPLE)
    assert total["modules"] >= 5 * 60
    assert not [w for w in wrong if w[0] != "wrong reason"], wrong
    assert total["reason"] >= 0.95 * total["refused"], wrong


@pytest.mark.skipif(not ALL.is_dir(), reason="the modules with verdicts (../shared) are not here")
def test_all_modules_with_verdicts_here():
    total, wrong = shares(ALL)
    assert total["agree"] >= 0.985 * total["modules"], wrong
    assert total["wrong accepted"] <= 0.005 * total["modules"], wrong
    assert total["reason"] >= 0.95 * total["refused"], wrong


def check(smalti, *words):
    done = subprocess.run([smalti, "check", *map(str, words)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_an_entry_for_every_file(smalti, tmp_path):
    rows = bench.load(SAMPLE, "both")
    refused = next(pathlib.Path(path) for path, _, chips in rows if chips["v5e"][0] == "refused")
    missing, broken = tmp_path / "missing.mlir", tmp_path / "broken.mlir"
    broken.write_text("module {")
    files = [SAMPLE / "0000.mlir", refused, missing, broken]
    out = tmp_path / "out.json"
    code, _, _ = check(smalti, *files, "--chip", "v5e,v4", "--legality-only", "--json", "-o", out)
    modules = json.loads(out.read_text())["modules"]
    assert [m["file"] for m in modules] == [str(f) for f in files]
    assert code == 3
    assert modules[-2]["error"]["code"] == "SM1001" and modules[-2]["chips"] == {}
    assert modules[-1]["error"] is not None
    for module in modules[:-2]:
        assert list(module["chips"]) == ["v5e", "v4"]
        for verdict in module["chips"].values():
            assert list(verdict) == ["accepted", "fits", "code", "reason", "vmem_bytes", "xla_vmem_operands", "warnings"]
            assert verdict["xla_vmem_operands"] is None
            assert verdict["accepted"] == (verdict["reason"] is None) == (verdict["code"] is None)


def test_an_unknown_chip_is_refused_with_the_names(smalti):
    code, _, err = check(smalti, SAMPLE / "0000.mlir", "--chip", "v9", "--legality-only")
    assert code == 3 and "SM6609" in err and "v4, v5e, v5p, v6e, v7x, or a chip's .toml file" in err


def test_a_chip_of_ones_own(smalti, tmp_path):
    """A small VMEM refuses what v5e takes."""
    text = subprocess.run([smalti, "chips", "v5e", "--toml"], capture_output=True, text=True, check=True).stdout
    mine = tmp_path / "mine.toml"
    mine.write_text(text.replace('name = "v5e"', 'name = "mine"').replace(
        "vmem_default_limit_bytes = { value = 16_777_216", "vmem_default_limit_bytes = { value = 65_536"))
    file = next(f for f in sorted(SAMPLE.glob("*.mlir"))
                if json.loads(check(smalti, f, "--chip", "v5e", "--legality-only", "--json")[1])["modules"][0]["chips"]["v5e"]["vmem_bytes"] > 65536)
    verdicts = json.loads(check(smalti, file, "--chip", f"v5e,{mine}", "--legality-only", "--json")[1])["modules"][0]["chips"]
    assert verdicts["mine"]["reason"] == "vmem" and verdicts["mine"]["fits"] == "no"
    assert verdicts["v5e"]["reason"] != "vmem"


def test_export_gives_the_same_verdict(smalti):
    for file in sorted(SAMPLE.glob("*.mlir"))[::6]:
        verdict = json.loads(check(smalti, file, "--chip", "v5e", "--legality-only", "--json")[1])["modules"][0]["chips"]["v5e"]
        done = subprocess.run([smalti, "export", str(file), "--format", "stablehlo", "--chip", "v5e"], capture_output=True, text=True)
        assert (done.returncode == 0) == verdict["accepted"], file
        if not verdict["accepted"]:
            assert verdict["code"] in done.stderr


@pytest.mark.parametrize("chip", tpu_compiler.TOPOLOGIES)
def test_the_compiler_itself_says_so(chip):
    pytest.importorskip("libtpu", reason="Google's TPU compiler (PyPI: libtpu) is not installed")
    rows = bench.load(SAMPLE, "both")[::5]
    ours, _ = bench.judged([path for path, _, _ in rows])
    known = tpu_compiler.accept(chip, [pathlib.Path(path) for path, _, _ in rows])
    wrong = [path for path, (status, _) in known.items() if ours[path]["chips"][chip]["accepted"] != (status == "accepted")]
    assert len(wrong) <= 1, wrong  # another libtpu may take more


def vmem_of(folder):
    rows = bench.load(folder, "both")
    ours, _ = bench.judged([path for path, _, _ in rows])
    errors, fits = bench.compare_vmem(rows, ours)
    return [e[0] for e in errors], fits


def test_the_bytes_of_vmem_of_the_sample():
    """Kernels of random shapes, drawn from 300 of which the model of what is kept was fitted to some."""
    errors, fits = vmem_of(VMEM_SAMPLE)
    assert len(errors) >= 200
    assert bench.percentile(errors, 0.5) <= 0.01 and bench.percentile(errors, 0.8) <= 0.035 and bench.percentile(errors, 0.95) <= 0.1
    assert fits["fits, said no"] == 0 and fits["refused, said yes"] == 0
    assert fits["fits, said uncertain"] <= 0.05 * fits["fits"]


def test_the_bytes_of_attention_whose_maxima_and_sums_a_loop_carries():
    """Four kernels with the state of FlashAttention in a fori_loop: without what the loop carries, 10 % to 36 % are missing."""
    rows = [row for row in bench.load(VMEM_SAMPLE, "both") if row[1].startswith("flash_loop")]
    errors, _ = bench.compare_vmem(rows, bench.judged([path for path, _, _ in rows])[0])
    assert len(errors) == 16  # v7x keeps operands in VMEM
    assert bench.percentile([e[0] for e in errors], 0.5) <= 0.02 and max(e[0] for e in errors) <= 0.11


@pytest.mark.skipif(not ALL_VMEM.is_dir(), reason="the modules with bytes of VMEM (../shared) are not here")
def test_the_bytes_of_vmem_of_all_modules_here():
    errors, fits = vmem_of(ALL_VMEM)
    assert bench.percentile(errors, 0.8) <= 0.02 and bench.percentile(errors, 0.95) <= 0.05
    assert fits["fits, said no"] == 0 and fits["refused, said yes"] == 0
    assert fits["fits, said uncertain"] + fits["refused, said uncertain"] <= 0.05 * (fits["fits"] + fits["refused"])


def test_the_map_of_vmem_as_a_table(smalti):
    """Every part with its bar, what dominates, what one buffer saves, the largest block of each axis."""
    done = subprocess.run([smalti, "show", str(VMEM_SAMPLE / "0008.mlir"), "--stage", "vmem", "--chip", "v5e"],
                          capture_output=True, text=True, check=True)
    assert done.stdout == MAP


MAP = """\
kernel k on v5e: 8.441 MiB of 100 MiB of VMEM, fits, 91.56 MiB are free
  what                               array            buffers        bytes  padding  of the limit     first used
  input 0                            bf16[1024,1024]        2        4 MiB      0 %         4.0 %  █  kernels.py:19:36
  input 1                            bf16[1024,256]         2        1 MiB      0 %         1.0 %  ▎  kernels.py:19:43
  output 0                           bf16[1024,256]         2        1 MiB      0 %         1.0 %  ▎  kernels.py:19:13
  left operand of a product, copied  bf16[1024,1024]            ≈ 1.88 MiB                  1.9 %  ▌  kernels.py:19:36
  partial sums of a product          f32[1024,256]             ≈ 575.2 KiB                  0.6 %  ▏  kernels.py:19:20
dominated by: input 0 (4 MiB)
Buffered(1) for input 0 saves 2 MiB; its copies then wait for the body
Buffered(1) for input 1 saves 512 KiB; its copies then wait for the body
Buffered(1) for output 0 saves 512 KiB; its copies then wait for the body
the largest block along each axis that fits, the others as they are (what the compiler adds grows with it):
  i: 13616 of 24576 (12288 divides it), now 1024 (it fits); resized with it: input 0 dimension 0, output 0 dimension 0
  j: 5504 of 6144 (3072 divides it), now 256 (it fits); resized with it: input 1 dimension 1, output 0 dimension 1
SMEM 0 B of 1 MiB; semaphores 0; HBM 348 MiB of 16 GiB for operands and results

"""
