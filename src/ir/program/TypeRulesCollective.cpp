// Rules of ops of several devices: those that do not depend on the number of devices (Exchange.h has the rest).
#include <fmt/format.h>

#include "ir/program/TypeRules.h"

namespace smalti::rules {
namespace {

std::string wrongGroups(const TypedOp& op) {
  const Attribute* attribute = op.op.find("replica_groups");
  const auto* matrix = attribute ? std::get_if<Array>(attribute) : nullptr;
  if (!matrix || matrix->dtype() != DType::i64 || matrix->rank() != 2) return "has no matrix of replica_groups";
  return "";
}

std::string asManyResults(const TypedOp& op) {
  if (op.numOperands() > 0 && op.numOperands() == op.numResults()) return "";
  return fmt::format("has {} operands and {} results", op.numOperands(), op.numResults());
}

std::string wrongDimension(const TypedOp& op, std::string_view attribute, const ArrayType& type) {
  const int64_t dim = op.integer(attribute, -1);
  return dimsIn({&dim, 1}, type.shape.size(), attribute);
}

std::string wrongReducer(const TypedOp& op, DType dtype) {
  const ArrayType scalar{dtype, {}};
  return blockTypes(op, op.op.regions[0], {scalar, scalar}, {scalar}, "reducer");
}

/// Equal but for the size of dimension `dim`.
std::string sameBut(const ArrayType& operand, const ArrayType& result, int64_t dim) {
  ArrayType expected = operand;
  if (result.shape.size() == operand.shape.size()) expected.shape[dim] = result.shape[dim];
  return expected == result ? "" : fmt::format("turns {} into {}", operand.str(), result.str());
}

}  // namespace

std::string allReduce(const TypedOp& op) {
  if (auto wrong = asManyResults(op); !wrong.empty()) return wrong;
  if (auto wrong = wrongGroups(op); !wrong.empty()) return wrong;
  for (int i = 0; i < op.numOperands(); ++i) {
    op.infer(i, op.operand(i).shape);
    if (op.operand(i) != op.result(i)) return fmt::format("turns {} into {}", op.operand(i).str(), op.result(i).str());
    if (auto wrong = wrongReducer(op, op.operand(i).dtype); !wrong.empty()) return wrong;
  }
  return "";
}

std::string allGather(const TypedOp& op) {
  if (auto wrong = asManyResults(op); !wrong.empty()) return wrong;
  if (auto wrong = wrongGroups(op); !wrong.empty()) return wrong;
  for (int i = 0; i < op.numOperands(); ++i) {
    if (auto wrong = wrongDimension(op, "all_gather_dim", op.operand(i)); !wrong.empty()) return wrong;
    if (auto wrong = sameBut(op.operand(i), op.result(i), op.integer("all_gather_dim")); !wrong.empty()) return wrong;
  }
  return "";
}

std::string reduceScatter(const TypedOp& op) {
  if (auto wrong = wrongGroups(op); !wrong.empty()) return wrong;
  if (auto wrong = wrongDimension(op, "scatter_dimension", op.operand(0)); !wrong.empty()) return wrong;
  if (auto wrong = sameBut(op.operand(0), op.result(), op.integer("scatter_dimension")); !wrong.empty()) return wrong;
  return wrongReducer(op, op.operand(0).dtype);
}

std::string allToAll(const TypedOp& op) {
  if (auto wrong = asManyResults(op); !wrong.empty()) return wrong;
  if (auto wrong = wrongGroups(op); !wrong.empty()) return wrong;
  const int64_t parts = op.integer("split_count");
  for (int i = 0; i < op.numOperands(); ++i) {
    const ArrayType &in = op.operand(i), &out = op.result(i);
    for (const char* attribute : {"split_dimension", "concat_dimension"})
      if (auto wrong = wrongDimension(op, attribute, in); !wrong.empty()) return wrong;
    const auto split = static_cast<size_t>(op.integer("split_dimension"));
    const auto concat = static_cast<size_t>(op.integer("concat_dimension"));
    if (parts < 1 || in.shape[split] % parts != 0)
      return fmt::format("splits dimension {} of {} into {} parts", split, in.str(), parts);
    ArrayType expected = in;
    expected.shape[split] /= parts;
    const bool tooLarge = __builtin_mul_overflow(expected.shape[concat], parts, &expected.shape[concat]);
    op.infer(i, expected.shape);
    if (tooLarge || expected != out)
      return fmt::format("turns {} into {} with {} parts of dimension {} concatenated in dimension {}", in.str(),
                         out.str(), parts, split, concat);
  }
  return "";
}

std::string collectiveBroadcast(const TypedOp& op) {
  if (auto wrong = wrongGroups(op); !wrong.empty()) return wrong;
  return sameType(op);
}

std::string collectivePermute(const TypedOp& op) {
  if (op.integers("source_target_pairs").size() % 2 != 0) return "has a source without a target";
  return sameType(op);
}

}  // namespace smalti::rules
