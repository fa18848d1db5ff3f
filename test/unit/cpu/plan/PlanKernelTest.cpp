// The complete plan of a kernel, made and printed without emitting code.
#include "cpu/plan/PlanKernel.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../native/RowKernels.h"
#include "../native/SmallProducts.h"
#include "cpu/emit/NativeLowering.h"
#include "cpu/emit/ops/OpTables.h"
#include "cpu/plan/BodyPlanner.h"

namespace smalti::cpu::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Shape kRowsShape{16, 256};

Processor zen4() { return *processorNamed("x86_64-unknown-linux-gnu/znver4"); }

/// The package has to live as long as the plan of its body.
struct PlannedText {
  explicit PlannedText(const TextKernel& k, const PlanOptions& options = {}) : package(k.package()) {
    auto made = planKernel(package, zen4(), options);
    EXPECT_TRUE(made.has_value()) << made.error().reason;
    if (made) kernel = std::move(*made);
  }
  const KernelPlan& plan() const { return kernel.plan; }
  KernelPackage package;
  PlannedKernel kernel;
};

Spec inVmem(Shape shape, const std::string& dtype = "f32") {
  return {.dtype = dtype, .array = std::move(shape), .space = "vmem"};
}

/// Each row of exp(x - its maximum), divided by its sum.
TextKernel softmax(const Shape& shape) {
  TextKernel k;
  const Val x = k.input(inVmem(shape)), o = k.output(inVmem(shape));
  const Val all = k.load(x);
  const Val less = k.binary("arith.subf", all, reducedRows(k, "maximumf", all, shape, -1e30f)), e = k.fresh(less.type);
  k.raw(fmt::format("{} = math.exp {} : {}", e.name, less.name, e.type));
  k.store(k.binary("arith.divf", e, reducedRows(k, "add", e, shape, 0)), o);
  return k;
}

TEST(PlanKernel, ARowIsComputedInPhasesAndDividedByAReciprocal) {
  const PlannedText planned(softmax(kRowsShape));
  ASSERT_THAT(planned.plan().nests, SizeIs(1));
  const NestSummary& nest = planned.plan().nests[0];
  EXPECT_EQ(nest.segment, 1);
  EXPECT_THAT(nest.rows, ElementsAre(16));
  EXPECT_EQ(nest.columns, 256);
  EXPECT_EQ(nest.phases, 3);
  EXPECT_EQ(nest.bufferedValues, 1) << "of exp, for the sum and the quotient";
  EXPECT_EQ(nest.reciprocals, 1);
  EXPECT_EQ(nest.stores, 2) << "to the buffer and to the output";
  EXPECT_EQ(nest.reductions, 2);
  EXPECT_THAT(planned.plan().products, IsEmpty());
}

TEST(PlanKernel, ShortRowsAreDividedWithoutReciprocals) {
  EXPECT_EQ(PlannedText(softmax({16, 64})).plan().nests.at(0).reciprocals, 0);
}

/// A constant, as products start from.
Val zeros(TextKernel& k, const Shape& shape) {
  const Val v = k.fresh(fmt::format("vector<{}x{}xf32>", shape[0], shape[1]));
  k.raw(fmt::format("{} = arith.constant dense<0.0> : {}", v.name, v.type));
  return v;
}

/// o = x · y + bias, of f32.
TextKernel productWithBias(int64_t rows, bool readsResult) {
  TextKernel k;
  const Shape shape{rows, 128};
  const Val x = k.input(inVmem({rows, 64})), y = k.input(inVmem({64, 128})), bias = k.input(inVmem({1, 128})),
            o = k.output(inVmem(shape));
  const Val product = multiplied(k, k.load(x), k.load(y), false, zeros(k, shape));
  const Val row = k.load(readsResult ? o : bias, {1, 128}, {k.constant(0), k.constant(0)});
  const Val spread = k.fresh(product.type);
  k.raw(fmt::format("{} = vector.broadcast {} : {} to {}", spread.name, row.name, row.type, spread.type));
  k.store(k.binary("arith.addf", product, spread), o);
  return k;
}

const ProductOpPlan& onlyProduct(const PlannedKernel& kernel) {
  const ProductOpPlan* found = nullptr;
  for (const auto& [op, plan] : kernel.body.ops) {
    if (!plan.product) continue;
    EXPECT_EQ(found, nullptr) << "two products";
    found = &*plan.product;
  }
  return *found;
}

TEST(PlanKernel, ABiasIsAddedInTheMemoryOfTheStore) {
  const PlannedText planned(productWithBias(32, false));
  const ProductOpPlan& product = onlyProduct(planned.kernel);
  EXPECT_TRUE(product.destination.has_value());
  EXPECT_TRUE(product.addedRow);
  EXPECT_FALSE(product.accumulates || product.storesAdded);
  ASSERT_THAT(planned.plan().products, SizeIs(1));
  EXPECT_TRUE(planned.plan().products[0].shape.addsRow);
  EXPECT_THAT(planned.plan().nests, IsEmpty()) << "the sum is part of the product";
}

TEST(PlanKernel, FewRowsAreAddedBeforeTheProduct) {
  const PlannedText planned(productWithBias(8, false));
  const ProductOpPlan& product = onlyProduct(planned.kernel);
  EXPECT_FALSE(product.addedRow);
  EXPECT_TRUE(product.accumulates && product.storesAdded);
  EXPECT_THAT(planned.plan().nests, SizeIs(1)) << "it stores the row in all rows";
}

TEST(PlanKernel, ABiasThatTheProductOverwritesIsReadFirst) {
  const PlannedText planned(productWithBias(32, true));
  const ProductOpPlan& product = onlyProduct(planned.kernel);
  EXPECT_FALSE(product.addedRow);
  EXPECT_FALSE(planned.plan().products.at(0).shape.addsRow);
}

/// Twice x + x, with a copy of another ref between the two.
TextKernel sumsAroundACopy(bool copies) {
  TextKernel k;
  const Shape shape{8, 128};
  const Val x = k.input(inVmem(shape)), o = k.output(inVmem(shape)), p = k.output(inVmem(shape)),
            q = k.output(inVmem(shape)), done = k.dmaSemaphore();
  k.store(k.binary("arith.addf", k.load(x), k.load(x)), o);
  if (copies) {
    k.dma(x, q, done);
    k.waitDma(x, q, done);
  }
  k.store(k.binary("arith.mulf", k.load(x), k.load(x)), p);
  return k;
}

TEST(PlanKernel, ACopyEndsASegment) {
  EXPECT_THAT(PlannedText(sumsAroundACopy(false)).plan().nests, SizeIs(1));
  const PlannedText planned(sumsAroundACopy(true));
  ASSERT_THAT(planned.plan().nests, SizeIs(2));
  EXPECT_EQ(planned.plan().nests[0].segment, 1);
  EXPECT_EQ(planned.plan().nests[1].segment, 2);
  EXPECT_THAT(planned.plan().nests[0].ops, ElementsAre("arith.addf", "tpu.vector_store"));
  EXPECT_THAT(planned.plan().nests[1].ops, ElementsAre("arith.mulf", "tpu.vector_store"));
}

/// The ops of the nests before each op of a name, in program order.
std::vector<std::vector<std::string>> nestsBefore(const PlannedKernel& kernel, llvm::StringRef name) {
  std::vector<std::vector<std::string>> all;
  mlir::func::FuncOp(kernel.package().kernelFunction()).walk([&](mlir::Operation* op) {
    if (op->getName().getStringRef() != name) return;
    for (const auto& step : kernel.body.ops.find(op)->second.before)
      if (const auto* nests = std::get_if<PlannedNests>(&step))
        for (const schedule::Nest& nest : nests->segment.segment.nests) {
          all.emplace_back();
          for (const size_t i : nest.ops)
            all.back().push_back(nests->segment.segment.ops[i].op->getName().getStringRef().str());
        }
  });
  return all;
}

TEST(PlanKernel, DeferredOpsBelongToTheOpThatEndsTheirSegment) {
  const PlannedText planned(sumsAroundACopy(true));
  EXPECT_THAT(nestsBefore(planned.kernel, "tpu.enqueue_dma"),
              ElementsAre(ElementsAre("arith.addf", "tpu.vector_store")));
  EXPECT_THAT(nestsBefore(planned.kernel, "func.return"), ElementsAre(ElementsAre("arith.mulf", "tpu.vector_store")));
}

TEST(PlanKernel, PositionsAreThoseOfTheCode) {
  const PlannedText planned(productWithBias(8, false));
  ASSERT_THAT(planned.plan().nests, SizeIs(1));
  ASSERT_THAT(planned.plan().products, SizeIs(1));
  EXPECT_EQ(planned.plan().nests[0].position, 1) << "the row is stored in all rows, to which the product adds";
  EXPECT_EQ(planned.plan().products[0].position, 2);
}

/// Why there is no plan for a copy of rows from `source` on to the rows from 0 on.
std::string copyRefusal(const std::string& rows, bool within) {
  TextKernel k;
  const Val x = k.input({.array = {16, 128}}), y = k.output({.array = {16, 128}}), done = k.dmaSemaphore();
  const auto part = [&](const Val& ref, const std::string& start) {
    const Val view = k.fresh(fmt::format("memref<{}x128xf32, #tpu.memory_space<vmem>>", rows));
    const std::string size = rows == "?" ? ", %n" : "";
    k.raw(fmt::format(
        "{} = \"tpu.memref_slice\"({}, {}, %zero{}) <{{operandSegmentSizes = array<i32: 1, 2, {}>}}> : "
        "({}, i32, i32{}) -> {}",
        view.name, ref.name, start, size, rows == "?" ? 1 : 0, ref.type, rows == "?" ? ", i32" : "", view.type));
    return view;
  };
  k.raw("%zero = arith.constant 0 : i32\n%four = arith.constant 4 : i32\n%n = arith.constant 8 : i32");
  const Val from = part(x, "%four"), to = part(within ? x : y, "%zero");
  k.dma(from, to, done);
  k.waitDma(from, to, done);
  const KernelPackage package = k.package();
  const auto planned = planKernel(package, zen4(), {});
  return planned ? std::string() : planned.error().reason;
}

TEST(PlanKernel, CopiesWithoutNativeCodeHaveNoPlan) {
  EXPECT_EQ(copyRefusal("8", false), "");
  EXPECT_EQ(copyRefusal("8", true), "");
  EXPECT_EQ(copyRefusal("?", false), "");
  EXPECT_EQ(copyRefusal("?", true), "a copy of a dynamic size within one array");
}

TEST(PlanKernel, CopiesAreListedWithTheLoopAroundThem) {
  TextKernel k;
  const Val x = k.input({.array = {16, 128}}), y = k.output({.array = {16, 128}}), done = k.dmaSemaphore();
  k.loop(k.constant(0), k.constant(2), [&](const Val& n) {
    const Val row = k.binary("arith.muli", n, k.constant(8));
    const Val from = k.slice(x, {row, k.constant(0)}, {8, 128}), to = k.slice(y, {row, k.constant(0)}, {8, 128});
    k.dma(from, to, done);
    k.waitDma(from, to, done);
  });
  const PlannedText planned(k);
  ASSERT_THAT(planned.plan().copies, SizeIs(1));
  const CopySummary& copy = planned.plan().copies[0];
  EXPECT_EQ(copy.position, 1);
  EXPECT_THAT(copy.within, ::testing::StartsWith("loop"));
  EXPECT_EQ(copy.dtype, DType::f32);
  EXPECT_THAT(copy.shape, ElementsAre(8, 128));
  EXPECT_FALSE(copy.isRemote);
  EXPECT_FALSE(copy.isPacked);
}

/// Elements [:, :, 1] of an array are contiguous in neither dimension.
TEST(PlanKernel, OperandsThatProductsCannotReadAreCopied) {
  TextKernel k;
  const Val x = k.input(inVmem({16, 64})), w = k.input(inVmem({64, 48, 2})), o = k.output(inVmem({16, 48}));
  const Val part = k.load(w, {64, 48, 1}, {k.constant(0), k.constant(0), k.constant(1)}),
            matrix = k.fresh("vector<64x48xf32>");
  k.raw(fmt::format("{} = vector.shape_cast {} : {} to {}", matrix.name, part.name, part.type, matrix.type));
  k.store(multiplied(k, k.load(x), matrix, false, k.splat(k.f32(0), {16, 48})), o);
  const PlannedText planned(k);
  ASSERT_THAT(planned.plan().products, SizeIs(1));
  EXPECT_FALSE(planned.plan().products[0].copiesA);
  EXPECT_TRUE(planned.plan().products[0].copiesB);
  EXPECT_THAT(text(planned.plan().products[0]), ::testing::EndsWith(", B copied"));
}

/// The result of a loop that carries a vector.
TEST(PlanKernel, ValuesThatALoopCarriesAreMaterialised) {
  TextKernel k;
  const Val x = k.input(inVmem({8, 128})), o = k.output(inVmem({8, 128}));
  const Val start = k.load(x), end = k.fresh(start.type);
  k.raw(
      fmt::format("%lo = arith.constant 0 : i32\n%hi = arith.constant 4 : i32\n%st = arith.constant 1 : i32\n"
                  "{} = scf.for %n = %lo to %hi step %st iter_args(%c = {}) -> ({}) : i32 {{\n"
                  "%d = arith.addf %c, %c : {}\nscf.yield %d : {}\n}}",
                  end.name, start.name, start.type, start.type, start.type));
  k.store(end, o);
  const PlannedText planned(k);
  ASSERT_THAT(planned.plan().nests, SizeIs(3));
  EXPECT_THAT(planned.plan().nests[0].ops, ElementsAre("vector.load")) << "the loop may write to its memory";
  EXPECT_THAT(planned.plan().nests[1].ops, ElementsAre("arith.addf"));
  ASSERT_THAT(planned.plan().nests[1].values, SizeIs(1));
  EXPECT_FALSE(planned.plan().nests[1].values[0].reusesBuffer) << "the next iteration needs the carried value";
  EXPECT_THAT(planned.plan().nests[2].ops, ElementsAre("tpu.vector_store"));
}

/// Every op that has a lowering of its own has a plan of its own, and the other way round.
TEST(PlanKernel, PlansAndLoweringsAreOfTheSameOps) {
  std::set<std::string_view> planned, lowered;
  for (const auto rows :
       {plannedControlOps(), plannedMemoryOps(), plannedProductOps(), plannedSyncOps(), plannedVectorOps()})
    for (const PlanOpRow& row : rows) EXPECT_TRUE(planned.insert(row.first).second) << row.first;
  for (const auto rows : nativeOpTables())
    for (const NativeOpRow& row : rows) EXPECT_TRUE(lowered.insert(row.first).second) << row.first;
  EXPECT_EQ(planned, lowered);
}

}  // namespace
}  // namespace smalti::cpu::testing
