// What the proofs say of random small kernels, against runs of them.
#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "../../LongTest.h"
#include "RandomBodies.h"
#include "cpu/analysis/KnownIntegers.h"
#include "cpu/analysis/MustWrite.h"
#include "cpu/analysis/Parallel.h"
#include "cpu/analysis/ReadBeforeWrite.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace smalti::cpu::testing {
namespace {

using machine::testing::TextKernel;
using machine::testing::Val;

constexpr int kBodies = 12;  ///< per case of rapidcheck

TEST(Proofs, ReadsBeforeWritesAreNeverMissed) {
  SMALTI_LONG_TEST();
  int covered = 0, readFirst = 0;
  EXPECT_TRUE(rc::check([&] {
    for (int n = 0; n < kBodies; ++n) {
      const Body body = someBody(1);
      std::vector<bool> zero;
      for (size_t d = 0; d < body.grid.size(); ++d) zero.push_back(*rc::gen::inRange(0, 2) == 0);
      const KernelPackage package = body.kernel().package();
      const BodyAccesses use = accessesOfOneRun(package.kernelFunction(), zero);
      for (const auto& point : pointsOf(body.grid)) {
        bool meant = true;
        for (size_t d = 0; d < zero.size(); ++d) meant &= !zero[d] || point[d] == 0;
        if (!meant) continue;
        const Trace trace = runOnce(body, point);
        for (size_t ref = 0; ref < body.refs(); ++ref) {
          const BufferAccesses& said = use.arguments[body.argumentOf(ref)];
          if (trace.readFirst[ref]) RC_ASSERT(said.readFirst);
          if (trace.stored[ref]) RC_ASSERT(said.stored);
          if (said.covered) RC_ASSERT(trace.written[ref].size() == static_cast<size_t>(Body::kSide * Body::kSide));
          covered += said.covered;
          readFirst += trace.readFirst[ref];
        }
      }
    }
  }));
  EXPECT_GT(covered, 100) << "bodies are such that there is something to prove";
  EXPECT_GT(readFirst, 100);
}

/// Where axes are shared or divided into runs, and nothing is undefined in order, all is as it is in order. How many
/// bodies had at least two groups of points.
int checkShared(Body (*some)()) {
  int proved = 0;
  EXPECT_TRUE(rc::check([&] {
    for (int n = 0; n < kBodies; ++n) {
      const Body body = some();
      const GroupOf groupOf = groupsOf(body, planParallel(body.kernel().package()));
      std::set<std::vector<int64_t>> groups;
      for (const auto& point : pointsOf(body.grid)) groups.insert(groupOf(point));
      if (groups.size() < 2) continue;
      const GridRun inOrder = runGrid(body, {}, 1);
      if (inOrder.undefined) continue;
      for (const uint64_t junk : {2, 3}) {
        const GridRun shared = runGrid(body, groupOf, junk);
        RC_ASSERT(!shared.undefined);
        RC_ASSERT(shared.values == inOrder.values);
      }
      ++proved;
    }
  }));
  return proved;
}

TEST(Proofs, SharedAxesChangeNoResult) {
  SMALTI_LONG_TEST();
  EXPECT_GT(checkShared([] { return someBody(*rc::gen::inRange<size_t>(1, 3)); }), 20);
}

TEST(Proofs, ScratchOfOtherPointsIsNotRead) {
  SMALTI_LONG_TEST();
  EXPECT_GT(checkShared(someAccumulator), 20);
}

TEST(Proofs, RunsOfStepsChangeNoResult) {
  SMALTI_LONG_TEST();
  EXPECT_GT(checkShared(someRuns), 20);
}

TEST(Proofs, MustWriteOutputsAreWrittenBeforeTheyAreRead) {
  SMALTI_LONG_TEST();
  int proved = 0;
  EXPECT_TRUE(rc::check([&] {
    for (int n = 0; n < kBodies; ++n) {
      const Body body = someBody(1);
      if (!mustWrite(body.kernel().package()).at(0)) continue;
      const GridRun run = runGrid(body, {}, 1);
      RC_ASSERT(!run.readsUnwrittenOutput);
      RC_ASSERT(run.values.size() == static_cast<size_t>(num_elements(body.arrayOf(0))));
      ++proved;
    }
  }));
  EXPECT_GT(proved, 20);
}

/// Random arithmetic on i32, i8 and i1: every result goes to an element of the output.
struct Arithmetic {
  static constexpr int32_t kResults = 24;
  TextKernel k;
  std::vector<Val> wide, narrow, bits;
  Val out = k.output({.dtype = "i32", .array = {kResults}, .space = "smem"});
  int32_t stored = 0;

  Arithmetic() {
    for (const int32_t c : {0, 1, -1, 7, 100, -128}) wide.push_back(k.constant(c));
    for (int n = 0; n < 2; ++n) wide.push_back(k.constant(*rc::gen::arbitrary<int32_t>()));
    narrow.push_back(convert("trunci", wide[3], "i8"));
    bits.push_back(k.compare("slt", wide[1], wide[3]));
    for (int n = 0; n < kResults; ++n) step();
  }
  Val convert(const std::string& op, const Val& from, const std::string& to) {
    const Val v = k.fresh(to);
    k.raw(v.name + " = arith." + op + " " + from.name + " : " + from.type + " to " + to);
    return v;
  }
  static const Val& one(const std::vector<Val>& of) { return of[*rc::gen::inRange<size_t>(0, of.size())]; }
  Val binary(std::vector<Val>& of) {
    static const std::vector<std::string> kOps{"addi",  "subi",  "muli",  "andi",  "ori",   "xori",
                                               "minsi", "maxsi", "divsi", "remsi", "divui", "remui"};
    return k.binary("arith." + kOps[*rc::gen::inRange<size_t>(0, kOps.size())], one(of), one(of));
  }
  void store(const Val& v) { k.scalarStore(v, out, {k.constant(stored++)}); }
  void step() {
    static const std::vector<std::string> kPredicates{"eq",  "ne",  "slt", "sle", "sgt",
                                                      "sge", "ult", "ule", "ugt", "uge"};
    const bool isSigned = *rc::gen::inRange(0, 2) == 0;
    switch (*rc::gen::inRange(0, 6)) {
      case 0:
      case 1:
        wide.push_back(binary(wide));
        break;
      case 2:
        narrow.push_back(*rc::gen::inRange(0, 2) == 0 ? binary(narrow) : convert("trunci", one(wide), "i8"));
        wide.push_back(convert(isSigned ? "extsi" : "extui", narrow.back(), "i32"));
        break;
      case 3:
        bits.push_back(k.compare(kPredicates[*rc::gen::inRange<size_t>(0, kPredicates.size())], one(wide), one(wide)));
        wide.push_back(convert(isSigned ? "extsi" : "extui", bits.back(), "i32"));
        break;
      case 4: {
        const auto& from = narrow;
        const Val bit = k.fresh("i1");
        k.raw(bit.name + " = arith.cmpi " + kPredicates[*rc::gen::inRange<size_t>(0, kPredicates.size())] + ", " +
              one(from).name + ", " + one(from).name + " : i8");
        bits.push_back(bit);
        wide.push_back(convert("extui", bit, "i32"));
        break;
      }
      default: {
        const Val v = k.fresh("i32");
        k.raw(v.name + " = arith.select " + one(bits).name + ", " + one(wide).name + ", " + one(wide).name + " : i32");
        wide.push_back(v);
      }
    }
    store(wide.back());
  }
};

TEST(Proofs, KnownIntegersMatchTheMachine) {
  int known = 0;
  EXPECT_TRUE(rc::check([&] {
    const Arithmetic a;
    const KernelPackage package = a.k.package();
    const std::vector<int32_t> computed = machine::testing::ints(machine::testing::results(a.k, {}).at(0));
    KnownIntegers integers;
    size_t next = 0;
    for (mlir::Operation& op : package.kernelFunction().getBody().front()) {
      integers.follow(op);
      auto store = llvm::dyn_cast<mlir::memref::StoreOp>(op);
      if (!store) continue;
      const auto said = integers.find(store.getValueToStore());
      if (said) RC_ASSERT(*said == computed.at(next));
      known += said.has_value();
      ++next;
    }
    RC_ASSERT(next == static_cast<size_t>(Arithmetic::kResults));
  }));
  EXPECT_GT(known, 1000);
}

}  // namespace
}  // namespace smalti::cpu::testing
