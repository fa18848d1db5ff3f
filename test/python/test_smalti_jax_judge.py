"""smalti.jax.check, compare and export."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")
pytest.importorskip("smalti", reason="the Python package is not built (it needs nanobind and jaxlib)")

import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import smalti
import smalti.jax

X = np.arange(8 * 128, dtype=np.float32).reshape(8, 128)


def never_set_to_zero(x):
    def kernel(x_ref, o_ref):
        o_ref[...] += x_ref[...]

    return pl.pallas_call(kernel, out_shape=x)(x)


def twice(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    return pl.pallas_call(kernel, out_shape=x)(x)


def test_check_gives_the_result_of_what_is_right():
    np.testing.assert_array_equal(smalti.jax.check(twice, X), X * 2)


@pytest.mark.parametrize("target", ["cpu", "interpret"])
def test_check_raises_what_it_found_with_the_users_line(target):
    with pytest.raises(smalti.CheckError) as caught:
        smalti.jax.check(never_set_to_zero, X, target=target)
    finding = caught.value.findings[0].diagnostic
    assert caught.value.code == finding.code == "SM4102"
    assert finding.file.endswith("test_smalti_jax_judge.py")
    assert finding.line == never_set_to_zero.__code__.co_firstlineno + 2
    assert str(caught.value).startswith("finding[SM4102]: output 0 depends on uninitialised memory\n")


@pytest.mark.parametrize("target", ["cpu", "interpret"])
@pytest.mark.parametrize("code", ["SM4010", "SM4103"])
def test_check_raises_mistakes_that_end_the_run_too(code, target):
    def mistaken(first, x):
        def kernel(first_ref, x_ref, o_ref, semaphore):
            if code == "SM4010":
                o_ref[pl.ds(first_ref[0], 8), :] = x_ref[...]
            else:
                pltpu.make_async_copy(x_ref, o_ref, semaphore).wait()

        return pl.pallas_call(kernel, out_shape=x, grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1, grid=(1,), in_specs=[pl.BlockSpec((8, 128), lambda i, _: (0, 0))],
            out_specs=pl.BlockSpec((8, 128), lambda i, _: (0, 0)), scratch_shapes=[pltpu.SemaphoreType.DMA]))(first, x)

    with pytest.raises(smalti.CheckError) as caught:
        smalti.jax.check(mistaken, np.array([4], np.int32), X, target=target)
    (finding,) = caught.value.findings
    assert caught.value.code == finding.diagnostic.code == code
    assert finding.diagnostic.file.endswith("test_smalti_jax_judge.py")
    assert finding.diagnostic.line == mistaken.__code__.co_firstlineno + (3 if code == "SM4010" else 5)


def test_check_leaves_other_errors_alone():
    with pytest.raises(ZeroDivisionError):
        smalti.jax.check(lambda x: 1 / 0, X)


def test_compare_gives_the_result_where_both_agree():
    got = smalti.jax.compare(lambda x: {"a": twice(x), "b": x.astype(jnp.int32)}, X)
    np.testing.assert_array_equal(got["a"], X * 2)


def test_compare_says_where_the_first_difference_is():
    def differs(x):  # the chip is asked for while tracing: the two runs can be told apart
        from smalti.jax import _settings

        return {"y": twice(x), "z": x + jnp.where(x == 3, float(_settings.current().reference), 0)}

    with pytest.raises(smalti.jax.Mismatch) as caught:
        smalti.jax.compare(differs, X)
    assert str(caught.value) == ("result 1['z'], float32[8, 128]: 1 of 1024 elements differ, first at [0, 3]: 3.0 here, "
                                 "4.0 with interpret=True")


@pytest.mark.parametrize("dtype", ["int8", "bfloat16", "float32", "bool"])
def test_compare_takes_every_dtype(dtype):
    smalti.jax.compare(lambda x: x, jnp.ones((3,), dtype))


def test_an_exported_case_runs_without_jax(tmp_path):
    folder = smalti.jax.export(twice, X, folder=tmp_path / "case", expected=X * 2)
    module = smalti.load(folder)
    np.testing.assert_array_equal(module.run(*module.recorded_inputs(), target="cpu")[0], module.expected_results()[0])


def test_kernels_that_ask_for_the_chip_can_be_exported(tmp_path):
    def asks(x):
        assert pltpu.get_tpu_info().vmem_capacity_bytes > 0
        return twice(x)

    assert smalti.load(smalti.jax.export(asks, X, folder=tmp_path / "case")).kernels


def test_random_keys_are_compared_and_written_by_their_words(tmp_path):
    def noise(keys):
        def kernel(key_ref, o_ref):
            o_ref[...] = jax.random.uniform(key_ref[...], o_ref.shape)

        out = jax.ShapeDtypeStruct((8, 128), jnp.float32)
        return pl.pallas_call(kernel, out_shape=out)(keys["noise"]), keys["next"]

    keys = dict(zip(("next", "noise"), jax.random.split(jax.random.key(1))))
    values, after = smalti.jax.compare(noise, keys)
    assert after.dtype == keys["next"].dtype
    module = smalti.load(smalti.jax.export(noise, keys, folder=tmp_path / "case", expected=(values, after)))
    results = module.run(*module.recorded_inputs(), target="interpret")
    for result, expected in zip(results, module.expected_results(), strict=True):
        np.testing.assert_array_equal(result, expected)
