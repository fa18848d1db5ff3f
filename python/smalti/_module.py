"""Modules and executables: load, compile, run and check kernels."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from smalti import _arrays, _device, _smalti
from smalti._arrays import ArrayType
from smalti._device import DeviceProgram
from smalti._errors import CheckError, Finding

Option = str | int | float | bool


@dataclasses.dataclass(frozen=True)
class Report:
    """The outcome of a run."""

    results: tuple[np.ndarray, ...]
    findings: tuple[Finding, ...]
    log: tuple[str, ...]  #: what the kernels printed
    statistics: Mapping[str, int]  #: what the abstract machine counted; native code counts nothing

    def raise_findings(self) -> None:
        """Raises CheckError if there are mistakes among the findings."""
        if mistakes := tuple(f for f in self.findings if f.is_mistake):
            raise CheckError(mistakes)


def _report(results: Any, findings: Any, log: Any, statistics: Any) -> Report:
    return Report(results, tuple(findings), tuple(log), dict(zip(_smalti.STATISTICS, statistics)))


def option_list(options: Mapping[str, Option]) -> list[tuple[str, str]]:
    """Options in the form of the command line: `step_limit=7, check=True` are step-limit 7, check on."""
    as_text = {True: "on", False: "off"}
    return [(name.replace("_", "-"), as_text[value] if isinstance(value, bool) else str(value))
            for name, value in options.items()]


class Executable:
    """A module compiled for a target. Several threads may run it at once."""

    def __init__(self, handle: Any):
        self._handle = handle
        self._arguments = tuple(_arrays.type_from(*t) for t in handle.arguments)
        self._results = tuple(_arrays.type_from(*t) for t in handle.results)

    @property
    def arguments(self) -> tuple[ArrayType, ...]:
        """dtype and shape of each input."""
        return self._arguments

    @property
    def results(self) -> tuple[ArrayType, ...]:
        """dtype and shape of each result."""
        return self._results

    def execute(self, *inputs: Any, out: Sequence[np.ndarray] | None = None) -> Report:
        """Runs once and returns a full report.

        Inputs are arrays of NumPy (with dtypes of ml_dtypes for bf16, int4, fp8), of JAX, of anything with DLPack, or lists of
        numbers. Row-major ones are read in place. Results are new arrays, or written to `out`: without a copy to arrays of
        `smalti.empty`. Ctrl-C ends a run of the machine at once, and one of native code in a loop that may be endless or when
        its kernel returns.

        Raises Error: SM1008 for the wrong number, dtypes or shapes of inputs, SM1017 for such `out`, SM40xx and SM41xx for
        errors of a kernel.
        """
        return _report(*self._run(inputs, out))

    def _run(self, inputs: Sequence[Any], out: Sequence[np.ndarray] | None) -> tuple[Any, ...]:
        """Results, findings, log and statistics, as the extension has them but for the results."""
        wanted = self._arguments
        if len(inputs) != len(wanted):
            wanted += (None,) * len(inputs)
        given = [_arrays.given(x, w, _smalti) for x, w in zip(inputs, wanted)]
        targets = None if out is None else [_arrays.writable(o, i) for i, o in enumerate(out)]
        results, findings, log, statistics = self._handle.execute(given, targets)
        arrays = tuple([_arrays.taken(r) for r in results]) if out is None else tuple(out)
        return arrays, findings, log, statistics

    def __call__(self, *inputs: Any, out: Sequence[np.ndarray] | None = None) -> tuple[np.ndarray, ...]:
        """The results of `execute`; raises CheckError when a check that it was compiled with found something. A
        RuntimeWarning reports non-fatal findings: notes, and out-of-bounds reads in a run without checks."""
        results, findings, *rest = self._run(inputs, out)
        if findings:
            _report(results, findings, *rest).raise_findings()
        for finding in findings:
            warnings.warn(str(finding), RuntimeWarning, stacklevel=2)
        return results

    def bind(self, *inputs: Any, outputs: Sequence[Any] = (), graph: bool = False) -> DeviceProgram:
        """The kernels with arrays on a GPU, ready to be launched any number of times; for the target "cuda".

        Inputs and outputs are arrays of PyTorch or JAX on that GPU, which are used in place, or those of `device_array`; inputs on
        the host are copied there. Without `outputs`, results are new arrays. With `graph`, the launches are one CUDA graph.

        Raises Error: SM1008 and SM1017 for the wrong number or types of arrays and outputs on the host, SM7207 for programs that need the host.
        """
        gpu = _smalti.gpu_of(self._handle)
        given = [_device.device_array(x, gpu).handle for x in inputs]
        results = [a.handle if a else None for a in map(_device.on_gpu, outputs)]
        return DeviceProgram(_smalti.bind(self._handle, given, results, graph))


class Module:
    """StableHLO text that contains kernels, one bare kernel, or a recorded case. Created by `load` and `parse`."""

    def __init__(self, handle: Any):
        self._handle = handle

    @property
    def name(self) -> str:
        return self._handle.name

    @property
    def has_symbolic_shapes(self) -> bool:
        """The module was exported with symbolic shapes: dimensions that it leaves open are -1. `run` and `check` take arrays of all
        shapes that it allows; the rest needs the module of `with_arguments`."""
        return self._handle.has_symbolic_shapes

    def with_arguments(self, *arguments: Any) -> Module:
        """The module for these arguments, arrays or anything else with a dtype and a shape; the last 64 are kept. A module of known
        shapes is returned as it is.

        Raises Error: SM1008 for other arguments than the module takes, SM2015 if they violate one of its constraints.
        """
        if not self.has_symbolic_shapes:
            return self
        declared = self.arguments + (None,) * len(arguments)
        like = [a if hasattr(a, "dtype") or t is None else np.asarray(a, t.dtype) for a, t in zip(arguments, declared)]
        return Module(self._handle.with_arguments([_arrays.type_given(a) for a in like]))

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels in it, in program order."""
        return tuple(self._handle.kernels)

    @property
    def arguments(self) -> tuple[ArrayType, ...]:
        """dtype and shape of each input."""
        return tuple(_arrays.type_from(*t) for t in self._handle.arguments)

    @property
    def results(self) -> tuple[ArrayType, ...]:
        """dtype and shape of each result."""
        return tuple(_arrays.type_from(*t) for t in self._handle.results)

    def compile(self, **options: Option) -> Executable:
        """The module ready to run. Options are those of the command line with underscores (`target="cpu"`, `check=True`,
        `seed=7`); over the SMALTI_… variables. What it was compiled to is kept: the same options give the same code again.

        Raises Error: SM1011 for what is not an option, and what is wrong with the module.
        """
        return Executable(self._handle.compile(option_list(options)))

    def run(self, *inputs: Any, **options: Option) -> tuple[np.ndarray, ...]:
        """The results for `inputs`; see `compile` and `Executable.execute`."""
        return self.with_arguments(*inputs).compile(**options)(*inputs)

    def check(self, *inputs: Any, **options: Option) -> Report:
        """Runs with all checks. The report's `findings` lists what they found; nothing is raised for it.

        Raises Error for a mistake that ends the run, such as a store outside a ref (SM4010) or a deadlock (SM4103).

        With `chip="v5e"` (v4, v5p, v6e, v7x; several with commas; "all"), what the compilers of those TPUs would refuse comes
        first: blocks that do not fit into VMEM, types and shapes that they do not take. No TPU is needed.
        """
        if self.has_symbolic_shapes:
            return self.with_arguments(*inputs).check(*inputs, **options)
        options = {**options, "check": True}
        refusals = tuple(self._handle.refusals(option_list(options)))
        report = self.compile(**options).execute(*inputs)
        return dataclasses.replace(report, findings=refusals + report.findings)

    def make_inputs(self, fill: str = "ones", seed: int = 0) -> tuple[np.ndarray, ...]:
        """Arrays for every argument, filled with "ones", "iota" or "random"."""
        return tuple(_arrays.taken(a) for a in _smalti.make_inputs(self._handle, fill, seed))

    def recorded_inputs(self) -> tuple[np.ndarray, ...]:
        """Of a case folder: the recorded inputs; missing ones are filled with ones."""
        return tuple(_arrays.taken(a) for a in self._handle.recorded_inputs())

    def expected_results(self) -> tuple[np.ndarray, ...]:
        """Of a case folder: the expected results; empty if none were recorded."""
        return tuple(_arrays.taken(a) for a in self._handle.expected_results())

    def export_stablehlo(self, bytecode_version: int = 13) -> str:
        """StableHLO text with kernel bodies of this stable_mosaic version (8 to 18)."""
        return self._handle.export_stablehlo(bytecode_version)

    def __repr__(self) -> str:
        arguments = ", ".join(map(str, self.arguments))
        return f"<smalti.Module {self.name!r}: ({arguments}) -> ({', '.join(map(str, self.results))})>"


def load(path: str | os.PathLike[str], arguments: Sequence[Any] = (), results: Sequence[Any] = ()) -> Module:
    """The module in a file, or in a folder with case.json.

    A bare kernel does not say how large the arrays are: give `arguments` and `results`, arrays or anything else with a
    dtype and a shape. With `arguments`, a module with symbolic shapes becomes that of `Module.with_arguments`. Raises Error: SM1001 for a file that cannot be read, SM1012 for a bare kernel without results,
    SM1013 for what is not a module, SM2xxx for what is wrong in it.
    """
    return Module(_smalti.load(os.fspath(path), [_arrays.type_given(a) for a in arguments],
                               [_arrays.type_given(r) for r in results]))


def parse(content: str | bytes, name: str = "module", arguments: Sequence[Any] = (), results: Sequence[Any] = ()) -> Module:
    """The same from memory; `name` is used in messages."""
    data = content.encode() if isinstance(content, str) else content
    return Module(_smalti.parse(data, name, [_arrays.type_given(a) for a in arguments],
                                [_arrays.type_given(r) for r in results]))


def _module(module: Module | str | os.PathLike[str]) -> Module:
    return module if isinstance(module, Module) else load(module)


def compile(module: Module | str | os.PathLike[str], **options: Option) -> Executable:
    """`load(module).compile(**options)`."""
    return _module(module).compile(**options)


def run(module: Module | str | os.PathLike[str], *inputs: Any, **options: Option) -> tuple[np.ndarray, ...]:
    """`load(module).run(*inputs, **options)`."""
    return _module(module).run(*inputs, **options)


def check(module: Module | str | os.PathLike[str], *inputs: Any, **options: Option) -> Report:
    """`load(module).check(*inputs, **options)`."""
    return _module(module).check(*inputs, **options)
