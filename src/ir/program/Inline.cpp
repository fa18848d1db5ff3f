#include "ir/program/Inline.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

namespace smalti {
namespace {

int64_t countOps(const std::vector<Op>& ops) {
  int64_t count = 0;
  for (const Op& op : ops) {
    ++count;
    for (const Block& block : op.regions) count += countOps(block.ops);
  }
  return count;
}

bool callsKernel(const std::vector<Op>& ops) {
  return std::ranges::any_of(ops, [](const Op& op) {
    return op.name == "kernel_call" || op.name == "manual_computation" ||
           std::ranges::any_of(op.regions, [](const Block& block) { return callsKernel(block.ops); });
  });
}

bool callsAny(const std::vector<Op>& ops) {
  return std::ranges::any_of(ops, [](const Op& op) {
    return op.name == "call" || std::ranges::any_of(op.regions, [](const Block& block) { return callsAny(block.ops); });
  });
}

class Inliner {
 public:
  explicit Inliner(const Program& program) : program_(program) {}

  std::vector<Function> run() {
    std::vector<Function> reached;
    std::vector<const Function*> next{&program_.functions[static_cast<size_t>(program_.main)]};
    std::map<std::string, bool> known{{next[0]->name, true}};
    while (!next.empty()) {
      const Function& f = *next.back();
      next.pop_back();
      reached.push_back(inlined(f));
      addCallees(reached.back().ops, known, next);
    }
    return reached;
  }

 private:
  void addCallees(const std::vector<Op>& ops, std::map<std::string, bool>& known, std::vector<const Function*>& next) {
    for (const Op& op : ops) {
      if (op.name == "call" && known.emplace(op.callee, true).second) next.push_back(program_.find(op.callee));
      for (const Block& block : op.regions) addCallees(block.ops, known, next);
    }
  }

  /// The function after inlining, if its calls are to be inlined; null otherwise. Calls do not recur.
  const Function* small(const std::string& name) {
    const auto [found, isNew] = small_.try_emplace(name);
    if (!isNew) return found->second ? &*found->second : nullptr;
    const Function& given = *program_.find(name);
    if (countOps(given.ops) > kMostInlinedOps || callsKernel(given.ops)) return nullptr;
    Function f = inlined(given);
    if (countOps(f.ops) > kMostInlinedOps || callsAny(f.ops)) return nullptr;
    return &small_[name].emplace(std::move(f));
  }

  Function inlined(const Function& given) {
    Function f = given;
    std::unordered_map<ValueId, ValueId> renamed;  // results of calls
    inlineIn(f, f.ops, renamed);
    return f;
  }

  void inlineIn(Function& f, std::vector<Op>& ops, std::unordered_map<ValueId, ValueId>& renamed) {
    std::vector<Op> made;
    made.reserve(ops.size());
    for (Op& op : ops) {
      for (ValueId& v : op.operands)
        if (const auto to = renamed.find(v); to != renamed.end()) v = to->second;
      for (Block& block : op.regions) inlineIn(f, block.ops, renamed);
      const Function* callee = op.name == "call" ? small(op.callee) : nullptr;
      if (callee)
        inlineCall(f, op, *callee, made, renamed);
      else
        made.push_back(std::move(op));
    }
    ops = std::move(made);
  }

  static void inlineCall(Function& f, const Op& call, const Function& callee, std::vector<Op>& made,
                         std::unordered_map<ValueId, ValueId>& renamed) {
    const auto first = static_cast<ValueId>(f.values.size());
    f.values.insert(f.values.end(), callee.values.begin(), callee.values.end());
    std::vector<ValueId> valueOf(callee.values.size());
    for (size_t v = 0; v < valueOf.size(); ++v) valueOf[v] = first + static_cast<ValueId>(v);
    for (size_t a = 0; a < callee.arguments.size(); ++a)
      valueOf[static_cast<size_t>(callee.arguments[a])] = call.operands[a];
    for (const Op& op : callee.ops) {
      if (op.name == "return")
        for (size_t r = 0; r < call.results.size(); ++r)
          renamed[call.results[r]] = valueOf[static_cast<size_t>(op.operands[r])];
      else
        made.push_back(copied(op, valueOf));
    }
  }

  static Op copied(const Op& op, const std::vector<ValueId>& valueOf) {
    Op copy = op;
    rename(copy, valueOf);
    return copy;
  }
  static void rename(Op& op, const std::vector<ValueId>& valueOf) {
    const auto all = [&](std::vector<ValueId>& values) {
      for (ValueId& v : values) v = valueOf[static_cast<size_t>(v)];
    };
    all(op.operands);
    all(op.results);
    for (Block& block : op.regions) {
      all(block.arguments);
      for (Op& inner : block.ops) rename(inner, valueOf);
    }
  }

  const Program& program_;
  std::map<std::string, std::optional<Function>> small_;  ///< by name; none: its calls stay
};

}  // namespace

std::vector<Function> withSmallCallsInlined(const Program& program) { return Inliner(program).run(); }

}  // namespace smalti
