"""Smalti runs and checks Pallas TPU kernels without a TPU.

    import smalti
    module = smalti.load("attention.mlir")
    results = module.run(q, k, v, target="cpu")
    for finding in module.check(q, k, v).findings:
        print(finding)

`smalti.jax` (import it by name; needs JAX) runs the kernels of unmodified JAX programs.
"""

from smalti._arrays import ArrayType, empty
from smalti._conform import CaseOutcome, Conformance, conform
from smalti._device import DeviceArray, DeviceProgram, device_array
from smalti._errors import CheckError, Diagnostic, Error, Finding
from smalti._module import Executable, Module, Report, check, compile, load, parse, run
from smalti._smalti import version

__all__ = ["ArrayType", "CaseOutcome", "CheckError", "Conformance", "Diagnostic", "Error", "Executable", "Finding", "Module",
           "Report", "check", "compile", "conform", "device_array", "empty", "load", "parse", "run", "version"]
