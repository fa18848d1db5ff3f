"""Factors of matrices larger than the blocks in which they are computed, against JAX, and batches that threads share."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from test_program_results import exported

SIZES = [1, 2, 33, 150]


def random(*shape, complex=False):
    r = np.random.default_rng(shape)
    x = r.normal(size=shape)
    return (x + 1j * r.normal(size=shape)).astype(np.complex64) if complex else x.astype(np.float32)


def positive(n, complex=False):
    x = random(n, n, complex=complex)
    return x @ x.conj().T + n * np.eye(n, dtype=x.dtype)


def results(f, *arrays, threads=1):
    found = exported(f, *arrays).compile(target="cpu", threads=threads)(*arrays)
    return found if len(found) > 1 else found[0]


def close(a, b, tolerance=1e-5):
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(np.abs(b).max(initial=0), 1e-30))


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("n", SIZES)
def test_factors_multiply_to_the_matrix(n, complex):
    a, m = random(n + 7, n, complex=complex), positive(n, complex)
    for matrix in (a, a.T):
        l, u, order = results(lambda x: (lambda f, _, p: (jnp.tril(f, -1)[:, :n] + jnp.eye(len(x), n), jnp.triu(f)[:n], p))(*lax.linalg.lu(x)), matrix)
        close(l @ u, matrix[order])
        np.testing.assert_array_equal(order, lax.linalg.lu(matrix)[2])
        q, r = results(lambda x: tuple(jnp.linalg.qr(x)), matrix)
        close(q @ r, matrix)
        close(q.conj().T @ q, np.eye(q.shape[1]))
        np.testing.assert_array_equal(np.tril(r, -1), 0)
    for upper in (False, True):
        factor = results(lambda x: lax.linalg.cholesky(jnp.tril(x), symmetrize_input=False) if not upper else jnp.linalg.cholesky(x, upper=True), m)
        close(factor.conj().T @ factor if upper else factor @ factor.conj().T, m)
        np.testing.assert_array_equal((np.tril if upper else np.triu)(factor, -1 if upper else 1), 0)
    values, vectors = results(lambda x: jnp.linalg.eigh(x), m)
    close(vectors * values @ vectors.conj().T, m)
    close(vectors.conj().T @ vectors, np.eye(n))
    assert (np.diff(values) >= 0).all()


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("n", [1, 3, 100])
def test_every_triangular_system_is_solved(n, complex):
    a = random(n, n, complex=complex) / n + 2 * np.eye(n, dtype=np.float32)
    for left, lower, transpose, unit, conjugate in itertools.product([False, True], repeat=5):
        if conjugate and not (transpose and complex):
            continue
        b = random(n, 9, complex=complex) if left else random(9, n, complex=complex)
        options = {"left_side": left, "lower": lower, "transpose_a": transpose, "unit_diagonal": unit, "conjugate_a": conjugate}
        x = results(lambda a, b: lax.linalg.triangular_solve(a, b, **options), a, b)  # noqa: B023
        t = np.tril(a) if lower else np.triu(a)
        if unit:
            np.fill_diagonal(t, 1)
        t = t.conj().T if conjugate else t.T if transpose else t
        close(t @ x if left else x @ t, b, 1e-4)


@pytest.mark.parametrize("exponent", [-300, -160, 160, 300])
def test_squares_neither_overflow_nor_vanish(exponent):
    with jax.enable_x64(True):
        scale = 2.0 ** np.trunc(exponent / np.log10(2))
        a = random(20, 12).astype(np.float64)
        q, r = results(lambda x: tuple(jnp.linalg.qr(x)), a * scale)
        close(q @ (r / scale), a, 1e-14)
        close(q.T @ q, np.eye(12), 1e-14)
        values, vectors = results(lambda x: jnp.linalg.eigh(x), positive(12).astype(np.float64) * scale)
        close(vectors * (values / scale) @ vectors.T, positive(12), 1e-14)


def test_threads_share_a_batch_and_compute_the_same_bits():
    a, b = random(64, 24, 24), random(64, 24, 24)
    f = lambda a, b: (jnp.linalg.qr(a)[0], lax.linalg.lu(a), jnp.linalg.cholesky(a @ a.swapaxes(1, 2) + 24 * jnp.eye(24)),  # noqa: E731
                      jnp.linalg.eigh(a)[0], jnp.linalg.solve(a, b))
    one = jax.tree.leaves(results(f, a, b))
    for threads in (2, 3):
        for x, y in zip(one, jax.tree.leaves(results(f, a, b, threads=threads)), strict=True):
            assert x.tobytes() == y.tobytes(), threads


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_spoils_what_depends_on_it(value):
    a = positive(40)
    a[30, 5] = a[5, 30] = value
    for f in (jnp.linalg.eigh, jnp.linalg.cholesky):
        assert all(np.isnan(x).any() for x in jax.tree.leaves(results(lambda x: f(x), a)))  # noqa: B023
    good = positive(40)
    both = results(lambda x: jnp.linalg.eigh(x), np.stack([a, good]))
    assert np.isnan(both[0][0]).all() and np.isfinite(both[0][1]).all()
