"""A call of a kernel as a module of its own, in StableHLO's text."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func


def _function_of(op: ir.Operation, name: str) -> func.FuncOp:
    """A function, at the insertion point, that is this call."""
    kind = ir.FunctionType.get([o.type for o in op.operands], [r.type for r in op.results])
    function = func.FuncOp(name, kind)
    with ir.InsertionPoint(function.add_entry_block()):
        call = op.clone()
        for i, argument in enumerate(function.arguments):
            call.operands[i] = argument
        func.ReturnOp(call.results)
    return function


def module_of(op: ir.Operation) -> str:
    """StableHLO text whose main is this call."""
    with op.context, op.location:
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            _function_of(op, "main")
        return module.operation.get_asm(enable_debug_info=True)


def module_on_devices(op: ir.Operation, devices: int) -> str:
    """StableHLO text whose main makes this call on all devices; its arrays have a leading dimension, which counts them."""
    local = [o.type for o in op.operands], [r.type for r in op.results]
    every = [[ir.RankedTensorType.get([devices, *t.shape], t.element_type) for t in types] for types in local]
    single = [[ir.RankedTensorType.get([1, *t.shape], t.element_type) for t in types] for types in local]

    def listed(prefix: str, types: list[ir.Type]) -> str:
        return ", ".join(f"%{prefix}{i}: {t}" for i, t in enumerate(types))

    def joined(types: list[ir.Type]) -> str:
        return ", ".join(map(str, types))

    def names(prefix: str, types: list[ir.Type]) -> str:
        return ", ".join(f"%{prefix}{i}" for i in range(len(types)))

    def assigned(prefix: str, types: list[ir.Type]) -> str:
        return f"{names(prefix, types)} = " if types else ""

    def given_back(prefix: str, types: list[ir.Type]) -> str:
        return f"{names(prefix, types)} : {joined(types)}" if types else ""

    def shardings(types: list[ir.Type]) -> str:
        return ", ".join("<@mesh, [" + ", ".join(['{"devices"}', *["{}"] * (len(t.shape) - 1)]) + "]>" for t in types)

    def reshapes(to: str, types: list[ir.Type], of: str, before: list[ir.Type]) -> str:
        return "".join(f"%{to}{i} = stablehlo.reshape %{of}{i} : ({b}) -> {t}\n"
                       for i, (t, b) in enumerate(zip(types, before)))

    (inputs, outputs), (all_inputs, all_outputs), (one_inputs, one_outputs) = local, every, single
    text = f"""
module attributes {{mhlo.num_partitions = {devices} : i32, mhlo.num_replicas = 1 : i32}} {{
  sdy.mesh @mesh = <["devices"={devices}]>
  func.func private @kernel({joined(inputs)}) -> ({joined(outputs)})
  func.func public @main({listed("all", all_inputs)}) -> ({joined(all_outputs)}) {{
    {assigned("result", outputs)}sdy.manual_computation({names("all", all_inputs)}) in_shardings=[{shardings(all_inputs)}]
        out_shardings=[{shardings(all_outputs)}] manual_axes={{"devices"}} ({listed("one", one_inputs)}) {{
      {reshapes("in", inputs, "one", one_inputs)}
      {assigned("out", outputs)}func.call @kernel({names("in", inputs)}) : ({joined(inputs)}) -> ({joined(outputs)})
      {reshapes("back", one_outputs, "out", outputs)}
      sdy.return {given_back("back", one_outputs)}
    }} : ({joined(all_inputs)}) -> ({joined(all_outputs)})
    return {given_back("result", all_outputs)}
  }}
}}"""
    with op.context, op.location:
        module = ir.Module.parse(text)
        declaration = module.body.operations[1]
        with ir.InsertionPoint(declaration):
            _function_of(op, "kernel").attributes["sym_visibility"] = ir.StringAttr.get("private")
        declaration.erase()
        return module.operation.get_asm(enable_debug_info=True)
