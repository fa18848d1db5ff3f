"""What a TPU lets pass: a run goes on after reads outside of a ref; `run` warns of them, `check` reports them as mistakes,
and what a module says that it means as a note."""

import json
import subprocess

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed: no kernels to export")

import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

X = np.arange(8 * 128, dtype=np.float32).reshape(8, 128)
SHAPE = jax.ShapeDtypeStruct((8, 128), jnp.float32)


def differences(x_ref, o_ref):
    """Each row less the one above; what the first has above it is thrown away."""

    def row(i, _):
        above = jnp.where(i > 0, x_ref[pl.ds(i - 1, 1), :], 0)
        o_ref[pl.ds(i, 1), :] = x_ref[pl.ds(i, 1), :] - above

    jax.lax.fori_loop(0, 8, row, None)


def through_a_slice(x_ref, o_ref):
    def row(i, _):
        above = jnp.where(i > 0, x_ref.at[pl.ds(i - 1, 2), :][0:1, :], 0)
        o_ref[pl.ds(i, 1), :] = x_ref[pl.ds(i, 1), :] - above

    jax.lax.fori_loop(0, 8, row, None)


def leaves_a_copy(x_hbm, o_ref, buffer, sem):
    """A prefetch for a step that does not come."""
    copy = pltpu.make_async_copy(x_hbm, buffer, sem)
    copy.start()
    copy.wait()
    o_ref[...] = buffer[...]
    copy.start()


def exported(folder, kernel, **options):
    np.save(folder / "x.npy", X)
    module = jax.export.export(jax.jit(pl.pallas_call(kernel, out_shape=SHAPE, **options)), platforms=["tpu"])(X)
    (folder / "kernel.mlir").write_text(module.mlir_module())


@pytest.fixture
def run(smalti, tmp_path):
    def call(verb, *arguments, inputs=("--in", "x.npy")):
        return subprocess.run([smalti, verb, "kernel.mlir", *inputs, *arguments], capture_output=True, text=True,
                              cwd=tmp_path, timeout=120)
    return call


@pytest.mark.parametrize("target", ["interpret", "cpu"])
@pytest.mark.parametrize("params", [{}, {"disable_bounds_checks": True}], ids=["", "unchecked"])
@pytest.mark.parametrize("kernel, what", [(differences, "read"), (through_a_slice, "slice")], ids=["read", "slice"])
def test_run_goes_on_after_a_read_outside(run, tmp_path, kernel, what, params, target):
    exported(tmp_path, kernel, compiler_params=pltpu.CompilerParams(**params))
    done = run("run", "--out", ".", "--target", target)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "out0.npy"), np.diff(X, axis=0, prepend=0))
    assert done.stderr.count("SM4010") == 1
    assert (f"warning[SM4010]: out-of-bounds {what} of 'input 0' (VMEM f32[8,128]): elements outside are undefined\n"
            in done.stderr)
    finding = json.loads(run("run", "--json", "--target", target).stdout)["findings"]
    assert [(f["code"], f["severity"], f["count"]) for f in finding] == [("SM4010", "warning", 1)]


def test_the_machine_names_the_element_of_a_long_kernel_without_running_it_to_its_end(run, tmp_path):
    """Its last reads are counted only by a run to the end, which takes the machine half a minute."""
    n = 30_000_000

    def sums(s_ref, o_ref):
        def step(i, total):
            x = s_ref[jnp.where((i < 2) | (i >= n - 2), 8, i & 7)]
            return total + jnp.where((i < 2) | (i >= n - 2), 0, x)

        o_ref[0] = jax.lax.fori_loop(0, n, step, jnp.int32(0))

    smem = pl.BlockSpec(memory_space=pltpu.SMEM)
    x = np.arange(8, dtype=np.int32)
    np.save(tmp_path / "x.npy", x)
    call = pl.pallas_call(sums, in_specs=[smem], out_specs=smem, out_shape=jax.ShapeDtypeStruct((1,), jnp.int32))
    (tmp_path / "kernel.mlir").write_text(jax.export.export(jax.jit(call), platforms=["tpu"])(x).mlir_module())
    done = run("run", "--out", ".", "--json", "--target", "cpu")
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "out0.npy")[0] == (n // 8 * 28 - 1 - 6 - 7) % 2**31
    [finding] = json.loads(done.stdout)["findings"]
    assert (finding["code"], finding["have"], finding["count"]) == ("SM4010", "8", 1)


def looks_one_too_far(s_ref, x_ref, o_ref):
    """Whether the next step has the same number: the last one has no next."""
    i, n = pl.program_id(0), pl.num_programs(0)
    same = (i + 1 < n) & (s_ref[i + 1] == s_ref[i])
    o_ref[...] = x_ref[...] * jnp.where(same, 2., 1.)


def scalars(folder, kernel, s, x):
    rows = pl.BlockSpec((8, 128), lambda i, s: (i, 0))
    grid = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=s.shape, in_specs=[rows], out_specs=rows)
    np.save(folder / "s.npy", s)
    np.save(folder / "x.npy", x)
    call = pl.pallas_call(kernel, grid_spec=grid, out_shape=x)
    (folder / "kernel.mlir").write_text(jax.export.export(jax.jit(call), platforms=["tpu"])(s, x).mlir_module())


@pytest.mark.parametrize("target", ["interpret", "cpu", "cuda-host", "cuda-host:sm_80"])
def test_scalars_are_read_outside_on_every_target(run, tmp_path, target):
    s = np.array([1, 1, 2, 2, 2], np.int32)
    x = np.random.default_rng(0).standard_normal((40, 128)).astype(np.float32)
    scalars(tmp_path, looks_one_too_far, s, x)
    done = run("run", "--in", "s.npy", "--in", "x.npy", "--out", ".", "--json", "--target", target, inputs=())
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "out0.npy"),
                                  x * np.repeat([2, 1, 2, 2, 1], 8)[:, None].astype(np.float32))
    report = json.loads(done.stdout)
    [finding] = report["findings"]
    assert (finding["code"], finding["have"], finding["count"]) == ("SM4010", "5", 1)
    if target != "interpret":
        assert report["statistics"]["instructions"] == 0  # the results are not the machine's


@pytest.mark.parametrize("target", ["interpret", "cpu", "cpu --threads 1", "cuda-host", "cuda-host:sm_80"])
@pytest.mark.parametrize("shape, rows", [((1, 128, 128), 128), ((2, 200, 128), 128), ((1, 128, 256), 128)], ids=["one", "partial", "view"])
@pytest.mark.parametrize("outside", [-1, 5, 2**30])
def test_an_unused_block_outside_its_array_is_harmless(run, tmp_path, shape, rows, outside, target):
    """As masks of a sequence that is divided among devices: where no block of a shard is masked, the index is -1."""
    def kernel(next_ref, uses_ref, x_ref, mask_ref, o_ref):
        uses = uses_ref[pl.program_id(0)] != 0

        @pl.when(uses)
        def _():
            o_ref[...] = jnp.where(mask_ref[0] != 0, x_ref[...], 0.)

        @pl.when(~uses)
        def _():
            o_ref[...] = x_ref[...]

    rng = np.random.default_rng(0)
    x, mask = rng.standard_normal((384, 128)).astype(np.float32), rng.integers(0, 2, shape).astype(np.float32)
    at, uses = np.array([0, outside, outside], np.int32), np.array([1, 0, 0], np.int32)
    grid = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=2, grid=(3,), out_specs=pl.BlockSpec((rows, 128), lambda i, n, u: (i, 0)),
        in_specs=[pl.BlockSpec((rows, 128), lambda i, n, u: (i, 0)), pl.BlockSpec((1, rows, 128), lambda i, n, u: (n[i], 0, 0))])
    call = pl.pallas_call(kernel, grid_spec=grid, out_shape=x)
    operands = {"at": at, "uses": uses, "x": x, "mask": mask}
    for name, array in operands.items():
        np.save(tmp_path / f"{name}.npy", array)
    module = jax.export.export(jax.jit(call), platforms=["tpu"])(*operands.values())
    (tmp_path / "kernel.mlir").write_text(module.mlir_module())
    inputs = [text for name in operands for text in ("--in", f"{name}.npy")]
    done = run("run", "--out", ".", "--json", "--target", *target.split(), inputs=inputs)
    assert done.returncode == 0, done.stderr
    expected = x.copy()
    expected[:128] = np.where(mask[0, :128, :128] != 0, x[:128], 0)
    np.testing.assert_array_equal(np.load(tmp_path / "out0.npy"), expected)
    report = json.loads(done.stdout)
    [finding] = report["findings"]
    assert (finding["code"], finding["severity"]) == ("SM4111", "warning")
    assert finding["have"].startswith(f"block index ({outside}, 0, 0), elements [{outside}:{outside + 1}, 0:128, 0:128]")
    assert finding["help"] == ("harmless if nothing uses the block, which is undefined; otherwise clamp the block index in the index "
                               "map, or make the grid smaller")
    if target != "interpret":
        assert report["statistics"]["instructions"] == 0  # the results are not the machine's
    done = run("check", inputs=inputs)
    assert done.returncode == 3 and "finding[SM4111]: the index map of input 1 gives a block outside the array\n" in done.stdout


@pytest.mark.parametrize("shape", [(16, 128), (20, 128), (24, 256), (10, 100)])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
def test_a_block_outside_its_array_is_undefined(tmp_path, shape, dtype):
    smalti = pytest.importorskip("smalti", reason="the Python package is not built")
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] + jnp.ones((), x_ref.dtype)

    x = (np.arange(np.prod(shape)) % 100).astype(dtype).reshape(shape)
    call = pl.pallas_call(kernel, grid=(6,), in_specs=[pl.BlockSpec((8, 128), lambda i: (i - 1, 0))],
                          out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)), out_shape=jax.ShapeDtypeStruct((48, 128), dtype))
    text = jax.export.export(jax.jit(call), platforms=["tpu"])(x).mlir_module()
    results = {}
    for target in ("interpret", "cpu", "cuda-host", "cuda-host:sm_80"):
        report = smalti.parse(text).compile(target=target).execute(x)
        assert [(f.diagnostic.code, f.severity) for f in report.findings] == [("SM4111", "warning")]
        assert report.findings[0].diagnostic.text.startswith("warning[SM4111]")
        results[target] = report.results[0]
    rows = -(-shape[0] // 8) * 8
    inside = (slice(8, 8 + shape[0]), slice(0, min(shape[1], 128)))
    expected = (x + np.ones((), dtype))[:, :128]
    for got in results.values():
        np.testing.assert_array_equal(got[inside], expected)
    for whole in (slice(0, 8), slice(8 + rows, 48)):  # a GPU has another block there
        np.testing.assert_array_equal(results["cpu"][whole], results["interpret"][whole])
        if dtype == "float32":
            assert np.isnan(results["cpu"][whole]).all()


@pytest.mark.parametrize("target", ["interpret", "cpu", "cuda-host", "cuda-host:sm_80"])
@pytest.mark.parametrize("columns", [128, 256])
def test_what_a_kernel_writes_to_a_block_outside_is_in_no_other_block(run, tmp_path, columns, target):
    """Kernels may use windows of inputs as scratch. The first step's block is outside, the second's is the nearest one."""
    def kernel(x_ref, o_ref):
        x_ref[...] = 2 * x_ref[...]
        o_ref[...] = jnp.where(pl.program_id(0) > 0, x_ref[...], 0.)

    x = np.arange(16 * columns, dtype=np.float32).reshape(16, columns)
    call = pl.pallas_call(kernel, grid=(3,), in_specs=[pl.BlockSpec((8, 128), lambda i: (i - 1, 0))],
                          out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)), out_shape=jax.ShapeDtypeStruct((24, 128), x.dtype))
    (tmp_path / "kernel.mlir").write_text(jax.export.export(jax.jit(call), platforms=["tpu"])(x).mlir_module())
    np.save(tmp_path / "x.npy", x)
    done = run("run", "--out", ".", "--target", target)
    assert done.returncode == 0 and "warning[SM4111]" in done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "out0.npy"), np.concatenate([np.zeros((8, 128)), 2 * x[:, :128]]))


def test_outputs_outside_their_array_are_mistakes(run, tmp_path):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    exported(tmp_path, kernel, grid=(2,), in_specs=[pl.BlockSpec((8, 128), lambda i: (0, 0))],
             out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)))
    for target in ("interpret", "cpu", "cuda-host"):
        done = run("run", "--out", ".", "--json", "--target", target)
        [finding] = json.loads(done.stdout)["findings"]
        assert (finding["code"], finding["severity"], finding["count"]) == ("SM4111", "finding", 1)
        assert finding["message"] == "the index map of output 0 gives a block outside the array"
        np.testing.assert_array_equal(np.load(tmp_path / "out0.npy"), X)


@pytest.mark.parametrize("target", ["cpu", "cuda-host"])
def test_later_calls_say_it_without_the_element(tmp_path, target):
    smalti = pytest.importorskip("smalti", reason="the Python package is not built")
    s, x = np.array([3, 3], np.int32), np.ones((16, 128), np.float32)
    scalars(tmp_path, looks_one_too_far, s, x)
    code = smalti.load(tmp_path / "kernel.mlir").compile(target=target)
    first, second = code.execute(s, x), code.execute(s, x)
    assert [f.diagnostic.have for f in first.findings] == ["2"]
    assert [(f.diagnostic.code, f.diagnostic.have) for f in second.findings] == [("SM4010", "")]
    what = " of a scalar" if target == "cuda-host" else ""
    assert second.findings[0].diagnostic.message == f"out-of-bounds read{what}: elements outside are undefined"
    assert second.findings[0].diagnostic.where == ("kernel 'looks_one_too_far'",)


@pytest.mark.parametrize("target", ["cpu", "cuda-host"])
def test_a_scalar_outside_that_is_used_is_undefined(run, tmp_path, target):
    def kernel(s_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...] * s_ref[pl.program_id(0) + 1].astype(jnp.float32)

    scalars(tmp_path, kernel, np.array([3, 4], np.int32), np.ones((16, 128), np.float32))
    done = run("run", "--in", "s.npy", "--in", "x.npy", "--out", ".", "--target", target, inputs=())
    assert done.returncode == 0 and "SM4010" in done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "out0.npy")[:, 0], [4.] * 8 + [-2.**31] * 8)


@pytest.mark.parametrize("kernel", [differences, through_a_slice])
def test_check_refuses_it(run, tmp_path, kernel):
    exported(tmp_path, kernel)
    done = run("check")
    assert done.returncode == 3 and "finding[SM4010]: out-of-bounds" in done.stdout


def test_check_goes_on_after_a_read_outside(run, tmp_path):
    """Later mistakes are reported, too: a race with the part of the read that lies inside, and the undefined output."""
    def kernel(x_hbm, o_ref, buffer, semaphore):
        copy = pltpu.make_async_copy(x_hbm, buffer, semaphore)
        copy.start()
        above = buffer[pl.ds(o_ref.shape[0] - 2 + pl.program_id(0), 8), :]
        copy.wait()
        o_ref[...] = above

    exported(tmp_path, kernel, in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
             scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.DMA], grid=(1,))
    (report,) = json.loads(run("check", "--json").stdout)
    assert report["error"] is None
    found = {f["code"]: f for f in report["findings"]}
    assert sorted(found) == ["SM4010", "SM4102", "SM4108"]
    assert found["SM4010"]["have"] == "6..13"
    assert found["SM4108"]["message"] == "scratch 0 is read while a copy writes it"
    assert "undefined elements were read from scratch 0" in found["SM4102"]["have"]


@pytest.mark.parametrize("first", [-9, -8, -3, 5, 8])
def test_check_names_reads_outside_as_the_origin(run, tmp_path, first):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[pl.ds(pl.program_id(0) + first, 8), :]

    exported(tmp_path, kernel, grid=(1,))
    (report,) = json.loads(run("check", "--json").stdout)
    read, undefined = report["findings"]
    rows = min(8, abs(first))
    place = f"{read['place']['file']}:{read['place']['line']}:{read['place']['column']}"
    assert read["have"] == f"{first}..{first + 7}"
    assert undefined["have"] == (
        f"{rows * 128} undefined element(s), the first at [{0 if first < 0 or first >= 8 else 8 - first}, 0]; undefined "
        f"elements were read from input 0 outside the ref at {place} in grid step (0)")
    assert undefined["help"] == "clamp the index of the read, or select other values in place of the elements outside"


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_what_lies_outside_is_undefined(run, tmp_path, target):
    def below(x_ref, o_ref):
        o_ref[...] = x_ref[pl.ds(x_ref[0, 0].astype(jnp.int32) + 6, 8), :]

    exported(tmp_path, below)
    done = run("run", "--out", ".", "--target", target)
    assert done.returncode == 0 and "have: 6..13\n" in done.stderr
    expected = np.full((8, 128), np.nan, np.float32)
    expected[:2] = X[6:]
    np.testing.assert_array_equal(np.load(tmp_path / "out0.npy"), expected)


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_writes_outside_end_a_run(run, tmp_path, target):
    def shifted(x_ref, o_ref):
        o_ref[pl.ds(x_ref[0, 0].astype(jnp.int32) + 6, 8), :] = x_ref[...]

    exported(tmp_path, shifted)
    done = run("run", "--target", target)
    assert done.returncode == 3 and "error[SM4010]: out-of-bounds write: [6..13, 0..127] of 'output 0'" in done.stderr


COPY = dict(in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
            scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.DMA])


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_what_the_module_means_is_a_note(run, tmp_path, target):
    exported(tmp_path, leaves_a_copy, compiler_params=pltpu.CompilerParams(disable_semaphore_checks=True), **COPY)
    done = run("check", "--target", target)
    assert done.returncode == 0, done.stdout
    assert ", 2 notes\n" in done.stdout and "note[SM4106]: semaphore scratch 1" in done.stdout
    assert "note[SM4109]: the copy from input 0 to scratch 0 is never waited for\n" in done.stdout
    assert "  have: disable_semaphore_checks, so the module means it\n" in done.stdout
    found = json.loads(run("check", "--json", "--target", target).stdout)[0]["findings"]
    assert [f["severity"] for f in found] == ["note", "note"]


def test_without_that_word_it_is_a_finding(run, tmp_path):
    exported(tmp_path, leaves_a_copy, **COPY)
    done = run("check")
    assert done.returncode == 3 and ", 2 findings\n" in done.stdout and "finding[SM4109]" in done.stdout
    found = json.loads(run("check", "--json").stdout)[0]["findings"]
    assert [f["severity"] for f in found] == ["finding", "finding"]
