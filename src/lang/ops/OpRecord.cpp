#include "lang/ops/OpRecord.h"

#include <unordered_map>

#include <fmt/format.h>

#include "base/Lasting.h"

namespace smalti::lang {
namespace {

/// Set up before any constructor runs, so that families of other files may register at any time.
constinit const OpFamily* gFamilies = nullptr;

}  // namespace

OpFamily::OpFamily(std::span<const OpRecord> rows) : rows_(rows), next_(gFamilies) { gFamilies = this; }

/// Records by name, and the functions that a record takes from the plain op of its name, looked up once.
struct OpRegistry {
  struct Filled {
    TypeRule types;
    plain::PlainEvaluator evaluate;
    bool isPlain;
  };
  std::unordered_map<std::string_view, const OpRecord*> byName;
  std::unordered_map<const OpRecord*, Filled> filled;

  OpRegistry() {
    for (const OpFamily* family = gFamilies; family; family = family->next_)
      for (const OpRecord& op : family->rows_) {
        byName.emplace(op.name, &op);
        const PlainOp* plain = findPlainOp(op.name);
        filled.emplace(&op, Filled{op.types || !plain ? op.types : plain->rule,
                                   op.evaluate ? op.evaluate : plain::findEvaluator(op.name), plain != nullptr});
      }
  }
  static const OpRegistry& get() {
    static constinit Lasting<const OpRegistry> registry;
    return registry.get();
  }
};

const OpRecord* findOp(std::string_view name) {
  const auto& known = OpRegistry::get().byName;
  const auto found = known.find(name);
  return found == known.end() ? nullptr : found->second;
}

std::vector<const OpRecord*> allOps() {
  std::vector<const OpRecord*> all;
  for (const auto& [name, op] : OpRegistry::get().byName) all.push_back(op);
  return all;
}

TypeRule typeRuleOf(const OpRecord& op) { return OpRegistry::get().filled.at(&op).types; }
plain::PlainEvaluator evaluatorOf(const OpRecord& op) {
  return op.evaluate ? op.evaluate : OpRegistry::get().filled.at(&op).evaluate;
}

bool isPlainOp(const OpRecord& op) { return OpRegistry::get().filled.at(&op).isPlain; }

std::string noResults(const TypedOp& op) { return op.numResults() == 0 ? "" : "gives results"; }

std::string oneResult(const TypedOp& op) {
  return op.numResults() == 1 ? "" : fmt::format("gives {} results instead of one", op.numResults());
}

std::string i32Result(const TypedOp& op) {
  if (std::string wrong = oneResult(op); !wrong.empty()) return wrong;
  return op.result() == ArrayType{DType::i32, {}} ? "" : fmt::format("gives {} instead of i32[]", op.result().str());
}

std::string anyResults(const TypedOp&) { return ""; }

std::string likeOperand(const TypedOp& op) {
  if (std::string wrong = oneResult(op); !wrong.empty()) return wrong;
  if (op.numOperands() == 0) return "has no operand";
  if (op.operand(0) == op.result()) return "";
  return fmt::format("turns {} into {}", op.operand(0).str(), op.result().str());
}

}  // namespace smalti::lang
