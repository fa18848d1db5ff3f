// Which loads and stores are plain boxes of a ref, and which results are written with non-temporal stores.
#include "cpu/analysis/BoxAccess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../native/Native.h"
#include "cpu/analysis/AxisDims.h"
#include "cpu/analysis/DramResident.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace smalti::cpu::testing {
namespace {

using ::testing::ElementsAre;

/// The only op of its kind in the kernel.
template <class Op>
Op only(const KernelPackage& package) {
  Op found;
  package.kernelFunction().walk([&](Op op) {
    EXPECT_FALSE(found) << "there are several";
    found = op;
  });
  EXPECT_TRUE(found);
  return found;
}

TEST(BoxAccess, ABoxAtTheStartThatHasTheSizeOfTheRefCoversIt) {
  TextKernel k;
  const Val x = k.input({.array = {16, 128}, .space = "vmem"}), o = k.output({.array = {8, 128}, .space = "vmem"});
  k.store(k.load(x, {8, 128}, {k.constant(8), k.constant(0)}), o);
  const KernelPackage package = k.package();
  const auto load = boxAccess(*only<mlir::vector::LoadOp>(package));
  ASSERT_TRUE(load);
  EXPECT_FALSE(load->isStore);
  EXPECT_THAT(load->whole, ElementsAre(false, true));
  EXPECT_FALSE(wholeAccess(*only<mlir::vector::LoadOp>(package)));
}

TEST(BoxAccess, MaskedStoresAndOtherOpsAreNoBoxes) {
  TextKernel k;
  const Val x = k.input({.array = {8, 128}, .space = "vmem"}), o = k.output({.array = {8, 128}, .space = "vmem"});
  const Val v = k.load(x), mask = k.fresh("vector<8x128xi1>");
  k.raw(fmt::format("{} = arith.constant dense<true> : {}", mask.name, mask.type));
  k.raw(
      fmt::format("%zero = arith.constant 0 : index\n\"tpu.vector_store\"({0}, {1}, %zero, %zero, {2}) "
                  "<{{operandSegmentSizes = array<i32: 1, 1, 2, 1>, strides = array<i32>, add = false}}> : ({3}, {4}, "
                  "index, index, {5}) -> ()",
                  v.name, o.name, mask.name, v.type, o.type, mask.type));
  const KernelPackage package = k.package();
  int boxes = 0;
  package.kernelFunction().walk([&](mlir::Operation* op) { boxes += boxAccess(*op) ? 1 : 0; });
  EXPECT_EQ(boxes, 1) << "the load";
}

/// Rows of f32 that the kernel copies; `twice`: each block is stored in two steps.
TextKernel copyOfRows(int64_t rows, bool twice, bool reads = false) {
  TextKernel k(twice ? std::vector<int64_t>{rows / 512, 2} : std::vector<int64_t>{rows / 512});
  const Spec spec{.array = {rows, 1024}, .block = {512, 1024}, .map = "%i, %c0"};
  const Val x = k.input(spec), o = k.output(spec);
  k.store(k.load(x), o);
  if (reads) k.store(k.binary("arith.addf", k.load(o), k.load(x)), o);
  return k;
}

TEST(NonTemporalStores, LargeResultsWhoseBlocksAreStoredOnce) {
  Processor p = *processorNamed("x86_64-unknown-linux-gnu/znver4");
  p.l3Bytes = 8 << 20;
  const auto stores = [&](const TextKernel& k) -> bool { return usesNonTemporalStores(k.package(), p)[0]; };
  EXPECT_TRUE(stores(copyOfRows(1024, false))) << "4 MiB are half of the cache";
  EXPECT_FALSE(stores(copyOfRows(512, false))) << "2 MiB stay in it";
  EXPECT_FALSE(stores(copyOfRows(1024, true))) << "the second store finds the block in the cache";
  EXPECT_FALSE(stores(copyOfRows(1024, false, true))) << "the block is read again";
}

TEST(GridIndexCondition, AnAxisComparedWithAConstant) {
  const auto condition = [](const std::function<Val(TextKernel&)>& of) {
    TextKernel k({2, 3});
    const Val o = k.output({.array = {8, 128}});
    k.when(of(k), [&] { k.store(k.splat(k.f32(0), {8, 128}), o); });
    const KernelPackage package = k.package();
    return gridIndexCondition(package.kernelFunction(), 2, only<mlir::scf::IfOp>(package).getCondition());
  };
  const auto last = condition([](TextKernel& k) { return k.compare("eq", k.id(1), k.constant(2)); });
  ASSERT_TRUE(last);
  EXPECT_EQ(last->axis, 1);
  EXPECT_EQ(last->index, 2);
  EXPECT_FALSE(condition([](TextKernel& k) { return k.compare("ne", k.id(1), k.constant(2)); }));
  EXPECT_FALSE(condition([](TextKernel& k) { return k.compare("eq", k.id(1), k.id(0)); }));
  EXPECT_FALSE(condition(
      [](TextKernel& k) { return k.compare("eq", k.binary("arith.addi", k.id(1), k.constant(1)), k.constant(2)); }));
}

}  // namespace
}  // namespace smalti::cpu::testing
