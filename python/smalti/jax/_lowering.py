"""The way in: for CPUs a kernel is lowered as for a TPU, and the call of the TPU's compiler that comes out becomes a call
of this engine."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from typing import Any

import jax
from jax.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

from smalti import _smalti
from smalti.jax import _settings, _versions

TARGET = "smalti"

_lock = threading.Lock()
_hooked = False


def hook() -> None:
    """Puts our rules before JAX's, once. While there are no settings they do what JAX's do."""
    global _hooked
    with _lock:
        if _hooked:
            return
        _versions.check()
        rules = [(p, _rule(_versions.default_lowering(p))) for p in _versions.primitives()]
        info = _versions.tpu_info()
        for primitive, rule in rules:
            mlir.register_lowering(primitive, rule, platform="cpu")
        info.registry["cpu"] = lambda: _chip_info(info)
        jax.ffi.register_ffi_target(TARGET, _smalti.xla_handlers()["call"], platform="cpu")
        _hooked = True


def _chip_info(info: Any) -> Any:
    """What pltpu.get_tpu_info() says on a CPU."""
    settings = _settings.current()
    if settings is None:
        raise ValueError("Unsupported TPU device kind: cpu")
    version = info.ChipVersion(settings.chip.removeprefix("v") if settings.chip == "v7x" else settings.chip)
    return info.get_tpu_info_for_chip(version, 1)


def _rule(default: Callable[..., Any]) -> Callable[..., Any]:
    def rule(ctx: Any, *operands: Any, **params: Any) -> Any:
        settings = _settings.current()
        if settings is None or (params["interpret"] and not settings.override_interpret):
            return default(ctx, *operands, **params)
        if settings.reference:
            return default(ctx, *operands, **{**params, "interpret": True})
        block = ir.InsertionPoint.current.block
        before = {op.operation for op in block.operations}
        results = default(ctx.replace(platforms=("tpu",)), *operands, **{**params, "interpret": False})
        for op in [op.operation for op in block.operations if op.operation not in before]:
            if op.name == "stablehlo.custom_call" and op.attributes["call_target_name"].value == "tpu_custom_call":
                _refuse_devices(ctx, op)
                _retarget(op, settings)
        return results

    return rule


def _refuse_devices(ctx: Any, op: ir.Operation) -> None:
    """A kernel runs for itself: what it says to other devices, and which it is among them, is not known to it."""
    mesh = getattr(ctx.module_context.axis_context, "mesh", None)
    attributes = op.attributes["mhlo.frontend_attributes"] if "mhlo.frontend_attributes" in op.attributes else {}
    if mesh is None or mesh.size == 1 or "kernel_metadata" not in attributes:
        return
    axes = json.loads(json.loads(attributes["kernel_metadata"].value).get("mesh_axes", "[]"))
    if axes:
        name = op.attributes["kernel_name"].value if "kernel_name" in op.attributes else "?"
        raise NotImplementedError(
            f"kernel {name!r} uses the mesh axis {', '.join(map(repr, axes))} (axis_index, remote copies or barriers): "
            "smalti.jax runs such a kernel on one device only. An index can be passed as an operand, computed outside the "
            "kernel.")


def _retarget(op: ir.Operation, settings: _settings.Settings) -> None:
    module = _module_of(op)
    options = "\n".join(f"{name}={value}" for name, value in settings.options)
    key = hashlib.blake2b(f"{options}\0{module}".encode(), digest_size=16).hexdigest()
    _smalti.compile_call(key, module, options)
    attributes = {"key": key, "module": module, "options": options}
    op.attributes["backend_config"] = ir.DictAttr.get({k: ir.StringAttr.get(v) for k, v in attributes.items()})
    op.attributes["call_target_name"] = ir.StringAttr.get(TARGET)
    op.attributes["api_version"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 4)
    if "mhlo.backend_config" in op.attributes:
        del op.attributes["mhlo.backend_config"]


def _module_of(op: ir.Operation) -> str:
    """StableHLO text whose main is this call."""
    with op.context, op.location:
        module = ir.Module.create()
        kind = ir.FunctionType.get([o.type for o in op.operands], [r.type for r in op.results])
        with ir.InsertionPoint(module.body):
            main = func.FuncOp("main", kind)
        with ir.InsertionPoint(main.add_entry_block()):
            call = op.clone()
            for i, argument in enumerate(main.arguments):
                call.operands[i] = argument
            func.ReturnOp(call.results)
        return module.operation.get_asm(enable_debug_info=True)
