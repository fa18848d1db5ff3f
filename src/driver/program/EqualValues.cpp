#include "driver/program/EqualValues.h"

#include <algorithm>
#include <set>

#include "cpu/CompileSteps.h"
#include "ir/facts/OpFamilies.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "plain/PlainEvaluators.h"

namespace smalti::driver {
namespace {

void collect(const Block& block, std::set<ValueId>& used, std::set<ValueId>& made) {
  made.insert(block.arguments.begin(), block.arguments.end());
  for (const Op& op : block.ops) {
    used.insert(op.operands.begin(), op.operands.end());
    made.insert(op.results.begin(), op.results.end());
    for (const Block& inner : op.regions) collect(inner, used, made);
  }
}

class Analysis {
 public:
  Analysis(const Function& f, const std::vector<bool>& kernels, const FindExchange& exchangeOf)
      : kernels_(kernels), exchangeOf_(exchangeOf), equal_(f.values.size()) {}

  /// The ops whose results are equal.
  std::vector<const Op*> visit(const std::vector<Op>& ops) {
    std::vector<const Op*> found;
    for (const Op& op : ops) {
      if (!areResultsEqual(op)) continue;
      found.push_back(&op);
      for (const ValueId v : op.results) equal_[static_cast<size_t>(v)] = true;
    }
    return found;
  }
  bool has(ValueId v) const { return equal_[static_cast<size_t>(v)]; }

 private:
  bool areEqual(const std::vector<ValueId>& values) const {
    return std::ranges::all_of(values, [&](ValueId v) { return has(v); });
  }
  bool areResultsEqual(const Op& op) const {
    if (isCollective(op.name)) return givesAllTheSame(op);
    if (op.name == "partition_id" || !areEqual(op.operands)) return false;
    if (op.name == "kernel_call") return kernels_[static_cast<size_t>(op.kernel)];
    return plain::findEvaluator(op.name) &&
           std::ranges::all_of(op.regions, [&](const Block& block) { return areEqual(takenBy(block)); });
  }
  bool givesAllTheSame(const Op& op) const {
    if (op.name != "all_reduce" && op.name != "all_gather" && op.name != "collective_broadcast") return false;
    const Exchange* exchange = exchangeOf_(op);
    return exchange && std::ranges::all_of(exchange->from, [](int list) { return list == 0; });
  }

  const std::vector<bool>& kernels_;
  const FindExchange& exchangeOf_;
  std::vector<bool> equal_;
};

}  // namespace

std::vector<ValueId> takenBy(const Block& block) {
  std::set<ValueId> used, made;
  collect(block, used, made);
  std::vector<ValueId> taken;
  std::set_difference(used.begin(), used.end(), made.begin(), made.end(), std::back_inserter(taken));
  return taken;
}

bool resultsFollowFromOperands(const KernelPackage& package) {
  if (package.signature.numScratch > 0 || cpu::namesDevices(package)) return false;
  const auto isAllowed = [](mlir::Operation* op) {
    if (op->getNumRegions() > 0)
      return mlir::isa<mlir::ModuleOp, mlir::func::FuncOp>(op) ||
             op->hasTrait<mlir::OpTrait::HasRecursiveMemoryEffects>();
    return isPure(*op) || isView(*op) || isLoad(*op) || isStore(*op) || op->hasTrait<mlir::OpTrait::IsTerminator>();
  };
  return !package.module.get()
              .walk([&](mlir::Operation* op) {
                return isAllowed(op) ? mlir::WalkResult::advance() : mlir::WalkResult::interrupt();
              })
              .wasInterrupted();
}

EqualValues equalValues(const Function& f, const Op& manual, const std::vector<bool>& kernels,
                        const FindExchange& exchangeOf) {
  Analysis values(f, kernels, exchangeOf);
  values.visit(f.ops);  // constants that the body takes from outside
  const std::vector<Op>& body = manual.regions[0].ops;
  EqualValues equal{.results = {}, .ops = values.visit(body)};
  std::erase_if(equal.ops, [](const Op* op) { return isCollective(op->name); });
  for (const ValueId v : body.back().operands) equal.results.push_back(values.has(v));
  return equal;
}

}  // namespace smalti::driver
