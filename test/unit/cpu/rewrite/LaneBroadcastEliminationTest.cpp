// Values whose columns are all the same, computed once per row.
#include "cpu/rewrite/LaneBroadcastElimination.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../native/Native.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::cpu::testing {
namespace {

/// m = max(m, rows' maxima of x) in all 128 columns, and o = 2 (x - m): attention's way to keep a row's number.
class RunningMax {
 public:
  enum class Stores { rows, oneOther, half, masked };

  explicit RunningMax(Stores stores = Stores::rows, bool inOutput = false, int repeats = 1)
      : k({2, 3}, "parallel,arbitrary"), columns_(128 * repeats) {
    x = k.input({.array = {32, 3 * columns_}, .block = {16, columns_}, .map = "%i, %j"});
    o = k.output({.array = {32, 3 * columns_}, .block = {16, columns_}, .map = "%i, %j"});
    m = inOutput ? k.output({.array = {32, 128}, .block = {16, 128}, .map = "%i, %c0"}) : k.scratch("f32", {16, 128});
    k.when(k.compare("eq", k.id(1), k.constant(0)), [&] { k.store(k.splat(k.f32(-100), {16, 128}), m); });
    const Val block = k.load(x), largest = k.binary("arith.maximumf", k.load(m), rowMaxima(block));
    if (stores == Stores::half)
      k.store(k.load(x, {16, 64}, {k.constant(0), k.constant(0)}), m, {k.constant(0), k.constant(64)});
    else if (stores == Stores::masked)
      maskedStore(largest);
    else
      k.store(stores == Stores::oneOther ? k.load(x) : largest, m);
    const Val now = widened(k.load(m));
    const Val difference = k.binary("arith.subf", block, now);
    k.store(k.binary("arith.mulf", difference, k.splat(k.f32(2), {16, columns_})), o);
  }

  std::optional<KernelPackage> single() const { return eliminateLaneBroadcasts(k.package()); }
  /// The kernel function's last argument is m.
  static std::string typeOfM(const KernelPackage& package) {
    auto kernel = package.kernelFunction();
    std::string text;
    llvm::raw_string_ostream(text) << kernel.getArgument(kernel.getNumArguments() - 1).getType();
    return text;
  }
  void run() const {
    same(k, {f32Array({32, 3 * columns_}, [](int64_t i) { return static_cast<float>(i * 7919 % 101) - 50; })});
  }

  TextKernel k;
  Val x, o, m;

 private:
  Val rowMaxima(const Val& block) {
    const Val start = k.fresh("vector<16xf32>"), most = k.fresh("vector<16xf32>"), column = k.fresh("vector<16x1xf32>"),
              wide = k.fresh("vector<16x128xf32>");
    k.raw(fmt::format("{} = arith.constant dense<0xFF800000> : {}", start.name, start.type));
    k.raw(fmt::format("{} = vector.multi_reduction <maximumf>, {}, {} [1] : {} to {}", most.name, block.name,
                      start.name, block.type, most.type));
    k.raw(fmt::format("{} = vector.shape_cast {} : {} to {}", column.name, most.name, most.type, column.type));
    k.raw(fmt::format("{} = vector.broadcast {} : {} to {}", wide.name, column.name, column.type, wide.type));
    return wide;
  }
  /// pltpu.repeat along the columns.
  Val widened(const Val& v) {
    if (columns_ == 128) return v;
    const Val wide = k.fresh(fmt::format("vector<16x{}xf32>", columns_));
    std::string names = v.name, types = v.type;
    for (int64_t c = 128; c < columns_; c += 128) {
      names += ", " + v.name;
      types += ", " + v.type;
    }
    k.raw(fmt::format("{} = tpu.concatenate {} in 1 : {} -> {}", wide.name, names, types, wide.type));
    return wide;
  }
  void maskedStore(const Val& v) {
    const Val mask = k.fresh("vector<16x128xi1>"), zero = k.fresh("index");
    k.raw(fmt::format("{} = arith.constant dense<true> : {}", mask.name, mask.type));
    k.raw(fmt::format("{} = arith.constant 0 : index", zero.name));
    k.raw(fmt::format("tpu.vector_store {0}[{1}, {1}], {2} masked {3} {{strides = array<i32>}} : {4}, {5}, {6}", m.name,
                      zero.name, v.name, mask.name, m.type, v.type, mask.type));
  }

  int64_t columns_;
};

TEST(LaneBroadcastElimination, ScratchOfOneNumberPerRowBecomesAColumn) {
  const RunningMax kernel;
  const auto made = kernel.single();
  ASSERT_TRUE(made);
  EXPECT_THAT(RunningMax::typeOfM(*made), ::testing::HasSubstr("memref<16x1xf32"));
  kernel.run();
}

TEST(LaneBroadcastElimination, RepeatedColumnsAreColumns) {
  const RunningMax kernel(RunningMax::Stores::rows, false, 3);
  const auto made = kernel.single();
  ASSERT_TRUE(made);
  EXPECT_THAT(RunningMax::typeOfM(*made), ::testing::HasSubstr("memref<16x1xf32"));
  kernel.run();
}

TEST(LaneBroadcastElimination, OutputsKeepTheirColumns) {
  const RunningMax kernel(RunningMax::Stores::rows, true);
  const auto made = kernel.single();
  ASSERT_TRUE(made);
  EXPECT_THAT(RunningMax::typeOfM(*made), ::testing::HasSubstr("memref<16x128xf32"));
  bool loadsColumn = false;
  made->kernelFunction().walk([&](mlir::Operation* op) {
    if (op->getName().getStringRef() != "vector.load") return;
    loadsColumn |= llvm::cast<mlir::ShapedType>(op->getResult(0).getType()).getShape().back() == 1;
  });
  EXPECT_TRUE(loadsColumn);
  kernel.run();
}

TEST(LaneBroadcastElimination, OtherStoresKeepTheScratch) {
  for (const auto stores : {RunningMax::Stores::oneOther, RunningMax::Stores::half, RunningMax::Stores::masked}) {
    SCOPED_TRACE(static_cast<int>(stores));
    const RunningMax kernel(stores);
    EXPECT_FALSE(kernel.single());
    kernel.run();
  }
}

/// m[:, column], which native code checks when it happens.
TEST(LaneBroadcastElimination, AColumnThatMayNotBeThereKeepsTheScratch) {
  const auto kernel = [](bool known) {
    TextKernel k({4}, "arbitrary");
    const Val x = k.input({.array = {32, 1}, .block = {8, 1}, .map = "%i, %c0"});
    const Val o = k.output({.array = {32, 1}, .block = {8, 1}, .map = "%i, %c0"}), m = k.scratch("f32", {8, 128});
    const Val wide = k.fresh("vector<8x128xf32>"), column = k.load(x);
    k.raw(fmt::format("{} = vector.broadcast {} : {} to {}", wide.name, column.name, column.type, wide.type));
    k.store(wide, m);
    k.store(k.load(m, {8, 1}, {k.constant(0), known ? k.constant(127) : k.id(0)}), o);
    return eliminateLaneBroadcasts(k.package()).has_value();
  };
  EXPECT_TRUE(kernel(true));
  EXPECT_FALSE(kernel(false));
}

TEST(LaneBroadcastElimination, OtherKernelsStay) {
  TextKernel k({4}, "parallel");
  const Val x = k.input({.array = {32, 128}, .block = {8, 128}, .map = "%i, %c0"});
  const Val o = k.output({.array = {32, 128}, .block = {8, 128}, .map = "%i, %c0"});
  k.store(k.binary("arith.addf", k.load(x), k.splat(k.f32(1), {8, 128})), o);
  EXPECT_FALSE(eliminateLaneBroadcasts(k.package()));
}

}  // namespace
}  // namespace smalti::cpu::testing
