"""SMALTI_JAX=1: calls smalti.jax.install() when a program imports Pallas. Run by smalti.pth at the start of Python, so it
imports nothing large."""

import importlib.util
import sys

PALLAS = "jax.experimental.pallas"


class _Finder:
    @staticmethod
    def find_spec(name, path, target=None):
        if name != PALLAS:
            return None
        sys.meta_path.remove(_Finder)
        spec = importlib.util.find_spec(name)
        run = spec.loader.exec_module

        def run_and_install(module):
            run(module)
            import smalti.jax

            smalti.jax.install()

        spec.loader.exec_module = run_and_install
        return spec


sys.meta_path.insert(0, _Finder)
