"""The way in: for CPUs a kernel is lowered as for a TPU, and the call of the TPU's compiler that comes out becomes a call
of this engine."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import threading
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from smalti import _smalti
from smalti.jax import _chip, _refusals, _settings, _versions
from smalti.jax._modules import module_of, module_on_devices

TARGET = "smalti"
TARGET_ON_DEVICES = "smalti_on_devices"

_lock = threading.Lock()
_hooked = False


def hook() -> None:
    """Installs Smalti's rules before those of JAX, once. Without settings they behave like JAX's."""
    global _hooked
    _refusals.forked()
    with _lock:
        if _hooked:
            return
        _versions.check(_smalti.xla_interface())
        rules = [(p, _rule(_versions.default_lowering(p))) for p in _versions.primitives()]
        handlers = _smalti.xla_handlers()
        _chip.answer_queries()
        for primitive, rule in rules:
            mlir.register_lowering(primitive, rule, platform="cpu")
            primitive.def_impl(_eager(primitive, primitive.impl))
        jax.ffi.register_ffi_target(TARGET, handlers["call"], platform="cpu")
        jax.ffi.register_ffi_target(TARGET_ON_DEVICES, handlers["call_on_devices"], platform="cpu")
        _hooked = True


def _cores_of_call(params: dict[str, Any]) -> int:
    """TensorCores that the call itself asks for: by its mesh of cores, or for JAX's interpreter."""
    return max([1, getattr(params["interpret"], "num_cores_or_threads", 1),
                *(getattr(mesh, "num_cores", 1) for mesh in params.get("meshes", ()))])


def _rule(default: Callable[..., Any]) -> Callable[..., Any]:
    def rule(ctx: Any, *operands: Any, **params: Any) -> Any:
        settings = _settings.current()
        if settings is None or (params["interpret"] and not settings.override_interpret):
            return default(ctx, *operands, **params)
        if settings.reference:
            return default(ctx, *operands, **{**params, "interpret": True})
        _refusals.forked()
        _refusals.other_units(_name(params), params)
        _refusals.dtypes(_name(params), ctx.avals_in, ctx.avals_out)
        settings = settings.with_cores(_cores_of_call(params))
        block = ir.InsertionPoint.current.block
        before = {op.operation for op in block.operations}
        with _refusals.stores_of_keys(_name(params)):
            results = default(_for_a_tpu(ctx), *operands, **{**params, "interpret": False})
        for op in [op.operation for op in block.operations if op.operation not in before]:
            if op.name == "stablehlo.custom_call" and op.attributes["call_target_name"].value == "tpu_custom_call":
                _give_place(op, _versions.place_of_index_maps(params))
                devices = _devices(ctx, op)
                module = module_of(op) if devices == 1 else module_on_devices(op, devices)
                if devices > 1:
                    op, results = _with_position(op, results)
                _retarget(op, module, settings, devices, _mesh_size(ctx))
        if ctx.tokens_in is not None and params["interpret"]:  # InterpretParams announces callbacks; there are none
            ctx.set_tokens_out(ctx.tokens_in)
        return results

    return rule


def _eager(primitive: Any, default: Callable[..., Any]) -> Callable[..., Any]:
    """A call outside of jit, for jax_debug_nans: JAX looks for the op that made a NaN by running a function's ops one by
    one, and would run a kernel this way forever."""

    def eager(*operands: Any, **params: Any) -> Any:
        if _settings.current() is None or not (jax.config.jax_debug_nans or jax.config.jax_debug_infs):
            return default(*operands, **params)

        def call(*operands: Any) -> Any:
            return primitive.bind(*operands, **params)

        call.__qualname__ = f"the kernel {_name(params)!r}"
        call._apply_primitive = True  # type: ignore[attr-defined]  # one op: JAX stops here
        with jax.disable_jit(False):
            return jax.jit(call)(*operands)

    return eager


def _name(params: dict[str, Any]) -> str:
    """The kernel's name: that of the call, otherwise of its function."""
    jaxpr = params["jaxpr"] if "jaxpr" in params else params["jaxprs"][0]
    return params["name"] or jaxpr.debug_info.func_name


def _for_a_tpu(ctx: Any) -> Any:
    """Lowers as for export: to the form that JAX keeps stable, with the user's lines in the kernel."""
    module = ctx.module_context
    parameters = dataclasses.replace(module.lowering_parameters, for_export=True, export_ignore_forward_compatibility=False)
    module = module.replace(platforms=("tpu",), lowering_parameters=parameters)  # pl.kernel asks the module, the rest the rule
    return ctx.replace(platforms=("tpu",), module_context=module)


def _devices(ctx: Any, op: ir.Operation) -> int:
    """The number of devices that run this kernel together: those of the mesh if it communicates or names an axis, else one."""
    size = _mesh_size(ctx)
    if size == 1:
        return 1
    config = json.loads(op.attributes["backend_config"].value).get("custom_call_config", {})
    talks = config.get("has_communication") or "collective_id" in config
    attributes = op.attributes["mhlo.frontend_attributes"] if "mhlo.frontend_attributes" in op.attributes else {}
    metadata = json.loads(attributes["kernel_metadata"].value) if "kernel_metadata" in attributes else {}
    return size if talks or json.loads(metadata.get("mesh_axes", "[]")) else 1


def _mesh_size(ctx: Any) -> int:
    """The number of devices that run the program."""
    mesh = getattr(ctx.module_context.axis_context, "mesh", None)
    return 1 if mesh is None else mesh.size


def _give_place(op: ir.Operation, place: tuple[str, int] | None) -> None:
    """JAX lowers a call before it says where the call is. Smalti's diagnostics about index maps that have no place of
    their own say this one."""
    if place:
        op.location = ir.Location.file(*place, 0, context=op.context)


def _retarget(op: ir.Operation, module: str, settings: _settings.Settings, devices: int, mesh_size: int) -> None:
    options = "\n".join(f"{name}={value}" for name, value in settings.options)
    variables = sorted(v for v in os.environ.items() if v[0].startswith("SMALTI_"))
    key = hashlib.blake2b(f"{options}\0{variables}\0{module}".encode(), digest_size=16).hexdigest()
    _smalti.compile_call(key, module, options)
    named = {"key": key, "module": module, "options": options, "chip": settings.chip if settings.legality else ""}
    attributes = {k: ir.StringAttr.get(v) for k, v in named.items()}
    numbers = {"mesh_size": mesh_size} | ({"devices": devices, "seconds": _patience(settings)} if devices > 1 else {})
    attributes |= {k: ir.IntegerAttr.get(ir.IntegerType.get_signless(64), v) for k, v in numbers.items()}
    op.attributes["backend_config"] = ir.DictAttr.get(attributes)
    op.attributes["call_target_name"] = ir.StringAttr.get(TARGET if devices == 1 else TARGET_ON_DEVICES)
    op.attributes["api_version"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 4)
    if "mhlo.backend_config" in op.attributes:
        del op.attributes["mhlo.backend_config"]


def _patience(settings: _settings.Settings) -> int:
    """The number of seconds for which a device waits for the others."""
    given = dict(settings.options).get("timeout-seconds", os.environ.get("SMALTI_TIMEOUT_SECONDS"))
    return int(given or 0) or 60


def _with_position(op: ir.Operation, results: Any) -> tuple[ir.Operation, Any]:
    """The call with one operand more: the device's position in the mesh. `results` as they are with it."""
    with op.context, op.location, ir.InsertionPoint(op):
        position = hlo.partition_id()
        attributes = {op.attributes[i].name: op.attributes[i].attr for i in range(len(op.attributes))}
        layouts = ir.ArrayAttr.get([*op.attributes["operand_layouts"], ir.DenseIntElementsAttr.get(
            np.zeros(0, np.int64), type=ir.IndexType.get(), shape=[0])])
        call = ir.Operation.create(op.name, results=[r.type for r in op.results], operands=[*op.operands, position],
                                   attributes=attributes | {"operand_layouts": layouts})
    news = dict(zip(op.results, call.results))
    for old, new in news.items():
        old.replace_all_uses_with(new)
    results = jax.tree.map(lambda value: news.get(value, value), results)
    op.erase()
    return call, results
