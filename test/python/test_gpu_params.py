"""Parameters of a kernel's pipeline on GPUs: what the code does, that results do not change, and what is refused."""

import json
import sys

import numpy as np
import pytest

from conftest import ROOT, bf16_array

sys.path.insert(0, str(ROOT / "test/data/gpu"))
from products import kernel  # noqa: E402

ATTENTION = [ROOT / "test/data/gpu/attention_of_two_groups.mlir", *["--in", "bf16[1,2,256,64]"] * 3, "--out-shape", "bf16[1,2,256,64]"]
CASES = ROOT / "test/data/cases"


def code(run, arguments, params, gpu="h100"):
    done = run("show", *arguments, "--target", f"cuda:{gpu}", "--gpu-params", params, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)["kernels"][0]


@pytest.mark.parametrize("params, member, value", [
    ("num_warps=2", "threads", 64), ("num_warps=16", "threads", 512), ("num_stages=2", "stages", 2), ("num_stages=7", "stages", 7),
    ("copies=threads", "copy_threads", 0), ("copies=boxes", "copy_threads", 128), ("turns=off", "turns", 0), ("turns=on", "turns", 2)])
def test_the_code_is_as_the_parameters_say(run, params, member, value):
    assert code(run, ATTENTION, params)[member] == value


@pytest.mark.parametrize("gpu", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("warps", [1, 2, 4, 8, 16])
def test_results_do_not_depend_on_them(run, tmp_path, gpu, warps):
    """Attention, a product whose K is several stages, and a kernel without products."""
    (tmp_path / "product.mlir").write_text(kernel(128, 128, 512, 64, 64, 256, "bf16"))
    product = ["product.mlir", "--in", "bf16[128,512]", "--in", "bf16[512,128]", "--out-shape", "bf16[128,128]"]
    for name, arguments, more in [("attention", ATTENTION, [{}, {"num_stages": 2}, {"num_stages": 6, "copies": "threads"}, {"turns": "off"}]),
                                  ("product", product, [{}, {"num_stages": 2}, {"num_stages": 5}]), ("rmsnorm", [CASES / "rmsnorm_f32"], [{}])]:
        wanted = run("run", *arguments, "--fill", "random", "--target", "interpret", "--out", name)
        assert wanted.returncode == 0, wanted.stderr
        for i, params in enumerate(more):
            text = " ".join(f"{k}={v}" for k, v in {"num_warps": warps, **params}.items())
            done = run("run", *arguments, "--fill", "random", "--seed", "3" if name == "rmsnorm" else "0", "--target", f"cuda-host:{gpu}",
                       "--gpu-params", text, "--out", f"{name}{i}")
            if done.returncode and params:  # few warps cannot keep the scores in registers, so that nothing is copied ahead
                assert "error[SM7209]" in done.stderr and "no product whose operands are copied ahead" in done.stderr, text
                continue
            assert done.returncode == 0, text + done.stderr
            read = np.load if name == "rmsnorm" else bf16_array
            expected, got = (read(tmp_path / folder / "out0.npy") for folder in (name, f"{name}{i}"))
            np.testing.assert_allclose(got, expected, rtol=2**-7, atol=2**-7 if name == "product" else 2**-9, err_msg=text)


def test_sm7209_wrong_parameters_are_refused(run):
    def refused(params, arguments=ATTENTION, gpu="h100"):
        return run("show", *arguments, "--target", f"cuda:{gpu}", "--gpu-params", params).stderr

    example = "  help: for example: num_warps=8 num_stages=4 copies=boxes turns=off\n"
    assert refused("num_stages=9") == "error[SM7209]: a parameter for GPUs has an impossible value\n  need: num_stages=2 to 8\n  have: num_stages=9\n" + example
    assert refused("num_warps=3,turns=off") == (
        "error[SM7209]: a parameter for GPUs has an impossible value\n  need: num_warps=1, 2, 4, 8 or 16\n  have: num_warps=3\n" + example)
    assert refused("warps=4") == (
        "error[SM7209]: an unknown parameter for GPUs\n  need: num_warps, num_stages, copies, turns\n  have: warps=4\n" + example)
    assert refused("num_warps=4 num_warps=8") == (
        "error[SM7209]: a parameter for GPUs is given twice\n  need: num_warps once\n  have: num_warps=8\n" + example)
    for bad in ("num_warps", "num_warps=", "num_stages=-2", "num_stages=99999999999999999999", "copies=both", "turns=1", "turns==on", "=", "num_warps=8.0"):
        assert refused(bad).startswith("error[SM7209]"), bad
    impossible = "error[SM7209]: the kernel cannot be compiled as its parameters for GPUs say\n"
    assert refused("copies=boxes", gpu="a100") == (
        impossible + "  need: copies=boxes: sm_90 or later\n  have: sm_80\n  help: leave copies out, or use threads\n")
    assert refused("turns=on num_warps=4") == (
        impossible + "  need: turns=on\n  have: no two warp groups that compute with registers between two products\n"
        "  help: leave turns out for this kernel\n")
    assert refused("turns=on copies=threads") == (
        impossible + "  need: turns=on\n  have: operands that are not copied as boxes for warp groups\n  help: leave turns out for this kernel\n")
    assert refused("num_stages=4", [CASES / "rmsnorm_f32"]) == (
        impossible + "  need: num_stages=4\n  have: no product whose operands are staged in shared memory\n  help: leave num_stages out for this kernel\n")
    assert refused("copies=threads", [CASES / "rmsnorm_f32"]) == (
        impossible + "  need: copies=threads\n  have: no product whose operands are copied ahead\n"
        "  help: leave copies out; docs/gpu.md lists which operands are\n")


def test_other_targets_refuse_the_option(run):
    done = run("run", CASES / "rmsnorm_f32", "--target", "cpu", "--gpu-params", "num_warps=2")
    assert done.returncode == 2 and done.stderr == (
        "error[SM1000]: --gpu-params chooses the pipeline of code for GPUs, which is not made\n  need: --target cuda or cuda-host\n"
        "  have: --target cpu\n  help: leave it out, or name a GPU\n")
    assert "have: --target interpret with --stage all" in run("show", CASES / "rmsnorm_f32", "--gpu-params", "num_warps=2").stderr
    assert "have: --format object" in run("export", CASES / "rmsnorm_f32", "--format", "object", "-o", "x.o", "--gpu-params", "num_warps=2").stderr
    done = run("export", CASES / "rmsnorm_f32", "--format", "ptx", "--target-gpu", "h100", "--gpu-params", "num_warps=2", "-o", "x.ptx")
    assert done.returncode == 0, done.stderr
    assert run("show", CASES / "rmsnorm_f32", "--stage", "ptx", "--gpu-params", "num_warps=2").stdout.count(".maxntid 64\n") == 1


def test_sm7209_stages_that_do_not_fit(run, tmp_path):
    (tmp_path / "product.mlir").write_text(kernel(512, 512, 512, 128, 256, 64, "bf16"))
    arrays = ["--in", "bf16[512,512]", "--in", "bf16[512,512]", "--out-shape", "bf16[512,512]"]
    impossible = "error[SM7209]: the kernel cannot be compiled as its parameters for GPUs say\n"
    done = run("show", "product.mlir", *arrays, "--target", "cuda:h100", "--gpu-params", "num_stages=8")
    assert done.stderr == (impossible + "  need: num_stages=8 of 49152 bytes each\n  have: 216064 bytes of shared memory for stages (sm_90a)\n"
                           "  help: use fewer stages or smaller blocks\n")
    done = run("show", "product.mlir", *arrays, "--target", "cuda:sm_86", "--gpu-params", "num_stages=3")  # in blocks of 128 x 128
    assert done.stderr == (impossible + "  need: num_stages=3 of 32768 bytes each\n  have: 84992 bytes of shared memory for stages (sm_86)\n"
                           "  help: use fewer stages or smaller blocks\n")
    (tmp_path / "product.mlir").write_text(kernel(200, 520, 512, 200, 520, 64, "bf16"))
    arrays = ["--in", "bf16[200,512]", "--in", "bf16[512,520]", "--out-shape", "bf16[200,520]"]
    done = run("show", "product.mlir", *arrays, "--target", "cuda:sm_86", "--gpu-params", "num_stages=3")
    assert done.stderr == (impossible + "  need: num_stages=3\n  have: a product whose operands are not copied ahead of its step, with 1 chunk of K\n"
                           "  help: use fewer stages, or smaller blocks so that stages fit into shared memory\n")


def test_pallas_metadata_are_parameters(run, tmp_path):
    """`pallas_call(…, metadata={"smalti.gpu": "num_stages=3"})`, and an attribute of the call."""
    jax = pytest.importorskip("jax")
    from jax.experimental import pallas as pl

    def multiply(x, y, o):
        @pl.when(pl.program_id(2) == 0)
        def _():
            o[...] = jax.numpy.zeros_like(o)

        o[...] += jax.numpy.dot(x[...], y[...], preferred_element_type=jax.numpy.float32)

    x = jax.ShapeDtypeStruct((256, 256), jax.numpy.bfloat16)
    call = pl.pallas_call(multiply, out_shape=jax.ShapeDtypeStruct(x.shape, jax.numpy.float32), grid=(2, 2, 2),
                          in_specs=[pl.BlockSpec((128, 128), lambda i, j, k: (i, k)), pl.BlockSpec((128, 128), lambda i, j, k: (k, j))],
                          out_specs=pl.BlockSpec((128, 128), lambda i, j, k: (i, j)), metadata={"smalti.gpu": "num_warps=2"})
    text = jax.export.export(jax.jit(call), platforms=["tpu"])(x, x).mlir_module()
    (tmp_path / "call.mlir").write_text(text)
    done = run("show", "call.mlir", "--target", "cuda:h100", "--json")
    assert json.loads(done.stdout)["kernels"][0]["threads"] == 64
    run("export", "call.mlir", "--format", "stablehlo", "-o", "again.mlir")
    assert json.loads(run("show", "again.mlir", "--target", "cuda:h100", "--json").stdout)["kernels"][0]["threads"] == 64
    assert json.loads(run("show", "call.mlir", "--target", "cuda:h100", "--gpu-params", "num_warps=4", "--json").stdout)["kernels"][0]["threads"] == 128
