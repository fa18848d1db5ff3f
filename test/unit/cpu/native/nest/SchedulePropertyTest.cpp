// Random bodies of loads and stores that overlap, fused nests, products and control flow: native code computes what the
// machine computes, whichever ops share a nest, take over the buffer of a dead value, or are computed in the memory of
// their store.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "../../../LongTest.h"
#include "../RowKernels.h"
#include "../SmallProducts.h"
#include "cpu/plan/PlanKernel.h"

namespace smalti::cpu::testing {
namespace {

constexpr int64_t kHeight = 8, kWidth = 32, kSlack = 4;
const Shape kBoxShape{kHeight, kWidth}, kRefShape{kHeight + kSlack, kWidth};
/// Sums below it are exact in f32, in any order.
constexpr int64_t kExact = int64_t{1} << 24;

int64_t below(int64_t most) { return *rc::gen::inRange<int64_t>(0, most); }

class RandomBody {
 public:
  RandomBody() {
    starts_ = k_.prefetch("i32", {2});
    const Val x = k_.input({.array = kBoxShape, .space = "vmem"}),
              square = k_.input({.array = {kWidth, kWidth}, .space = "vmem"});
    for (int n = 0; n < 3; ++n) refs_.push_back(k_.output({.array = kRefShape, .space = "vmem"}));
    zeros_ = k_.fresh(fmt::format("vector<{}x{}xf32>", kHeight, kWidth));
    k_.raw(fmt::format("{} = arith.constant dense<0.0> : {}", zeros_.name, zeros_.type));
    for (const Val& r : refs_) k_.store(k_.splat(k_.f32(1), kRefShape), r);
    for (int n = 0; n < 2; ++n) dynamic_.push_back(k_.scalarLoad(starts_, {k_.constant(n)}));
    square_ = k_.load(square);
    add({k_.load(x), 4});
    for (int64_t n = 4 + below(10); n-- > 0;) step();
    k_.store(values_.back().v, refs_[0], start());
  }

  const TextKernel& kernel() const { return k_; }
  static std::vector<Array> operands(int32_t first, int32_t second) {
    return {i32Array({2}, [=](int64_t i) { return i == 0 ? first : second; }), smallNumbers("f32", kBoxShape),
            smallNumbers("f32", {kWidth, kWidth}, 5)};
  }

 private:
  struct Bounded {
    Val v;
    int64_t most = 0;  ///< the largest magnitude of an element
  };
  void add(Bounded b) {
    if (b.most < kExact) values_.push_back(std::move(b));
  }
  Bounded any() { return values_[static_cast<size_t>(below(static_cast<int64_t>(values_.size())))]; }
  const Val& anyRef() { return refs_[static_cast<size_t>(below(3))]; }
  /// The first row of a box, known when the kernel is compiled or not.
  std::vector<Val> start() {
    const Val row =
        below(3) == 0 ? dynamic_[static_cast<size_t>(below(2))] : k_.constant(static_cast<int32_t>(below(kSlack + 1)));
    return {row, k_.constant(0)};
  }

  void step() {
    const Bounded a = any(), b = values_.back();
    switch (below(16)) {
      case 0:
        add({k_.load(anyRef(), kBoxShape, start()), largestStored_});
        break;
      case 1:
      case 2:
        store(b);
        break;
      case 3:
        add({reducedRows(k_, "add", a.v, kBoxShape, 0), a.most * kWidth});
        break;
      case 4:
        add({transposed(transposed(a.v, kHeight, kWidth), kWidth, kHeight), a.most});
        break;
      case 5:
        add({multiplied(k_, a.v, square_, false, zeros_), a.most * 4 * kWidth});
        break;
      case 6:
        storeProduct(a, b);
        break;
      case 7:
        add({doubledInALoop(b.v), b.most * 4});
        break;
      case 8:
        k_.when(k_.compare("sgt", dynamic_[0], k_.constant(1)), [&] { k_.store(a.v, anyRef(), start()); });
        largestStored_ = std::max(largestStored_, a.most);
        break;
      case 10:
      case 11: {  // the sum takes over the buffer of a dead operand
        const Val moved = transposed(transposed(a.v, kHeight, kWidth), kWidth, kHeight);
        const Val sum = k_.binary("arith.addf", moved, b.v);
        add({multiplied(k_, sum, square_, false, zeros_), (a.most + b.most) * 4 * kWidth});
        break;
      }
      case 12: {  // a store comes between the broadcast of a loaded row and its use
        const Val& ref = anyRef();
        const std::vector<Val> at = start();
        const Bounded row{wide(k_, k_.load(ref, {1, kWidth}, at), kBoxShape), largestStored_};
        k_.store(b.v, ref, at);
        largestStored_ = std::max(largestStored_, b.most);
        add({k_.binary("arith.addf", row.v, a.v), row.most + a.most});
        break;
      }
      case 13: {  // a box is stored where it overlaps the one that it was computed from
        const Val& ref = anyRef();
        const Val sum = k_.binary("arith.addf", k_.load(ref, kBoxShape, start()), a.v);
        if (largestStored_ + a.most >= kExact) break;
        largestStored_ += a.most;
        k_.store(sum, ref, start());
        break;
      }
      case 9:
        add({k_.binary("arith.maximumf", a.v, b.v), std::max(a.most, b.most)});
        break;
      default:
        add({k_.binary(below(2) == 0 ? "arith.addf" : "arith.subf", b.v, a.v), a.most + b.most});
    }
  }

  void store(const Bounded& b) {
    k_.store(b.v, anyRef(), start());
    largestStored_ = std::max(largestStored_, b.most);
  }

  /// ref = a · square + b, or + what a box of a ref holds.
  void storeProduct(const Bounded& a, const Bounded& b) {
    const int64_t most = a.most * 4 * kWidth + std::max(b.most, largestStored_);
    if (most >= kExact) return;
    const Val& ref = anyRef();
    const std::vector<Val> at = start();
    const Val product = multiplied(k_, a.v, square_, false, zeros_);
    const Val other = below(2) == 0 ? b.v : k_.load(below(3) == 0 ? anyRef() : ref, kBoxShape, at);
    k_.store(below(4) == 0 ? product : k_.binary("arith.addf", product, other), ref, at);
    largestStored_ = std::max(largestStored_, most);
  }

  Val transposed(const Val& v, int64_t rows, int64_t columns) {
    const Val t = k_.fresh(fmt::format("vector<{}x{}xf32>", columns, rows));
    k_.raw(fmt::format("{} = tpu.transpose {}, [1, 0] : {} -> {}", t.name, v.name, v.type, t.type));
    return t;
  }

  Val doubledInALoop(const Val& v) {
    const Val end = k_.fresh(v.type), twice = k_.fresh(v.type);
    k_.raw(fmt::format(
        "{0} = scf.for %n{5} = {1} to {2} step {3} iter_args(%c{5} = {4}) -> ({6}) : i32 {{\n"
        "{7} = arith.addf %c{5}, %c{5} : {6}\nscf.yield {7} : {6}\n}}",
        end.name, k_.constant(0).name, k_.constant(2).name, k_.constant(1).name, v.name, loops_++, v.type, twice.name));
    return end;
  }

  TextKernel k_;
  Val starts_, square_, zeros_;
  std::vector<Val> refs_, dynamic_;
  std::vector<Bounded> values_;
  int64_t largestStored_ = 1;
  int loops_ = 0;
};

TEST(Schedule, RandomBodiesComputeWhatTheMachineComputes) {
  SMALTI_LONG_TEST();
  int64_t reused = 0, fused = 0, inPlace = 0, afterOthers = 0;
  EXPECT_TRUE(rc::check([&] {
    const RandomBody body;
    const KernelPackage package = body.kernel().package();
    const auto planned = planKernel(package, hostProcessor(), {});
    RC_ASSERT(planned.has_value());
    for (const NestSummary& nest : planned->plan.nests) {
      fused += nest.ops.size() > 2;
      reused += llvm::count_if(nest.values, [](const NestValue& v) { return v.reusesBuffer; });
    }
    for (const auto& [op, plan] : planned->body.ops) {
      inPlace += plan.product && plan.product->destination;
      afterOthers += plan.product && plan.product->storesAdded;
    }
    for (int n = 0; n < 2; ++n) {
      same(body.kernel(), RandomBody::operands(*rc::gen::inRange(0, 5), *rc::gen::inRange(0, 5)));
      RC_ASSERT(!::testing::Test::HasFailure());
    }
  }));
  // The bodies are such that each happens.
  EXPECT_GT(fused, 20);
  EXPECT_GT(reused, 5);
  EXPECT_GT(inPlace, 5);
  EXPECT_GT(afterOthers, 2);
}

}  // namespace
}  // namespace smalti::cpu::testing
