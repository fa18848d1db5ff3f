"""`smalti check --legality-only` beside recorded verdicts of Google's TPU compiler, and beside the compiler itself."""

import importlib.util
import json
import pathlib
import subprocess

import pytest

import tpu_compiler
from conftest import ROOT

SAMPLE = ROOT / "test/data/tpu_legality"  # some kernels for each reason, and accepted ones; libtpu 0.0.50.1
ALL = ROOT.parent / "shared/data/tpu_legality"

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
            assert list(verdict) == ["accepted", "fits", "code", "reason", "vmem_bytes", "xla_vmem_operands"]
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
