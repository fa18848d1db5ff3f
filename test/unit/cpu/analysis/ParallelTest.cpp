// Which grid axes threads may share.
#include "cpu/analysis/Parallel.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../../Recordings.h"
#include "../../machine/runtime/TextKernel.h"
#include "interop/Interop.h"

namespace smalti::cpu {
namespace {

using machine::testing::Spec;
using machine::testing::TextKernel;
using machine::testing::Val;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Spec rows(const std::string& map = "%i, %c0", const std::string& lines = "") {
  return {.array = {32, 128}, .block = {8, 128}, .map = map, .lines = lines};
}

/// o = x + 1, block by block.
ParallelPlan planOf(std::vector<int64_t> grid, const std::string& semantics, const Spec& output) {
  TextKernel k(std::move(grid), semantics);
  const Val x = k.input(rows()), o = k.output(output);
  const Val v = k.load(x);
  k.store(k.binary("arith.addf", v, v), o);
  return planParallel(k.package());
}

TEST(Parallel, LeadingParallelAxesAreShared) {
  EXPECT_EQ(planOf({4}, "parallel", rows()), (ParallelPlan{1, ""}));
  EXPECT_EQ(planOf({4, 2}, "parallel,arbitrary", rows()), (ParallelPlan{1, ""}));
}

TEST(Parallel, WithoutMarksTheProofIsEnough) {
  EXPECT_EQ(planOf({4}, "arbitrary", rows()), (ParallelPlan{1, ""}));
  EXPECT_EQ(planOf({4, 2}, "arbitrary,parallel", rows()), (ParallelPlan{1, ""}));
  const ParallelPlan none = planOf({4}, "arbitrary", rows("%c0, %c0"));
  EXPECT_EQ(none.axes, 0);
  EXPECT_THAT(none.reason, HasSubstr("output 0"));
}

TEST(Parallel, AnOutputBlockBelongsToOnePoint) {
  EXPECT_THAT(planOf({4}, "parallel", rows("%c0, %c0")).reason, HasSubstr("output 0"));
  // Revisited along the second axis only: that axis stays on one thread.
  const ParallelPlan plan = planOf({4, 2}, "parallel", rows());
  EXPECT_EQ(plan.axes, 1);
  EXPECT_THAT(plan.reason, HasSubstr("grid axis 1"));
  EXPECT_EQ(planOf({4, 1}, "parallel", rows()), (ParallelPlan{2, ""}));
  EXPECT_EQ(planOf({2, 4}, "parallel", rows("%j, %c0")).axes, 0);
}

/// Programs may update an output atomically in any order if its author says so; scratch belongs to one thread.
TEST(Parallel, D8_AtomicUpdates) {
  const auto plan = [](const std::string& semantics, bool ofScratch) {
    TextKernel k({4}, semantics);
    const Val x = k.input(rows()), o = k.output({.array = {32, 128}, .space = "any"});
    const Val scratch = k.scratch("f32", {32, 128}, "any");
    const Val one = k.splat(k.f32(1), {32, 128}), &to = ofScratch ? scratch : o;
    k.raw("%updated = tpu.atomic \"add\" " + to.name + ", " + one.name + " : " + to.type + ", " + one.type + " -> " +
          one.type);
    return planParallel(k.package());
  };
  EXPECT_EQ(plan("parallel", false), (ParallelPlan{1, ""}));
  EXPECT_EQ(plan("arbitrary", false).axes, 0);
  EXPECT_EQ(plan("arbitrary", false).reason, "it updates output 0 atomically, and no grid axis is marked as parallel");
  EXPECT_EQ(plan("parallel", true).axes, 0);
  EXPECT_THAT(plan("parallel", true).reason, HasSubstr("scratch 0"));
}

TEST(Parallel, SumsOfGridIndicesAreDigits) {
  const auto map = [](const std::string& factor, std::vector<int64_t> grid) {
    return planOf(std::move(grid), "parallel",
                  rows("%b, %c0", "%a = arith.muli %i, %c" + factor + " : i32\n%b = arith.addi %a, %j : i32\n"))
        .axes;
  };
  EXPECT_EQ(map("2", {2, 2}), 2);
  EXPECT_EQ(map("4", {1, 4}), 2);
  EXPECT_EQ(map("3", {2, 4}), 0) << "point (0, 3) has the block of (1, 0)";
  EXPECT_EQ(map("4", {2, 3}), 2) << "some blocks are left out";
  EXPECT_EQ(map("0", {2, 2}), 0);
  EXPECT_EQ(map("1", {2, kDynamicBound}), 0);
}

TEST(Parallel, OtherArithmeticIsNotFollowed) {
  EXPECT_EQ(planOf({4}, "parallel", rows("%b, %c0", "%b = arith.minsi %i, %c2 : i32\n")).axes, 0);
  EXPECT_EQ(planOf({4}, "parallel", rows("%b, %c0", "%b = arith.subi %c3, %i : i32\n")).axes, 1);
  // Doubled 40 times: neither slow nor taken for 0.
  std::string lines = "%b0 = arith.addi %i, %i : i32\n";
  for (int n = 1; n < 40; ++n) lines += fmt::format("%b{} = arith.addi %b{}, %b{} : i32\n", n, n - 1, n - 1);
  EXPECT_EQ(planOf({4}, "parallel", rows("%b39, %c0", lines)).axes, 0);
}

TEST(Parallel, ElementBlocksMustBeDisjoint) {
  const auto map = [](const std::string& factor) {
    Spec s = rows("%a, %c0", "%f = arith.constant " + factor + " : i32\n%a = arith.muli %i, %f : i32\n");
    s.attributes = "window_kind = #tpu.element_window<[0, 0], [0, 0]>";
    return planOf({4}, "parallel", s).axes;
  };
  EXPECT_EQ(map("8"), 1);
  EXPECT_EQ(map("7"), 0);
}

/// The rows of an output whose block is `map`, after `lines`, in a grid whose first axis is parallel; %p0 and %p1 are
/// scalar prefetch.
ParallelPlan planOfLookups(std::vector<int64_t> grid, const std::string& semantics, const std::string& map,
                           const std::string& lines, bool carriesScratch = false) {
  TextKernel k(std::move(grid), semantics);
  k.prefetch("i32", {8});
  k.prefetch("i32", {8});
  const Val x = k.input(rows("%c0, %c0"));
  const Val o = k.output({.array = {64, 512}, .block = {8, 128}, .map = map, .lines = lines});
  const Val s = k.scratch("f32", {8, 128});
  const Val v = carriesScratch ? k.load(s) : k.load(x);
  k.store(k.binary("arith.addf", v, v), o);
  k.store(v, s);
  return planParallel(k.package());
}
const std::string kOfJ =
    "%at = arith.index_cast %j : i32 to index\n%row = memref.load %p0[%at] : memref<8xi32, #tpu.memory_space<smem>>\n";

/// Steps that look up the block of an output run in runs of the same block, the others in any order.
TEST(Parallel, RunsOfStepsWithTheSameBlocks) {
  const BlockRuns first{.coordinates = {0}};
  EXPECT_EQ(planOfLookups({4, 8}, "parallel,arbitrary", "%row, %i", kOfJ), (ParallelPlan{1, "", first}));
  EXPECT_EQ(planOfLookups({4, kDynamicBound}, "parallel,arbitrary", "%row, %i", kOfJ), (ParallelPlan{1, "", first}));
  EXPECT_EQ(planOfLookups({4, 8, 3}, "parallel,arbitrary,arbitrary", "%row, %i", kOfJ), (ParallelPlan{1, "", first}));
  EXPECT_EQ(planOfLookups({4, 8}, "parallel,arbitrary", "%i, %row", kOfJ).runs, BlockRuns{.coordinates = {1}});
  // Arithmetic with a constant divisor never decreases.
  EXPECT_EQ(planOfLookups({4, 8}, "parallel,arbitrary", "%half, %i", "%half = arith.divsi %j, %c2 : i32\n").runs,
            (BlockRuns{.coordinates = {0}, .isProved = true}));
  EXPECT_EQ(planOfLookups({4, 8}, "parallel,arbitrary", "%back, %i", "%back = arith.subi %c7, %j : i32\n").runs,
            BlockRuns{.coordinates = {0}});
}

TEST(Parallel, NoRuns) {
  EXPECT_FALSE(planOfLookups({4, 8}, "parallel,arbitrary", "%c0, %i", "").runs) << "all steps have the same block";
  EXPECT_FALSE(planOfLookups({4, 8}, "parallel,arbitrary", "%row, %i", kOfJ, true).runs) << "scratch is carried";
  EXPECT_FALSE(
      planOfLookups({4, 8, 2}, "parallel,arbitrary,arbitrary", "%b, %i", kOfJ + "%b = arith.addi %row, %k : i32\n")
          .runs)
      << "the coordinate depends on an axis inside";
  EXPECT_FALSE(
      planOfLookups({4, 8}, "parallel,arbitrary", "%row, %i",
                    "%half = tpu.memref_slice %p0[%c0] : memref<8xi32, #tpu.memory_space<smem>> -> memref<4xi32, "
                    "#tpu.memory_space<smem>>\n%at = arith.index_cast %j : i32 to index\n"
                    "%row = memref.load %half[%at] : memref<4xi32, #tpu.memory_space<smem>>\n")
          .runs)
      << "a view is looked up in";
  std::string chain = kOfJ + "%b0 = arith.addi %row, %row : i32\n";
  for (int n = 1; n < 64; ++n) chain += fmt::format("%b{} = arith.addi %b{}, %row : i32\n", n, n - 1);
  EXPECT_FALSE(planOfLookups({4, 8}, "parallel,arbitrary", "%b63, %i", chain).runs) << "too long";
  EXPECT_FALSE(planOfLookups({4, 1, 8}, "parallel,arbitrary,arbitrary", "%row, %i", kOfJ).runs) << "one step";
}

TEST(Parallel, DynamicBoundsAreShared) {
  TextKernel k({kDynamicBound, 2}, "parallel,arbitrary");
  const Val x = k.input(rows()), o = k.output(rows());
  k.store(k.load(x), o);
  KernelPackage package = k.package();
  EXPECT_EQ(planParallel(package), (ParallelPlan{1, ""}));
}

/// The accumulation of a product: s starts at 0 where `first` says so, adds x, is stored to o at the end.
ParallelPlan accumulation(const std::function<void(TextKernel&, const Val& scratch)>& body,
                          const std::string& semantics = "parallel,arbitrary", Shape scratch = {8, 128}) {
  TextKernel k({4, 3}, semantics);
  const Val x = k.input(rows()), o = k.output(rows());
  const Val s = k.scratch("f32", std::move(scratch));
  body(k, s);
  k.store(k.binary("arith.addf", k.load(s, {8, 128}, {k.constant(0), k.constant(0)}), k.load(x)), o);
  return planParallel(k.package());
}
Val zeros(TextKernel& k, Shape shape = {8, 128}) { return k.splat(k.f32(0), shape); }

TEST(Parallel, ScratchWrittenInEveryRun) {
  EXPECT_EQ(accumulation([](TextKernel& k, const Val& s) { k.store(zeros(k), s); }), (ParallelPlan{1, ""}));
  EXPECT_EQ(accumulation([](TextKernel& k, const Val& s) {
              const Val old = k.load(s);
              k.binary("arith.addf", old, old);
              k.store(zeros(k), s);
            }).axes,
            1)
      << "what is read is dropped";
  const ParallelPlan plan = accumulation([](TextKernel&, const Val&) {});
  EXPECT_EQ(plan.axes, 0);
  EXPECT_THAT(plan.reason, HasSubstr("scratch 0"));
}

TEST(Parallel, ScratchWrittenAtTheFirstInnerPoint) {
  const auto when = [](int axis, int at, const std::string& predicate = "eq") {
    return [=](TextKernel& k, const Val& s) {
      k.when(k.compare(predicate, k.id(axis), k.constant(at)), [&] { k.store(zeros(k), s); });
    };
  };
  EXPECT_EQ(accumulation(when(1, 0)), (ParallelPlan{1, ""}));
  EXPECT_EQ(accumulation(when(1, 0, "sle")), (ParallelPlan{1, ""}));
  EXPECT_EQ(accumulation(when(1, 1)).axes, 0);
  EXPECT_EQ(accumulation(when(0, 0)).axes, 0);
  // As JAX writes it: extended to i32 and compared with 0.
  EXPECT_EQ(accumulation([](TextKernel& k, const Val& s) {
              const Val c = k.compare("eq", k.id(1), k.constant(0)), wide = k.fresh("i32");
              k.raw(fmt::format("{} = arith.extui {} : i1 to i32", wide.name, c.name));
              k.when(k.compare("ne", wide, k.constant(0)), [&] { k.store(zeros(k), s); });
            }).axes,
            1);
}

TEST(Parallel, TheInitialisedAxisIsNotShared) {
  TextKernel k({4, 4}, "parallel");
  const Val x = k.input(rows()), o = k.output({.array = {32, 512}, .block = {8, 128}, .map = "%i, %j"});
  const Val s = k.scratch("f32", {8, 128});
  k.when(k.compare("eq", k.id(1), k.constant(0)), [&] { k.store(k.load(x), s); });
  k.store(k.load(s), o);
  const ParallelPlan plan = planParallel(k.package());
  EXPECT_EQ(plan.axes, 1);
  EXPECT_THAT(plan.reason, HasSubstr("grid axis 1"));
}

TEST(Parallel, PartsAddUp) {
  const auto at = [](TextKernel& k, int row) { return std::vector<Val>{k.constant(row), k.constant(0)}; };
  EXPECT_EQ(accumulation([&](TextKernel& k, const Val& s) {
              k.store(zeros(k, {4, 128}), s, at(k, 4));
              k.store(zeros(k, {4, 128}), s, at(k, 0));
            }).axes,
            1);
  EXPECT_EQ(accumulation([&](TextKernel& k, const Val& s) {
              k.store(zeros(k, {4, 128}), s, at(k, 3));
              k.store(zeros(k, {4, 128}), s, at(k, 0));
            }).axes,
            0);
  EXPECT_EQ(accumulation([&](TextKernel& k, const Val& s) { k.store(zeros(k), s, {k.id(1), k.constant(0)}); },
                         "parallel,arbitrary", {16, 128})
                .axes,
            0)
      << "anywhere on the axis";
  EXPECT_EQ(accumulation([&](TextKernel& k, const Val& s) { k.store(zeros(k), s, at(k, 0)); }, "parallel,arbitrary",
                         {16, 128})
                .axes,
            1)
      << "no more is read than was written";
}

TEST(Parallel, LoopsAreFollowedRoundByRound) {
  const auto fill = [](int from, int to) {
    return [=](TextKernel& k, const Val& s) {
      k.loop(k.constant(from), k.constant(to),
             [&](const Val& i) { k.store(zeros(k, {1, 128}), s, {i, k.constant(0)}); });
    };
  };
  EXPECT_EQ(accumulation(fill(0, 8)).axes, 1);
  EXPECT_EQ(accumulation(fill(1, 8)).axes, 0);
  EXPECT_EQ(accumulation([&](TextKernel& k, const Val& s) {
              k.loop(k.constant(0), k.constant(1000), [&](const Val&) { k.store(zeros(k), s); });
            }).axes,
            1)
      << "many rounds, but one at least";
  EXPECT_EQ(accumulation([&](TextKernel& k, const Val& s) {
              k.loop(k.constant(0), k.id(1), [&](const Val&) { k.store(zeros(k), s); });
            }).axes,
            0)
      << "perhaps no round";
}

TEST(Parallel, BothBranchesOrNone) {
  const auto branches = [](bool both) {
    return [=](TextKernel& k, const Val& s) {
      const Val c = k.compare("slt", k.id(0), k.constant(2));
      k.raw(fmt::format("scf.if {} {{", c.name));
      k.store(zeros(k), s);
      k.raw("} else {");
      if (both) k.store(zeros(k), s);
      k.raw("}");
    };
  };
  EXPECT_EQ(accumulation(branches(true)).axes, 1);
  EXPECT_EQ(accumulation(branches(false)).axes, 0);
}

TEST(Parallel, ViewsShowTheirMemory) {
  EXPECT_EQ(accumulation([&](TextKernel& k, const Val& s) {
              const Val upper = k.slice(s, {k.constant(0), k.constant(0)}, {4, 128});
              const Val lower = k.slice(s, {k.constant(4), k.constant(0)}, {4, 128});
              k.store(zeros(k, {4, 128}), upper);
              k.store(zeros(k, {4, 128}), lower);
            }).axes,
            1);
  EXPECT_EQ(accumulation([&](TextKernel& k, const Val& s) {
              const Val row = k.slice(s, {k.id(1), k.constant(0)}, {1, 128});
              k.store(zeros(k, {128}), k.squeeze(row, {128}));
            }).axes,
            0);
  const auto reshaped = [](int64_t rows) {
    return [=](TextKernel& k, const Val& s) {
      const Val v = k.fresh(machine::testing::memref("f32", {16, 64}, "vmem"));
      k.raw(fmt::format("{} = tpu.memref_reshape {} : {} -> {}", v.name, s.name, s.type, v.type));
      k.store(zeros(k, {rows, 64}), v, {k.constant(0), k.constant(0)});
    };
  };
  EXPECT_EQ(accumulation(reshaped(16)).axes, 1);
  EXPECT_EQ(accumulation(reshaped(8)).axes, 0);
}

TEST(Parallel, MemoryOfAScopeIsItsOwn) {
  EXPECT_EQ(planParallel([] {
              TextKernel k({4}, "parallel");
              const Val x = k.input(rows()), o = k.output(rows());
              k.region([&] {
                const Val s = k.alloc("f32", {8, 128});
                k.store(k.load(x), s);
                k.store(k.load(s), o);
              });
              return k.package();
            }()),
            (ParallelPlan{1, ""}));
}

TEST(Parallel, WhatOthersSeeIsInOrder) {
  const auto with = [](const std::function<void(TextKernel&, const Val& x)>& body) {
    TextKernel k({4}, "parallel");
    const Val x = k.input(rows()), o = k.output(rows());
    const Val p = k.semaphore();
    body(k, x);
    k.store(k.load(x), o);
    const ParallelPlan plan = planParallel(k.package());
    EXPECT_EQ(plan.axes == 0, !plan.reason.empty());
    return plan.axes;
  };
  EXPECT_EQ(with([](TextKernel&, const Val&) {}), 1);
  EXPECT_EQ(with([](TextKernel& k, const Val& x) { k.store(zeros(k), x); }), 0) << "an input is written";
  EXPECT_EQ(with([](TextKernel& k, const Val&) { k.raw("\"tpu.prng_set_seed_32\"(%i) : (i32) -> ()"); }), 0);
  EXPECT_EQ(with([](TextKernel& k, const Val&) {
              k.semSignal({"%s0", machine::testing::memref("!tpu.semaphore", {}, "semaphore_mem")}, k.constant(1));
            }),
            0);
}

TEST(Parallel, AliasesReadTheirOwnBlock) {
  const auto aliased = [](const std::string& inputMap, bool read = true) {
    TextKernel k({4}, "parallel");
    const Val x = k.input(rows(inputMap, "%r = arith.subi %c3, %i : i32\n")), o = k.output(rows());
    k.alias(0, 0);
    k.store(read ? k.load(x) : zeros(k), o);
    return planParallel(k.package()).axes;
  };
  EXPECT_EQ(aliased("%r, %c0"), 0);
  EXPECT_EQ(aliased("%r, %c0", false), 1) << "never read";
}

TEST(Parallel, AliasesWithEqualWindows) {
  TextKernel k({4}, "parallel");
  const Val x = k.input(rows()), o = k.output(rows());
  k.alias(0, 0);
  k.store(k.load(x), o);
  EXPECT_EQ(planParallel(k.package()), (ParallelPlan{1, ""}));
}

TEST(Parallel, WholeOutputs) {
  TextKernel k({4}, "parallel");
  const Val x = k.input(rows());
  k.output({.array = {32, 128}, .space = "any"});
  EXPECT_EQ(planParallel(k.package()).axes, 1) << "nobody writes it";
}

TEST(Parallel, RecordedKernels) {
  namespace fs = std::filesystem;
  const fs::path corpus = smalti::test::recordingsFolder();
  if (!fs::exists(corpus)) GTEST_SKIP() << "no recordings at " << corpus;
  int kernels = 0, marked = 0, shared = 0;
  std::map<std::string, int> reasons;
  for (const auto& entry : fs::recursive_directory_iterator(corpus)) {
    if (entry.path().filename() != "module.stablehlo.mlir") continue;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    auto program = interop::importStableHlo(text, entry.path().string());
    if (!program) continue;
    for (const KernelPackage& kernel : program->kernels) {
      ++kernels;
      const auto& semantics = kernel.signature.dimensionSemantics;
      const ParallelPlan plan = planParallel(kernel);
      const bool leading =
          !kernel.signature.grid.empty() && !semantics.empty() && semantics[0] == DimensionSemantics::parallel;
      EXPECT_TRUE(plan.axes > 0 || !plan.reason.empty() || kernel.signature.grid.empty()) << entry.path();
      marked += leading;
      shared += plan.axes > 0;
      if (!plan.reason.empty()) ++reasons[fmt::format("{} shared: {}", plan.axes, plan.reason)];
      if (std::getenv("SMALTI_SHOW_PLANS") && !plan.reason.empty())
        std::printf("%s: %d shared, %s\n", entry.path().parent_path().filename().c_str(), plan.axes,
                    plan.reason.c_str());
    }
  }
  EXPECT_GT(kernels, 0);
  std::printf("%d kernels, %d with a leading parallel axis, %d share it\n", kernels, marked, shared);
  for (const auto& [reason, count] : reasons) std::printf("%5d  %s\n", count, reason.c_str());
}

}  // namespace
}  // namespace smalti::cpu
