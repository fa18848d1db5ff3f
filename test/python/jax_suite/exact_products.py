"""XLA's own products of floats, which tests compare kernels with, are computed in f64 and rounded once.

XLA for CPUs sums in an order of its own, and has no products of some types. Products inside kernels are not XLA's.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def install() -> None:
    from jax._src.interpreters import mlir
    from jax._src.lax import lax

    rules = mlir._platform_specific_lowerings["cpu"]
    default = (rules.get(lax.dot_general_p) or mlir._lowerings[lax.dot_general_p]).rule
    double = np.dtype(np.float64)

    def exact(ctx: Any, *operands: Any, **params: Any) -> Any:
        (result,) = ctx.avals_out
        if not all(lax.dtypes.issubdtype(aval.dtype, np.floating) for aval in (*ctx.avals_in, result)):
            return default(ctx, *operands, **params)
        wide_in, wide_out = ([aval.update(dtype=double, weak_type=False) for aval in avals] for avals in (ctx.avals_in, ctx.avals_out))
        wide = [mlir.convert_hlo(ctx, x, narrow, aval) for x, narrow, aval in zip(operands, ctx.avals_in, wide_in)]
        params = {**params, "precision": None, "preferred_element_type": double}
        product = default(ctx.replace(avals_in=wide_in, avals_out=wide_out), *wide, **params)
        return [mlir.convert_hlo(ctx, product[0], wide_out[0], result)]

    mlir.register_lowering(lax.dot_general_p, exact, platform="cpu")
