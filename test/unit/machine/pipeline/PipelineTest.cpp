// S-C: when blocks are fetched and written back, and what windows hold in between.
#include <cmath>

#include <gtest/gtest.h>

#include "../runtime/TextKernel.h"

namespace smalti::machine::testing {
namespace {

KernelResult ran(const TextKernel& k, const std::vector<Array>& operands, const MachineOptions& options = {}) {
  auto r = runOn(k, {operands}, options);
  EXPECT_TRUE(r.has_value()) << r.error().str();
  return r ? std::move(*r) : KernelResult{.results = {{}}};
}
MachineOptions hlo() {
  MachineOptions o;
  o.semantics = Semantics::hlo;
  return o;
}

/// Adds 1 to its input window at every step and copies the window out. Grid (2, 2): the input block is i.
TextKernel mutatingKernel() {
  TextKernel k({2, 2});
  const Val x = k.input({.array = {2, 4}, .block = {1, 4}, .map = "%i, %c0"});
  const Val o = k.output({.array = {2, 2, 4}, .block = {1, 1, 4}, .map = "%i, %j, %c0"});
  const Val sum = k.binary("arith.addf", k.load(x), k.splat(k.f32(1), {1, 4}));
  k.store(sum, x);
  const Val cube = k.fresh("vector<1x1x4xf32>");
  k.raw(cube.name + " = vector.shape_cast " + sum.name + " : vector<1x4xf32> to " + cube.type);
  k.store(cube, o);
  return k;
}

TEST(Pipeline, SC1_InputCopyIsSkippedWhenIndexUnchanged) {
  const auto r = ran(mutatingKernel(), {counting({2, 4})});
  EXPECT_EQ(r.statistics.windowFetches, 2);
  EXPECT_EQ(r.statistics.windowWriteBacks, 4);
}

TEST(Pipeline, SC2_MutationOfAnInputWindowLastsWhileTheBlockStays) {
  const Array x = counting({2, 4});
  const auto out = floats(ran(mutatingKernel(), {x}).results[0][0]);
  EXPECT_EQ(out[0], 1.f);
  EXPECT_EQ(out[4], 2.f) << "second step on the same block";
  EXPECT_EQ(out[8], 5.f) << "the next block is fetched";
  EXPECT_EQ(floats(x), floats(counting({2, 4}))) << "it never reaches the array";
}

TEST(Pipeline, SC2_HloWritesInputBlocksBackToItsOwnCopy) {
  TextKernel k({2, 2});  // block j: visited again after another one
  const Val x = k.input({.array = {2, 4}, .block = {1, 4}, .map = "%j, %c0"});
  const Val o = k.output({.array = {4, 4},
                          .block = {1, 4},
                          .map = "%r, %c0",
                          .lines = "%m = arith.muli %i, %c2 : i32\n%r = arith.addi %m, %j : i32"});
  const Val sum = k.binary("arith.addf", k.load(x), k.splat(k.f32(1), {1, 4}));
  k.store(sum, x);
  k.store(sum, o);
  const Array in = counting({2, 4});
  EXPECT_EQ(floats(ran(k, {in}, hlo()).results[0][0])[8], 2.f);
  EXPECT_EQ(floats(ran(k, {in}).results[0][0])[8], 1.f) << "on a TPU the block is fetched anew";
  EXPECT_EQ(floats(in)[0], 0.f);
}

/// out[i] = sum over j of in[i, j]: accumulates in the output window, initialised at j == 0.
TextKernel reduceKernel(bool initialise = true) {
  TextKernel k({2, 3});
  const Val x = k.input({.array = {6, 4},
                         .block = {1, 4},
                         .map = "%r, %c0",
                         .lines = "%m = arith.muli %i, %c3 : i32\n%r = arith.addi %m, %j : i32"});
  const Val o = k.output({.array = {2, 4}, .block = {1, 4}, .map = "%i, %c0"});
  if (initialise) k.when(k.compare("eq", k.id(1), k.constant(0)), [&] { k.store(k.splat(k.f32(0), {1, 4}), o); });
  k.store(k.binary("arith.addf", k.load(o), k.load(x)), o);
  return k;
}

TEST(Pipeline, SC3_OutputIsWrittenBackOncePerRunOfEqualIndices) {
  const auto r = ran(reduceKernel(), {counting({6, 4})}, checked());
  EXPECT_EQ(r.statistics.windowWriteBacks, 2);
  EXPECT_TRUE(r.findings.empty()) << r.findings[0].diagnostic.str();
}

TEST(Pipeline, SC4_AnOutputWindowStartsUndefined) {
  const auto r = ran(reduceKernel(false), {counting({6, 4})}, checked());
  EXPECT_TRUE(std::isnan(floats(r.results[0][0])[0]));
  EXPECT_EQ(codes(r), std::vector<std::string>{"SM4102"});
}

TEST(Pipeline, SC5_HloPreloadsTheOutputBlockAtEveryStep) {
  TextKernel add({1});
  const Val x = add.input({.array = {1, 4}, .block = {1, 4}, .map = "%c0, %c0"});
  const Val o = add.output({.array = {1, 4}, .block = {1, 4}, .map = "%c0, %c0"});
  add.store(add.binary("arith.addf", add.load(o), add.load(x)), o);
  add.alias(0, 0);
  EXPECT_EQ(floats(ran(add, {counting({1, 4})}, hlo()).results[0][0])[3], 6.f);
  EXPECT_TRUE(std::isnan(floats(ran(add, {counting({1, 4})}).results[0][0])[3])) << "S-C10";
}

TEST(Pipeline, SC8_AccumulatingOverTheLastAxis) {
  const auto out = floats(ran(reduceKernel(), {counting({6, 4})}).results[0][0]);
  EXPECT_EQ(out[0], 0.f + 4.f + 8.f);
  EXPECT_EQ(out[7], 15.f + 19.f + 23.f);
}

/// The output block alternates: 0, 1, 0, 1. `attributes` of its window.
TextKernel revisitingKernel(std::string attributes = "") {
  TextKernel k({2, 2});
  const Val o = k.output({.array = {2, 4}, .block = {1, 4}, .map = "%j, %c0", .attributes = std::move(attributes)});
  k.when(k.compare("eq", k.id(0), k.constant(0)), [&] { k.store(k.splat(k.f32(1), {1, 4}), o); });
  k.when(k.compare("eq", k.id(0), k.constant(1)),
         [&] { k.store(k.binary("arith.addf", k.load(o), k.splat(k.f32(1), {1, 4})), o); });
  return k;
}

TEST(Pipeline, SC6_RevisitingABlockAfterAnotherIsFound) {
  const auto r = ran(revisitingKernel(), {}, checked());
  ASSERT_EQ(codes(r), (std::vector<std::string>{"SM4105", "SM4102"}));
  EXPECT_EQ(
      r.findings[0].diagnostic.have,
      "Revisited block [0:1, 0:4] of output 0 in iteration (1, 0). The block was previously visited in iterations "
      "(0, 0) through (0, 0).");
  EXPECT_EQ(r.findings[0].count, 2);
  // What it loses is what the first visit stored.
  EXPECT_EQ(r.findings[0].diagnostic.place.line, lineOf(revisitingKernel(), "tpu.vector_store"));
}

TEST(Pipeline, SC7_RevisitModeAnyReadsTheBlockAgain) {
  auto k = revisitingKernel("pipeline_mode = #tpu.pipeline_mode<synchronous>, revisit_mode = #tpu.revisit_mode<any>");
  const auto r = ran(k, {}, checked());
  EXPECT_EQ(floats(r.results[0][0]), std::vector<float>(8, 2.f));
  EXPECT_TRUE(r.findings.empty()) << r.findings[0].diagnostic.str();
}

TEST(Pipeline, SC9_AliasedOutputKeepsTheInputWhereItIsNotVisited) {
  TextKernel k({1});
  const Val x = k.input({.array = {2, 4}, .block = {1, 4}, .map = "%c1, %c0"});
  const Val o = k.output({.array = {2, 4}, .block = {1, 4}, .map = "%c1, %c0"});
  k.store(k.binary("arith.addf", k.load(x), k.load(x)), o);
  k.alias(0, 0);
  const Array in = counting({2, 4});
  EXPECT_EQ(floats(ran(k, {in}).results[0][0]), (std::vector<float>{0, 1, 2, 3, 8, 10, 12, 14}));
  EXPECT_EQ(floats(in)[4], 4.f) << "an array that others hold is copied first";
}

TEST(Pipeline, SC9_ADonatedOperandBecomesTheOutput) {
  TextKernel k({1});
  k.input({.array = {1, 4}, .block = {1, 4}, .map = "%c0, %c0"});
  const Val o = k.output({.array = {1, 4}, .block = {1, 4}, .map = "%c0, %c0"});
  k.store(k.splat(k.f32(7), {1, 4}), o);
  k.alias(0, 0);
  std::vector<std::vector<Array>> operands(1);
  operands[0].push_back(counting({1, 4}));
  const auto* before = operands[0][0].data();
  auto r = runOn(k, operands);
  ASSERT_TRUE(r) << r.error().str();
  EXPECT_EQ(std::as_const(r->results[0][0]).data(), before);
}

TEST(Pipeline, SC10_AliasingDoesNotPreloadTheOutputWindow) {
  TextKernel k({1});
  const Val x = k.input({.array = {1, 4}, .block = {1, 4}, .map = "%c0, %c0"});
  const Val o = k.output({.array = {1, 4}, .block = {1, 4}, .map = "%c0, %c0"});
  k.store(k.binary("arith.addf", k.load(o), k.load(x)), o);
  k.alias(0, 0);
  const auto r = ran(k, {counting({1, 4})}, checked());
  EXPECT_TRUE(std::isnan(floats(r.results[0][0])[0]));
  EXPECT_EQ(codes(r), std::vector<std::string>{"SM4102"});
}

/// x[i] = x[i - 1] + 1 in place: the input of step i is what step i - 1 wrote.
TextKernel chainKernel(std::string inputAttributes) {
  TextKernel k({3});
  const Val x = k.input({.array = {4, 4}, .block = {1, 4}, .map = "%i, %c0", .attributes = std::move(inputAttributes)});
  const Val o =
      k.output({.array = {4, 4}, .block = {1, 4}, .map = "%r, %c0", .lines = "%r = arith.addi %i, %c1 : i32"});
  k.store(k.binary("arith.addf", k.load(x), k.splat(k.f32(1), {1, 4})), o);
  k.alias(0, 0);
  return k;
}

TEST(Pipeline, SC10_AfterTheWriteBackALaterFetchSeesIt) {
  const auto out = floats(ran(chainKernel(""), {counting({4, 4})}).results[0][0]);
  EXPECT_EQ(out[4], 1.f);
  EXPECT_EQ(out[12], 3.f);
}

TEST(Pipeline, SC10_APrefetchThatOvertakesAWriteBackIsFound) {
  EXPECT_EQ(codes(ran(chainKernel(""), {counting({4, 4})}, checked())), std::vector<std::string>{"SM4110"});
  EXPECT_TRUE(ran(chainKernel("pipeline_mode = #tpu.pipeline_mode<synchronous>"), {counting({4, 4})}, checked())
                  .findings.empty());
}

TEST(Pipeline, SC11_OutputsThatNoProgramWritesAreUndefined) {
  TextKernel k({1});
  k.output({.array = {2, 4}, .block = {1, 4}, .map = "%c0, %c0"});
  const auto r = ran(k, {}, checked());
  EXPECT_TRUE(std::isnan(floats(r.results[0][0])[7]));
  EXPECT_EQ(codes(r), std::vector<std::string>{"SM4102"});
}

TEST(Pipeline, SC11_UnsignedOutputsStartAtTheirOwnMinimumOrMaximum) {
  TextKernel k({1});
  k.output({.dtype = "u8", .array = {2, 4}, .block = {1, 4}, .map = "%c0, %c0"});
  MachineOptions options;
  EXPECT_EQ(ran(k, {}).results[0][0].as<uint8_t>()[7], 0);
  options.poison = Poison::intMax;
  EXPECT_EQ(ran(k, {}, options).results[0][0].as<uint8_t>()[7], 255);
}

TEST(Pipeline, SC12_ScratchPersistsOverStepsAndStartsUndefined) {
  TextKernel k({3});
  const Val o = k.output({.array = {3, 4}, .block = {1, 4}, .map = "%i, %c0"});
  const Val acc = k.scratch("f32", {1, 4});
  k.store(k.load(acc), o);
  k.store(k.splat(k.toFloat(k.id(0)), {1, 4}), acc);
  const auto out = floats(ran(k, {}).results[0][0]);
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_EQ(out[4], 0.f);
  EXPECT_EQ(out[8], 1.f);
}

TEST(Pipeline, SC13_BufferCountIsInvisible) {
  for (const char* mode : {"", "pipeline_mode = #tpu.pipeline_mode<synchronous>",
                           "pipeline_mode = "
                           "#tpu.pipeline_mode<double_buffered>"}) {
    TextKernel k({3});
    const Val x = k.input({.array = {3, 4}, .block = {1, 4}, .map = "%i, %c0", .attributes = mode});
    const Val o = k.output({.array = {3, 4}, .block = {1, 4}, .map = "%i, %c0", .attributes = mode});
    k.store(k.load(x), o);
    EXPECT_EQ(floats(ran(k, {counting({3, 4})}).results[0][0]), floats(counting({3, 4})));
  }
}

TEST(Pipeline, SC14_TheLastBlockIsWrittenBackAtTheEnd) {
  struct Recorder : Observer {
    std::vector<std::string> events;
    void stepBegin(const Actor& a) override { events.push_back("step " + std::to_string(a.gridStep[0])); }
    void windowFetched(const Actor&, int o, std::span<const int64_t> b) override {
      events.push_back("fetch " + std::to_string(o) + " " + std::to_string(b[0]));
    }
    void windowWrittenBack(const Actor&, int o, std::span<const int64_t> b) override {
      events.push_back("write " + std::to_string(o) + " " + std::to_string(b[0]));
    }
    void kernelEnd(const Actor&) override { events.push_back("end"); }
  } recorder;
  TextKernel k({2});
  const Val x = k.input({.array = {2, 4}, .block = {1, 4}, .map = "%i, %c0"});
  const Val o = k.output({.array = {2, 4}, .block = {1, 4}, .map = "%i, %c0"});
  k.store(k.load(x), o);
  Observer* const extra[] = {&recorder};
  ASSERT_TRUE(runOn(k, {{counting({2, 4})}}, {}, extra));
  EXPECT_EQ(recorder.events,
            (std::vector<std::string>{"step 0", "fetch 0 0", "step 1", "write 1 0", "fetch 0 1", "write 1 1", "end"}));
}

TEST(Pipeline, SC16_SmemWindowsAreScalarIndexable) {
  TextKernel k({3});
  const Val x = k.input({.dtype = "i32", .array = {6}, .block = {2}, .map = "%i", .space = "smem"});
  const Val o = k.output({.dtype = "i32", .array = {3}, .block = {1}, .map = "%i", .space = "smem"});
  k.scalarStore(k.binary("arith.addi", k.scalarLoad(x, {k.constant(0)}), k.scalarLoad(x, {k.constant(1)})), o, {});
  EXPECT_EQ(ints(ran(k, {i32Array({6}, [](int64_t i) { return i; })}).results[0][0]), (std::vector<int32_t>{1, 5, 9}));
}

TEST(Pipeline, SC18_AnyOperandsAreTheArraysThemselves) {
  TextKernel k;  // copies half of the input straight into the output
  const Val x = k.input({.array = {4, 4}, .space = "any"});
  const Val o = k.output({.array = {4, 4}, .space = "any"});
  const Val sem = k.dmaSemaphore();
  const Val zero = k.constant(0);
  const Val from = k.slice(x, {zero, zero}, {2, 4}), to = k.slice(o, {zero, zero}, {2, 4});
  k.dma(from, to, sem);
  k.waitDma(from, to, sem);
  const auto r = ran(k, {counting({4, 4})}, checked());
  const auto out = floats(r.results[0][0]);
  EXPECT_EQ(out[7], 7.f);
  EXPECT_TRUE(std::isnan(out[8])) << "what is not written stays undefined";
  EXPECT_EQ(codes(r), std::vector<std::string>{"SM4102"});
}

}  // namespace
}  // namespace smalti::machine::testing
