#include "plain/PlainEvaluators.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>

#include <fmt/format.h>

#include "base/Lasting.h"
#include "eval/FloatFormats.h"

namespace smalti::plain {

PlainEvaluator findEvaluator(std::string_view op) {
  using ByName = std::unordered_map<std::string_view, PlainEvaluator>;
  static constinit Lasting<const ByName> kept;
  const ByName& byName = kept.get([] {
    ByName all;
    for (const auto table :
         {elementwiseEvaluators(), shapeEvaluators(), contractEvaluators(), indexedEvaluators(), sortEvaluators(),
          windowEvaluators(), convolutionEvaluators(), linearEvaluators(), complexEvaluators(), fourierEvaluators(),
          randomEvaluators(), factorEvaluators(), eighEvaluators(), specialFunctionEvaluators()})
      for (const EvaluatorRow& row : table) all.emplace(row.op, row.evaluate);
    return all;
  });
  const auto found = byName.find(op);
  return found == byName.end() ? nullptr : found->second;
}

eval::Input in(const Array& array) { return {array.data(), array.dtype(), array.shape()}; }
eval::Output out(Array& array) { return {array.data(), array.dtype(), array.shape()}; }

int64_t indexAt(const Array& array, int64_t element) {
  const std::byte* data = array.data() + element * storage_bytes(array.dtype());
  if (storage_bytes(array.dtype()) < 8) return static_cast<int64_t>(eval::elementAsDouble(array.dtype(), data));
  int64_t bits = 0;
  std::memcpy(&bits, data, sizeof bits);
  return is_unsigned_integer(array.dtype()) && bits < 0 ? INT64_MAX : bits;
}

Result<Array> resultArray(PlainCall& call, int result, bool reuse) {
  const ArrayType& type = call.results[result];
  if (reuse)
    for (Array& operand : call.operands)
      if (operand.type() == type && operand.unique()) return operand;
  return Array::allocate(type);
}

Diagnostic noEvaluation(const PlainCall& call, DType dtype) {
  return {.code = "SM5002",
          .message = fmt::format("op '{}' is not supported on {}", call.op.name, name(dtype)),
          .place = call.op.place,
          .help = "convert the operands first, e.g. to float32 or int32"};
}

namespace {

/// On scalars these ops give their first operand; on whole arrays they would move elements.
constexpr std::array<std::string_view, 8> kMovesNothing{
    "broadcast_in_dim", "dynamic_slice", "pad", "reshape", "reverse", "sharding_constraint", "slice", "transpose"};
/// Ops of scalars that are not computed element by element, or not the same on every device.
constexpr std::array<std::string_view, 4> kNotLifted{"dot_general", "dynamic_update_slice", "partition_id",
                                                     "replica_id"};

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Are all values that the op takes and gives scalars?
bool onScalars(const Op& op, const Function& function) {
  const auto isScalar = [&](ValueId v) { return function.values[v].shape.empty(); };
  return op.regions.empty() && std::all_of(op.operands.begin(), op.operands.end(), isScalar) &&
         std::all_of(op.results.begin(), op.results.end(), isScalar);
}

/// The array, or the scalar from outside in each element.
Result<Array> spread(Array array, const Shape& shape) {
  if (array.shape() == shape || !array.shape().empty()) return array;
  auto filled = Array::allocate({array.dtype(), shape});
  if (!filled) return filled;
  for (int64_t i = 0, bytes = storage_bytes(array.dtype()); i < filled->elements(); ++i)
    std::copy_n(array.data(), bytes, filled->data() + i * bytes);
  return filled;
}

/// Ops of the region of call.op, or of a function that it calls: call.function.
PlainResults runLiftedOps(const PlainCall& call, std::span<const ValueId> parameters, const std::vector<Op>& ops,
                          std::vector<Array> arguments, const Shape& shape) {
  std::vector<std::pair<ValueId, Array>> values;
  for (size_t i = 0; i < arguments.size(); ++i) values.emplace_back(parameters[i], std::move(arguments[i]));
  const auto valueOf = [&](ValueId id) -> const Array& {
    for (const auto& [known, array] : values)
      if (known == id) return array;
    return call.outer(id);
  };
  for (const Op& op : ops) {
    const bool isCall = op.name == "call" && call.program;
    const bool movesNothing = contains(kMovesNothing, op.name);
    const PlainEvaluator evaluate = contains(kNotLifted, op.name) ? nullptr : findEvaluator(op.name);
    const bool known = evaluate || isCall || movesNothing || op.name == "return";
    if (!known || !onScalars(op, call.function))
      return fail({.code = "SM5002",
                   .message = fmt::format("op '{}' is not supported in the region of {}", op.name, call.op.name),
                   .place = op.place,
                   .help = "reduce by element-wise ops on scalars"});
    std::vector<Array> operands;
    for (const ValueId id : op.operands) {
      auto operand = spread(valueOf(id), shape);
      if (!operand) return fail(std::move(operand.error()));
      operands.push_back(std::move(*operand));
    }
    if (op.name == "return") return operands;
    if (movesNothing) {
      values.emplace_back(op.results[0], std::move(operands[0]));
      continue;
    }
    PlainResults computed = std::vector<Array>{};
    if (isCall) {
      const Function& callee = *call.program->find(op.callee);
      std::vector<Array> none;
      const PlainCall inside{call.op, callee, none, {}, call.device, call.numerics, call.outer, call.program};
      computed = runLiftedOps(inside, callee.arguments, callee.ops, std::move(operands), shape);
    } else {
      std::vector<ArrayType> results;
      for (const ValueId id : op.results) results.push_back({call.function.values[id].dtype, shape});
      PlainCall inner{op, call.function, operands, results, call.device, call.numerics, call.outer};
      computed = evaluate(inner);
    }
    if (!computed) return computed;
    for (size_t i = 0; i < computed->size(); ++i) values.emplace_back(op.results[i], std::move((*computed)[i]));
  }
  return std::vector<Array>{};
}

}  // namespace

PlainResults runLifted(const PlainCall& call, const Block& block, std::vector<Array> arguments, const Shape& shape) {
  return runLiftedOps(call, block.arguments, block.ops, std::move(arguments), shape);
}

}  // namespace smalti::plain
