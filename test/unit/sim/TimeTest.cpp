// The model of time, against numbers that follow from its rules by hand; and what it refuses.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "sim/Code.h"
#include "sim/Time.h"

namespace smalti::testing {
namespace {

using sim::Work;

tpu::Chip chipNamed(std::string_view name) {
  auto chip = tpu::findChip(name);
  EXPECT_TRUE(chip);
  return *chip;
}

KernelPackage kernelOf(const std::string& text, std::vector<ArrayType> operands, std::vector<ArrayType> results) {
  KernelPackage package;
  package.context = makeContext();
  package.module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(package.context.get()), "k.mlir");
  EXPECT_TRUE(package.module) << text;
  package.name = "kernel";
  package.operands = std::move(operands);
  package.results = std::move(results);
  const Status ok = finish(package);
  EXPECT_TRUE(ok) << ok.error().str();
  return package;
}

/// o = x + x in blocks of 256 × 1024; `map` says which block a step has.
std::string doubling(const std::string& grid, const std::string& semantics, const std::string& arguments,
                     const std::string& inputBlock, const std::string& body = "") {
  return fmt::format(R"MLIR(module {{
  func.func @kernel({0}, %x: memref<256x1024xf32, #tpu.memory_space<vmem>>,
                    %o: memref<256x1024xf32, #tpu.memory_space<vmem>>)
      attributes {{dimension_semantics = [{1}], iteration_bounds = array<i64: {2}>, scalar_prefetch = 0 : i64,
                  scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{{transform_indices = @in, window_bounds = array<i64: 256, 1024>}},
                                   {{transform_indices = @out, window_bounds = array<i64: 256, 1024>}}]}} {{
    %zero = arith.constant 0 : index
    %v = vector.load %x[%zero, %zero] : memref<256x1024xf32, #tpu.memory_space<vmem>>, vector<256x1024xf32>
    %s = arith.addf %v, %v : vector<256x1024xf32>
    {4}
    tpu.vector_store %o[%zero, %zero], %s {{strides = array<i32>}} : memref<256x1024xf32, #tpu.memory_space<vmem>>, vector<256x1024xf32>,
    return
  }}
  func.func @in({0}) -> (i32, i32) {{
    %zero = arith.constant 0 : i32
    return {3}, %zero : i32, i32
  }}
  func.func @out({0}) -> (i32, i32) {{
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }}
}}
)MLIR",
                     arguments, semantics, grid, inputBlock, body);
}

constexpr auto kArbitrary = "#tpu.dimension_semantics<arbitrary>";
constexpr auto kParallel = "#tpu.dimension_semantics<parallel>";
const ArrayType kLarge{DType::f32, {16384, 1024}};
constexpr double kBlockBytes = 256 * 1024 * 4;

sim::KernelTime timeOf(const KernelPackage& kernel, const tpu::Chip& chip) {
  auto time = sim::timeOf(kernel, chip, {});
  EXPECT_TRUE(time) << time.error().str();
  return *time;
}

TEST(Time, DataThatStreamsTakesWhatHbmTakes) {
  const tpu::Chip v5e = chipNamed("v5e");
  const auto kernel = kernelOf(doubling("64", kArbitrary, "%i: i32", "%i"), {kLarge}, {kLarge});
  const sim::KernelTime time = timeOf(kernel, v5e);
  EXPECT_EQ(time.steps, 64);
  EXPECT_DOUBLE_EQ(time.hbmBytes, 2 * 64 * kBlockBytes);
  EXPECT_EQ(time.copies, 128);
  const double us = time.cycles / (v5e.device.clockGhz * 1e3);
  const double streamed = 2 * 64 * kBlockBytes / (v5e.memory.hbmGbPerSecond * 1e3 * v5e.time.hbmEfficiency);
  EXPECT_GT(us, streamed);
  EXPECT_LT(us, streamed * 1.5 + v5e.time.kernelUs);
  EXPECT_GT(time.spent.bandwidth + time.spent.latency, time.cycles / 2);
}

TEST(Time, ABlockThatStaysIsFetchedOnce) {
  const auto kernel = kernelOf(doubling("64", kArbitrary, "%i: i32", "%zero"), {kLarge}, {kLarge});
  EXPECT_DOUBLE_EQ(timeOf(kernel, chipNamed("v5e")).hbmBytes, (1 + 64) * kBlockBytes);
}

TEST(Time, WorkFollowsFromRegistersAndSlots) {
  const tpu::Chip v6e = chipNamed("v6e");
  const auto kernel = kernelOf(doubling("64", kArbitrary, "%i: i32", "%i"), {kLarge}, {kLarge});
  const Work work = timeOf(kernel, v6e).work;
  const double registers = 64 * 256;  // 256 × 1024 elements are 256 registers of 8 × 128
  EXPECT_DOUBLE_EQ(work.cycles[Work::load], registers / static_cast<double>(v6e.vector.loadSlots));
  EXPECT_DOUBLE_EQ(work.cycles[Work::store], registers / static_cast<double>(v6e.vector.storeSlots));
  EXPECT_DOUBLE_EQ(work.cycles[Work::alu], registers / static_cast<double>(v6e.vector.aluSlots));
  EXPECT_DOUBLE_EQ(work.cycles[Work::matrix], 0);
}

TEST(Time, CoresShareAParallelAxis) {
  const tpu::Chip v5p = chipNamed("v5p");
  const sim::KernelTime alone = timeOf(kernelOf(doubling("64", kArbitrary, "%i: i32", "%i"), {kLarge}, {kLarge}), v5p);
  const sim::KernelTime both = timeOf(kernelOf(doubling("64", kParallel, "%i: i32", "%i"), {kLarge}, {kLarge}), v5p);
  EXPECT_EQ(alone.cores, 1);
  EXPECT_EQ(alone.steps, 64);
  EXPECT_EQ(both.cores, 2);
  EXPECT_EQ(both.steps, 32);
}

TEST(Time, AnEmptyGridCopiesNothing) {
  const sim::KernelTime time =
      timeOf(kernelOf(doubling("0", kArbitrary, "%i: i32", "%i"), {kLarge}, {kLarge}), chipNamed("v5e"));
  EXPECT_EQ(time.steps, 0);
  EXPECT_EQ(time.copies, 0);
}

TEST(Time, AMillionStepsAreQuick) {
  const std::string text = doubling("1000000", kArbitrary, "%i: i32", "%zero");
  const ArrayType huge{DType::f32, {256'000'000, 1024}};
  EXPECT_EQ(timeOf(kernelOf(text, {kLarge}, {huge}), chipNamed("v5e")).steps, 1'000'000);
}

constexpr auto kBranch = R"MLIR(
    %seven = arith.constant 7 : index
    %f = vector.extract %s[7, 7] : f32 from vector<256x1024xf32>
    %limit = arith.constant 1.0 : f32
    %large = arith.cmpf ogt, %f, %limit : f32
    scf.if %large {
      %e = math.exp %s : vector<256x1024xf32>
      tpu.vector_store %o[%zero, %zero], %e {strides = array<i32>} : memref<256x1024xf32, #tpu.memory_space<vmem>>, vector<256x1024xf32>,
    })MLIR";

TEST(Time, SM6902_ABranchDependsOnData) {
  const auto kernel = kernelOf(doubling("4", kArbitrary, "%i: i32", "%i", kBranch), {kLarge}, {kLarge});
  const auto time = sim::timeOf(kernel, chipNamed("v5e"), {});
  ASSERT_FALSE(time);
  EXPECT_EQ(time.error().str(), R"(error[SM6902]: a branch depends on data that is not given
  --> k.mlir:16:5
  have: it comes from a result of 'arith.cmpf' at k.mlir:15:14
  help: say what such branches do (--assume always, --assume never), or what line 15 gives (--assume k.mlir:15:14=NUMBER)
)");
  const tpu::Chip v5e = chipNamed("v5e");
  const auto always = sim::timeOf(kernel, v5e, {.operands = {}, .assume = sim::Assume::always});
  const auto never = sim::timeOf(kernel, v5e, {.operands = {}, .assume = sim::Assume::never});
  ASSERT_TRUE(always && never);
  EXPECT_GT(always->work.cycles[Work::transcendental], 0);
  EXPECT_EQ(never->work.cycles[Work::transcendental], 0);
}

TEST(Time, TheValueOfALineCanBeAssumed) {
  const auto kernel = kernelOf(doubling("4", kArbitrary, "%i: i32", "%i", kBranch), {kLarge}, {kLarge});
  const auto exponentials = [&](sim::Assumptions assume) {
    sim::Question question;
    question.assume = std::move(assume);
    const auto time = sim::timeOf(kernel, chipNamed("v5e"), question);
    EXPECT_TRUE(time) << time.error().str();
    return time->work.cycles[Work::transcendental];
  };
  sim::Assumptions one, zero;
  one.numbers = {{"k.mlir:15", 1}};
  zero.numbers = {{"k.mlir:15:14", 0}};
  EXPECT_EQ(exponentials(one), exponentials(sim::Assume::always));
  EXPECT_EQ(exponentials(zero), exponentials(sim::Assume::never));
  EXPECT_GT(exponentials(one), exponentials(zero));
}

TEST(Time, ARecordingIsOfTheWholeRun) {
  const auto kernel = kernelOf(doubling("64", kArbitrary, "%i: i32", "%i"), {kLarge}, {kLarge});
  sim::Question question;
  question.record = true;
  const auto time = sim::timeOf(kernel, chipNamed("v5e"), question);
  ASSERT_TRUE(time);
  ASSERT_TRUE(time->recording);
  const sim::Recording& r = *time->recording;
  EXPECT_TRUE(r.whole);
  EXPECT_EQ(r.steps, 64);
  EXPECT_EQ(r.until, time->cycles);
  EXPECT_LE(r.stretches.size(), 1024);
  double bytes = 0, waiting = 0, arithmetic = 0;
  for (const sim::Stretched& s : r.stretches) {
    bytes += s.hbmBytes;
    waiting += s.waiting;
    arithmetic += s.units[Work::alu];
  }
  EXPECT_NEAR(bytes, time->hbmBytes, 1);
  EXPECT_NEAR(waiting, time->spent.bandwidth + time->spent.latency, 1);
  EXPECT_NEAR(arithmetic, time->work.cycles[Work::alu], 1);
  // Nobody pays for what nobody looks at, and nothing changes for who does.
  EXPECT_EQ(timeOf(kernel, chipNamed("v5e")).cycles, time->cycles);
}

TEST(Compute, WrapsAndRoundsAsTheDialectDoes) {
  using sim::Binary;
  using sim::compute;
  EXPECT_EQ(compute(Binary::add, 32, INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(compute(Binary::divS, 32, -7, 2), -3);
  EXPECT_EQ(compute(Binary::floorDivS, 32, -7, 2), -4);
  EXPECT_EQ(compute(Binary::ceilDivS, 32, 7, 2), 4);
  EXPECT_EQ(compute(Binary::ceilDivS, 32, -7, 2), -3);
  EXPECT_EQ(compute(Binary::remS, 32, -7, 2), -1);
  EXPECT_EQ(compute(Binary::remU, 32, -1, 10), 5);
  EXPECT_EQ(compute(Binary::divS, 32, INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(compute(Binary::shiftRightU, 32, -1, 28), 15);
  EXPECT_EQ(compute(Binary::shiftRightS, 32, -16, 2), -4);
  EXPECT_EQ(compute(Binary::ltU, 32, -1, 1), 0);
  EXPECT_EQ(compute(Binary::bitXor, 1, 1, 1), 0);
  EXPECT_EQ(compute(Binary::zeroExtend, 1, 1, 0), 1);
  EXPECT_EQ(compute(Binary::countLeadingZeros, 32, 1, 0), 31);
  EXPECT_EQ(compute(Binary::popCount, 32, -1, 0), 32);
}

}  // namespace
}  // namespace smalti::testing
