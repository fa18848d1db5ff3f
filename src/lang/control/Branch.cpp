// when, cond, switch: an "if" op per choice; its regions are true, then false.
#include <algorithm>

#include <fmt/format.h>

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "base/Text.h"
#include "eval/FloatFormats.h"
#include "lang/cost/Cost.h"
#include "lang/lower/DialectLowering.h"
#include "lang/refs/Indexer.h"
#include "lang/trace/HasValue.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/trace/Trace.h"
#include "lang/transform/ControlFlow.h"
#include "lang/transform/Depth.h"
#include "smalti/control.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

/// Two branches: the region of true, then that of false.
void lowerIf(DialectLowering& l, const Op& op) {
  auto branch = mlir::scf::IfOp::create(l.b, l.loc, typesOf(l, op.results), l.value(op.operands[0]), true);
  for (int i = 0; i < 2; ++i) {
    const mlir::OpBuilder::InsertionGuard guard(l.b);
    mlir::Block& block = (i == 0 ? branch.getThenRegion() : branch.getElseRegion()).front();
    if (!block.empty()) block.back().erase();  // the terminator the builder made
    l.b.setInsertionPointToEnd(&block);
    const auto results = l.ops(op.regions[i].ops);
    mlir::scf::YieldOp::create(l.b, l.loc, results);
  }
  for (size_t i = 0; i < op.results.size(); ++i) l.set(op.results[i], branch.getResult(i));
}

/// The more expensive of the two branches.
CostEstimate costOfIf(CostCounter& counter, const Op& op) {
  CostEstimate total;
  for (const Block& block : op.regions) {
    const CostEstimate c = counter.ops(block.ops);
    total.flops = std::max(total.flops, c.flops);
    total.transcendentals = std::max(total.transcendentals, c.transcendentals);
  }
  return total;
}

std::vector<Array> runIf(const OpCall& call) {
  checkConcrete(call.operands[0]);
  return call.regions[*call.operands[0].as<uint8_t>() ? 0 : 1].body({});
}

constexpr OpTable kBranchOps{
    OpRecord{.name = "if", .jaxName = "cond", .run = runIf, .lower = lowerIf, .cost = costOfIf, .control = &kIfRules},
};
const OpFamily kBranchFamily(kBranchOps);

}  // namespace
}  // namespace smalti::lang

namespace smalti {

using lang::SourceLocationScope;

namespace {

[[noreturn]] void refuseCondition(const Operand& condition) {
  lang::refuse({.code = "SM6115",
                .message = "a condition is not a scalar",
                .place = {},
                .need = "a scalar pred",
                .have = condition.array().type().str(),
                .help = "reduce it with any or all, or select with where"});
}

/// The scalar pred of a condition; error SM6115.
Array predicate(const Operand& condition) {
  if (condition.rank() != 0) refuseCondition(condition);
  return condition.dtype() == DType::pred ? condition.array() : not_equal(condition, 0);
}

/// Checks that a branch returned the same types as the previous one; error SM6116.
void checkTypes(const detail::Arrays& results, const std::vector<ArrayType>& types, const Location& at) {
  SourceLocationScope place(at);
  if (results.size() != types.size())
    lang::refuse({.code = "SM6116",
                  .message = "the branches of a cond give different numbers of results",
                  .place = {},
                  .need = counted(types.size(), "result"),
                  .have = fmt::format("{}", results.size()),
                  .help = "return as many values from each branch"});
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i].type() != types[i])
      lang::refuse({.code = "SM6116",
                    .message = fmt::format("the branches of a cond give different types in result {}", i),
                    .place = {},
                    .need = types[i].str(),
                    .have = results[i].type().str(),
                    .help = "convert them to one shape and dtype with astype and broadcast_to"});
}

}  // namespace

void when(bool condition, const std::function<void()>& body) {
  if (condition) body();
}

void when(const Operand& condition, const std::function<void()>& body) {
  detail::branch(condition,
                 {[] { return detail::Arrays{}; },
                  [&] {
                    body();
                    return detail::Arrays{};
                  }},
                 true, condition.at());
}

detail::Arrays detail::branch(const Operand& index, const std::vector<Branch>& branches, bool isPred,
                              const Location& at) {
  if (branches.empty() || (!isPred && (index.rank() != 0 || !is_integer(index.dtype())))) {
    SourceLocationScope place(at);
    lang::refuse(
        {.code = "SM6117",
         .message = branches.empty() ? "a switch without branches" : "the index of a switch is not an integer scalar",
         .place = {},
         .need = branches.empty() ? "at least one branch" : "an i32 scalar",
         .have = branches.empty() ? "none" : index.array().type().str(),
         .help = branches.empty() ? "give a function for each index from 0" : "convert it with astype(…, i32)"});
  }
  if (!index.array().is_traced()) {  // decided now (S-I1)
    int64_t i = 0;
    {
      SourceLocationScope place(at);
      if (index.rank() != 0) refuseCondition(index);
      i = isPred ? eval::elementAsDouble(index.dtype(), index.array().data()) != 0
                 : *lang::concreteInteger(index.array());
    }
    return branches[std::min<int64_t>(std::max<int64_t>(i, 0), static_cast<int64_t>(branches.size()) - 1)]();
  }
  const lang::Depth depth(at, lang::Depth::Of::control);
  // Branch i if index <= i, else those after it. The bodies run outside this op's place: they have their own.
  const auto choose = [&](auto& self, size_t first) -> Arrays {
    if (first + 1 == branches.size()) return branches[first]();
    Array condition;
    {
      SourceLocationScope place(at);
      condition = isPred ? predicate(index) : less_equal(index, static_cast<int64_t>(first));
    }
    std::vector<ArrayType> types;  // of the results, once the first branch was run
    bool known = false;
    const auto region = [&](std::function<Arrays()> body) {
      return lang::Region{{}, [&, body = std::move(body)](std::span<const Array>) {
                            Arrays results = body();
                            if (known) checkTypes(results, types, at);
                            if (!known)
                              for (const Array& r : results) types.push_back(r.type());
                            known = true;
                            return results;
                          }};
    };
    const lang::Region regions[] = {
        region(isPred ? branches[1] : branches[first]),
        region(isPred ? branches[0] : [&] { return self(self, first + 1); }),
    };
    return lang::bindRegions(lang::kBranchOps["if"], {&condition, 1}, types, regions, at);
  };
  return choose(choose, 0);
}

}  // namespace smalti
