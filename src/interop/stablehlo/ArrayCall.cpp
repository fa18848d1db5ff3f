// custom_call: targets that compute arrays. The table of plain ops lists them.
#include <fmt/format.h>

#include "interop/stablehlo/Parser.h"
#include "ir/program/PlainOps.h"

namespace smalti::interop::stablehlo {
namespace {

/// The function in `called_computations`, where portable artifacts have its name as a string; nullptr: none, or
/// several.
const std::string* calledFunction(const RawOp& raw) {
  const Attr* called = raw.find("called_computations");
  if (!called || called->items.size() != 1) return nullptr;
  const Attr& function = called->items[0];
  const bool isName = function.kind == Attr::Kind::symbol || function.kind == Attr::Kind::string;
  return isName ? &function.text : nullptr;
}

}  // namespace

bool Parser::arrayCall(RawOp& raw, Op& op, std::string_view target) {
  op.name = target;
  const PlainOp& row = *findArrayOp(target);
  if (const Attr* config = raw.find("mhlo.backend_config"); config && config->kind == Attr::Kind::dictionary)
    for (const Entry& e : Entries(config->entries)) raw.set(e.key, e.value);
  if (row.numRegions == 0) return lowerAttributes(raw, op);
  const std::string* function = calledFunction(raw);
  if (!function)
    return refuse(raw, "SM2007", fmt::format("custom call '{}' does not say which function it calls", target),
                  "export the module again");
  Block block;
  std::vector<ValueId> results;
  if (target == "stablehlo.dynamic_reduce_window") {  // a reduction of scalars: accumulators, then elements
    for (int two = 0; two < 2; ++two)
      for (const ArrayType& t : raw.resultTypes) block.arguments.push_back(newValue({t.dtype, {}}));
    for (const ArrayType& t : raw.resultTypes) results.push_back(newValue({t.dtype, {}}));
  } else {  // a comparison of scalars: two of each array
    for (size_t i = 0; i < raw.resultTypes.size() && i < raw.operandTypes.size(); ++i)
      for (int two = 0; two < 2; ++two) block.arguments.push_back(newValue({raw.operandTypes[i].dtype, {}}));
    results.push_back(newValue({DType::pred, {}}));
  }
  block.ops.push_back(
      {.name = "call", .operands = block.arguments, .results = results, .callee = *function, .place = raw.place});
  block.ops.push_back({.name = "return", .operands = results, .place = raw.place});
  op.regions.push_back(std::move(block));
  if (!lowerAttributes(raw, op)) return false;
  if (const Attribute* aggregates = op.find("aggregate_to_topk"); aggregates && !std::get<bool>(*aggregates))
    return refuse(raw, "SM2004", "ApproxTopK returns as many candidates as a TPU's size gives",
                  "call approx_max_k and approx_min_k with aggregate_to_topk=True");
  return true;
}

}  // namespace smalti::interop::stablehlo
