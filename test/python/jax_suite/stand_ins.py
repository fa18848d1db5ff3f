"""Modules that JAX's tests import and its wheels do not have, as far as the tests use them."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable


def install(most: int) -> None:
    """`most`: examples of hypothesis that a test takes; 0: as many as it says."""
    from jax._src import config

    if not hasattr(config, "jax_pallas_use_mosaic_gpu"):  # of no matter for TPUs
        config.jax_pallas_use_mosaic_gpu = config.bool_state("smalti_pallas_use_mosaic_gpu", False, "A flag of newer JAX.")
    from jax._src import core, hijax

    if not hasattr(hijax, "HiPrimitive"):  # so that a file that names it can be imported
        hijax.HiPrimitive = core.Primitive
    _module("jax._src.pallas.pallas_test_util", PallasTest=_pallas_test(), PallasTPUTest=_pallas_test())
    _module("jax._src.hypothesis_test_util", setup_hypothesis=_hypothesis(most),
            hypothesis_is_thread_safe=lambda: True, **_sharded())


def _module(name: str, **members: object) -> None:
    module = types.ModuleType(name)
    vars(module).update(members)
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    __import__(parent)
    setattr(sys.modules[parent], child, module)


def _pallas_test() -> type:
    from jax._src import test_util
    from jax.experimental import pallas as pl

    class PallasTest(test_util.JaxTestCase):
        INTERPRET = False

        def pallas_call(self, *args, **options):
            return pl.pallas_call(*args, **options, interpret=self.INTERPRET)

    return PallasTest


def _hypothesis(most: int) -> Callable[..., None]:
    def setup(max_examples: int = 30) -> None:
        """The same examples in every run."""
        import hypothesis

        hypothesis.settings.register_profile("smalti", database=None, derandomize=True, deadline=None,
                                             max_examples=min(max_examples, most) if most else max_examples,
                                             suppress_health_check=list(hypothesis.HealthCheck))
        hypothesis.settings.load_profile("smalti")

    return setup


def _sharded() -> dict[str, object]:
    from absl.testing import absltest
    from jax._src import test_util

    return {"HypothesisShardedTestCase": test_util.JaxTestCase, "HypothesisShardedTestLoader": absltest.TestLoader}
