#include "plain/PlainEvaluators.h"

#include <cstring>
#include <unordered_map>

#include <fmt/format.h>

#include "eval/FloatFormats.h"

namespace smalti::plain {

PlainEvaluator findEvaluator(std::string_view op) {
  static const auto byName = [] {
    std::unordered_map<std::string_view, PlainEvaluator> all;
    for (const auto table :
         {elementwiseEvaluators(), shapeEvaluators(), contractEvaluators(), indexedEvaluators(), sortEvaluators(),
          windowEvaluators(), convolutionEvaluators(), linearEvaluators(), complexEvaluators(), fourierEvaluators()})
      for (const EvaluatorRow& row : table) all.emplace(row.op, row.evaluate);
    return all;
  }();
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

PlainResults runLifted(const PlainCall& call, const Block& block, std::vector<Array> arguments, const Shape& shape) {
  std::vector<std::pair<ValueId, Array>> values;
  for (size_t i = 0; i < arguments.size(); ++i) values.emplace_back(block.arguments[i], std::move(arguments[i]));
  const auto valueOf = [&](ValueId id) -> const Array& {
    for (const auto& [known, array] : values)
      if (known == id) return array;
    return call.outer(id);
  };
  for (const Op& op : block.ops) {
    std::vector<Array> operands;
    for (const ValueId id : op.operands) {
      Array operand = valueOf(id);
      if (operand.shape() != shape && operand.shape().empty()) {  // a scalar from outside
        auto spread = Array::allocate({operand.dtype(), shape});
        if (!spread) return fail(std::move(spread.error()));
        for (int64_t i = 0, bytes = storage_bytes(operand.dtype()); i < spread->elements(); ++i)
          std::copy_n(operand.data(), bytes, spread->data() + i * bytes);
        operand = std::move(*spread);
      }
      operands.push_back(std::move(operand));
    }
    if (op.name == "return") return operands;
    if (op.name == "sharding_constraint") {
      values.emplace_back(op.results[0], operands[0]);
      continue;
    }
    std::vector<ArrayType> results;
    for (const ValueId id : op.results) results.push_back({call.function.values[id].dtype, shape});
    PlainCall inner{op, call.function, operands, results, call.device, call.numerics, call.outer};
    const bool scalars = [&] {
      for (const ValueId id : op.results)
        if (!call.function.values[id].shape.empty()) return false;
      return op.regions.empty();
    }();
    const PlainEvaluator evaluate = scalars ? findEvaluator(op.name) : nullptr;
    if (!evaluate)
      return fail({.code = "SM5002",
                   .message = fmt::format("op '{}' is not supported in the region of {}", op.name, call.op.name),
                   .place = op.place,
                   .help = "reduce by element-wise ops on scalars"});
    // On scalars these ops move nothing; on whole arrays they would.
    if (op.name == "broadcast_in_dim" || op.name == "reshape") {
      values.emplace_back(op.results[0], operands[0]);
      continue;
    }
    auto computed = evaluate(inner);
    if (!computed) return fail(std::move(computed.error()));
    for (size_t i = 0; i < computed->size(); ++i) values.emplace_back(op.results[i], std::move((*computed)[i]));
  }
  return std::vector<Array>{};
}

}  // namespace smalti::plain
