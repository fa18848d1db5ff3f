// Which ops may take the memory of their operands: those that use them last.
#include "driver/program/Steps.h"

#include <gmock/gmock.h>

#include "interop/Interop.h"

namespace smalti::driver {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

struct Planned {
  Program program;
  ProgramSteps steps;
  explicit Planned(const std::string& text) : program(interop::importStableHlo(text, "steps.mlir").value()) {
    for (const Function& f : program.functions)
      steps.add(f, [](const Op&) { return false; }, [](const Op&) { return true; });
  }
  const Function& main() const { return program.functions[static_cast<size_t>(program.main)]; }
};

TEST(Steps, ALoopGivesItsArraysToTheBody) {
  const Planned p(R"(module @m {
  func.func public @main(%x: tensor<8xf32>, %n: tensor<i32>) -> tensor<8xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %v = stablehlo.constant dense<1.0> : tensor<1xf32>
    %0:3 = stablehlo.while(%i = %c, %last = %n, %a = %x) : tensor<i32>, tensor<i32>, tensor<8xf32>
    cond {
      %1 = stablehlo.compare LT, %i, %last, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %2 = stablehlo.dynamic_update_slice %a, %v, %i : (tensor<8xf32>, tensor<1xf32>, tensor<i32>) -> tensor<8xf32>
      %3 = stablehlo.add %i, %last : tensor<i32>
      stablehlo.return %3, %last, %2 : tensor<i32>, tensor<i32>, tensor<8xf32>
    }
    return %0#2 : tensor<8xf32>
  }
})");
  const Op& loop = p.main().ops[2];
  EXPECT_THAT(p.steps.of(p.main().ops)[2].takes, ElementsAre(true, true, true));
  // The condition does not hold the array while the body changes it.
  const Block &cond = loop.regions[0], &body = loop.regions[1];
  EXPECT_THAT(p.steps.of(cond.ops)[0].dying, ElementsAre(cond.arguments[2]));
  EXPECT_THAT(p.steps.of(body.ops)[0].takes, ElementsAre(true, false, false));
}

TEST(Steps, ALoopLeavesWhatItsRegionsUse) {
  const Planned p(R"(module @m {
  func.func public @main(%x: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.while(%i = %x) : tensor<i32>
    cond {
      %1 = stablehlo.compare LT, %i, %x, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      stablehlo.return %i : tensor<i32>
    }
    return %0 : tensor<i32>
  }
})");
  const Step& loop = p.steps.of(p.main().ops)[0];
  EXPECT_THAT(loop.takes, ElementsAre(false));
  EXPECT_THAT(loop.dying, ElementsAre(p.main().arguments[0]));
}

TEST(Steps, ABranchTakesWhatDiesWithIt) {
  const Planned p(R"(module @m {
  func.func public @main(%c: tensor<i1>, %x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.if"(%c) ({
      %1 = stablehlo.add %x, %y : tensor<8xf32>
      stablehlo.return %1 : tensor<8xf32>
    }, {
      stablehlo.return %x : tensor<8xf32>
    }) : (tensor<i1>) -> tensor<8xf32>
    return %0, %y : tensor<8xf32>, tensor<8xf32>
  }
})");
  const Op& branch = p.main().ops[0];
  EXPECT_THAT(p.steps.of(branch.regions[0].ops)[0].takes, ElementsAre(true, false));
  EXPECT_THAT(p.steps.of(branch.regions[1].ops)[0].takes, ElementsAre(true));
  // The value of the branch that is not taken is released after the op.
  EXPECT_THAT(p.steps.of(p.main().ops)[0].dying, UnorderedElementsAre(p.main().arguments[0], p.main().arguments[1]));
}

TEST(Steps, AScatterTakesItsOperand) {
  const Planned p(R"(module @m {
  func.func public @main(%x: tensor<8xf32>, %i: tensor<1xi32>, %v: tensor<f32>) -> tensor<8xf32> {
    %0 = "stablehlo.scatter"(%x, %i, %v) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
        scatter_dims_to_operand_dims = [0], index_vector_dim = 0>}> ({
      ^bb0(%old: tensor<f32>, %new: tensor<f32>):
      stablehlo.return %new : tensor<f32>
    }) : (tensor<8xf32>, tensor<1xi32>, tensor<f32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
})");
  EXPECT_THAT(p.steps.of(p.main().ops)[0].takes, ElementsAre(true, true, true));
  EXPECT_THAT(p.steps.of(p.main().ops)[0].dying, IsEmpty());
}

}  // namespace
}  // namespace smalti::driver
