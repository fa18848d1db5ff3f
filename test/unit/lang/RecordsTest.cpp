// The records of the language's ops are complete, and whatever a trace holds has one.
#include <set>

#include <gtest/gtest.h>

#include "Helpers.h"
#include "RandomFunction.h"
#include "lang/call/TraceKernel.h"
#include "lang/call/TraceProgram.h"
#include "lang/eager/Eager.h"

namespace pl = smalti;
using namespace smalti::lang;

namespace {

/// Ops that end a block, are read by all who walk over ops, or run what is compiled elsewhere.
const std::set<std::string_view> kStructure{"constant", "return", "kernel_call", "custom_function"};

TEST(Records, HaveWhatAnOpNeeds) {
  std::set<std::string_view> names, shown;
  for (const OpRecord* op : allOps()) {
    EXPECT_TRUE(names.insert(op->name).second) << op->name;
    EXPECT_TRUE(shown.insert(op->shownName()).second) << op->shownName();
    EXPECT_TRUE(typeRuleOf(*op)) << op->name << " has no type rule";
    EXPECT_EQ(findOp(op->name), op);
    if (kStructure.count(op->name)) continue;
    if (op->inPrograms) {  // over several devices: only a Program's runner has them all
      EXPECT_TRUE(isPlainOp(*op) || op->run) << op->name;
      continue;
    }
    const bool value = evaluatorOf(*op) || op->run;
    EXPECT_TRUE(value || op->lower) << op->name << " is neither computed nor lowered";
    // What is computed at once can be in a program, but for what only a TPU has.
    const std::set<std::string_view> registers{"bitcast", "pack_elementwise", "stochastic_round", "unpack_elementwise"};
    EXPECT_EQ(isPlainOp(*op) || op->expand, (value && !registers.count(op->name)) || op->name == "multiple_of")
        << op->name;
  }
  EXPECT_GT(names.size(), 90U);
  EXPECT_EQ(findOp("no_such_op"), nullptr);
}

TEST(Records, OpsOfKernelsAloneAreRefusedElsewhere) {
  int refused = 0;
  for (const OpRecord* op : allOps())
    if (!evaluatorOf(*op) && !op->run && !kStructure.count(op->name)) {
      EXPECT_EQ(smalti::testing::codeOf([&] { computeNow(*op, {}, {}, {}); }), "SM6106") << op->name;
      ++refused;
    }
  EXPECT_GT(refused, 30);
}

/// Every op has a record, and the types that its rule allows.
void expectRecorded(const std::vector<smalti::Op>& ops, const smalti::Function& function) {
  for (const smalti::Op& op : ops) {
    const OpRecord* record = findOp(op.name);
    ASSERT_TRUE(record) << op.name;
    EXPECT_EQ(typeRuleOf(*record)({op, function}), "") << op.name;
    for (const smalti::Block& block : op.regions) expectRecorded(block.ops, function);
  }
}

/// Whether an op is on Refs, or on what only a kernel has: transformations of functions of arrays never see it.
bool isOfKernels(const OpRecord& op) { return !evaluatorOf(op) && !op.run && op.name != "multiple_of"; }

TEST(Records, EveryOpHasRulesOrSaysWhyNot) {
  int differentiated = 0;
  for (const OpRecord* op : allOps()) {
    if (op->name == "constant" || op->name == "return" || isOfKernels(*op)) continue;
    EXPECT_TRUE(op->jvp || op->control || op->transpose || !op->noJvp.empty())
        << op->name << " has no derivative and no reason";
    EXPECT_TRUE(op->batch || op->control || !op->noBatch.empty()) << op->name << " has no rule for vmap and no reason";
    EXPECT_FALSE(op->jvp && !op->noJvp.empty()) << op->name << " has a rule and a reason against it";
    EXPECT_FALSE(op->batch && !op->noBatch.empty()) << op->name << " has a rule and a reason against it";
    differentiated += op->jvp || op->control;
  }
  EXPECT_GT(differentiated, 70);
}

TEST(Records, EveryOpOfATraceHasOne) {
  const pl::ArrayType tile{pl::f32, {8, 128}};
  for (unsigned seed = 0; seed < 60; ++seed) {
    const pl::testing::RandomFunction f(seed, 12);
    const TracedFunction program =
        traceFunction([&](std::span<const pl::Array> x) { return std::vector{f(x[0])}; }, {&tile, 1});
    expectRecorded(program.function.ops, program.function);
    const TracedKernel kernel =
        traceKernel([&](pl::Ref x, pl::Ref o) { o[pl::_] = f(x[pl::_]); },
                    {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}}, pl::Location::current(), {&tile, 1});
    expectRecorded(kernel.body.function.ops, kernel.body.function);
  }
}

}  // namespace
