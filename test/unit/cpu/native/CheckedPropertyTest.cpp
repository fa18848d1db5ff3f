// Kernels made by chance, many of which read what they have not written: whenever the machine's observers find
// something, checked native code leaves the call to them; and when it does not, its results are the machine's.
#include <array>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "../../LongTest.h"
#include "Native.h"
#include "cpu/CheckedKernel.h"

namespace smalti::cpu::testing {
namespace {

int64_t pick(int64_t below) { return *rc::gen::inRange<int64_t>(0, below); }
bool chance(int percent) { return pick(100) < percent; }

class Maker {
 public:
  explicit Maker(bool copies)
      : copies_(copies), grid_{1 + pick(3), 1 + pick(3)}, k_(grid_, chance(50) ? "parallel" : "arbitrary") {
    k_.prefetch("i32", {3});
    for (int i = 0; i < 2; ++i) {
      const Spec s = windowed();
      inputShapes_.push_back(s.array);
      inputs_.push_back(k_.input(s));
    }
    if (copies) {
      inputShapes_.push_back(kBlock);
      whole_.push_back(k_.input({.array = kBlock, .space = "hbm"}));
    }
    for (int64_t n = 1 + pick(2); n-- > 0;) outputs_.push_back(k_.output(windowed()));
    for (int64_t n = (copies ? 2 : 0) + pick(3); n-- > 0;) scratch_.push_back(k_.scratch("f32", kBlock));
    if (copies) {
      whole_.push_back(k_.output({.array = kBlock, .space = "hbm"}));
      semaphores_ = k_.dmaSemaphore({2});
    }
    if (chance(60)) firstStep([&] { statements(2, 2); });
    statements(2 + pick(5), 0);
    for (const Val& out : outputs_)
      if (chance(85)) k_.store(value(), out);
    while (!flights_.empty() && chance(95)) land();
    if (copies && chance(85)) {
      fly(scratch_[0], whole_[1]);
      land();
    }
  }

  const TextKernel& kernel() const { return k_; }
  std::vector<Array> operands() const {
    std::vector<Array> all{i32Array({3}, [&](int64_t i) { return blocks_[static_cast<size_t>(i)]; })};
    for (const Shape& s : inputShapes_)
      all.push_back(f32Array(s, [](int64_t i) { return static_cast<float>(i % 7 - 3); }));
    return all;
  }

 private:
  inline static const Shape kBlock{4, 8};

  Spec windowed() {
    Spec s;
    static constexpr std::array<const char*, 3> kRows{"%i", "%c0", "%r"}, kColumns{"%j", "%c0"};
    const auto r = static_cast<size_t>(pick(3)), c = static_cast<size_t>(pick(2));
    s.map = fmt::format("{}, {}", chance(5) ? "%c1" : kRows[r], kColumns[c]);
    s.block = kBlock;
    // A block that memory names: as often as not one that was seen before.
    if (r == 2)
      s.lines =
          "%r0 = arith.index_cast %i : i32 to index\n%r = memref.load %p0[%r0] : memref<3xi32, "
          "#tpu.memory_space<smem>>";
    // Whole blocks, or a last one that is partial; now and then fewer than the grid goes through.
    s.array = {4 * (r == 1 ? 1 : grid_[0]) - (chance(30) ? pick(4) : 0),
               8 * (c == 0 ? grid_[1] : 1) - (chance(30) ? pick(8) : 0)};
    return s;
  }

  void firstStep(const std::function<void()>& body) { atStep(0, body); }
  void atStep(int64_t step, const std::function<void()>& body) {
    const int axis = static_cast<int>(pick(2));
    k_.when(k_.compare("eq", k_.id(axis), k_.constant(static_cast<int32_t>(step))), [&] { scoped(body); });
  }
  /// Values of a block are not seen outside.
  void scoped(const std::function<void()>& body) {
    const std::vector<Val> outside = values_, scratch = scratch_;
    body();
    values_ = outside;
    scratch_ = scratch;
  }

  Val ref() {
    const auto all = static_cast<int64_t>(inputs_.size() + outputs_.size() + scratch_.size());
    auto n = static_cast<size_t>(pick(all));
    if (n < inputs_.size()) return inputs_[n];
    return target(n - inputs_.size());
  }
  Val target(size_t n) { return n < outputs_.size() ? outputs_[n] : scratch_[n - outputs_.size()]; }
  Val someTarget() {
    return target(static_cast<size_t>(pick(static_cast<int64_t>(outputs_.size() + scratch_.size()))));
  }

  Val value() {
    if (values_.empty() || chance(30)) {
      values_.push_back(chance(40) ? k_.splat(k_.f32(static_cast<double>(pick(3))), kBlock) : k_.load(ref()));
      return values_.back();
    }
    return values_[static_cast<size_t>(pick(static_cast<int64_t>(values_.size())))];
  }

  void statements(int64_t n, int depth) {
    while (n-- > 0) statement(depth);
  }

  // Copies are waited for, nearly always, and mostly before anything else happens to them.
  void fly(const Val& from, const Val& to) {
    const Val semaphore = k_.at(semaphores_, k_.constant(static_cast<int32_t>(pick(2))));
    k_.dma(from, to, semaphore);
    flights_.push_back({from, to, semaphore});
  }
  void land() {
    const auto n = static_cast<ptrdiff_t>(chance(80) ? 0 : pick(static_cast<int64_t>(flights_.size())));
    const auto [from, to, semaphore] = flights_[static_cast<size_t>(n)];
    k_.waitDma(from, to, semaphore);
    flights_.erase(flights_.begin() + n);
  }
  void copyOrWait() {
    const auto open = flights_.size();
    if (open > 0 && chance(60)) return land();
    const Val from =
        chance(50) ? whole_[0] : scratch_[static_cast<size_t>(pick(static_cast<int64_t>(scratch_.size())))];
    const Val to = scratch_[static_cast<size_t>(pick(static_cast<int64_t>(scratch_.size())))];
    if (from.name == to.name) return;
    fly(from, to);
    if (chance(70)) land();
  }

  void statement(int depth) {
    if (copies_ && depth == 0 && chance(35)) return copyOrWait();
    switch (pick(depth < 2 ? 11 : 8)) {
      case 0:
        values_.push_back(k_.load(ref()));
        return;
      case 1:
      case 2: {
        static constexpr std::array<const char*, 3> kOps{"arith.addf", "arith.mulf", "arith.maximumf"};
        const Val a = value(), b = value();
        values_.push_back(k_.binary(kOps[static_cast<size_t>(pick(3))], a, b));
        return;
      }
      case 3:
        values_.push_back(choose(value(), value()));
        return;
      case 4:
        values_.push_back(reduced(value()));
        return;
      case 5:
      case 6:
        k_.store(value(), someTarget());
        return;
      case 7: {  // a part of it
        const Val from = ref(), to = someTarget();
        const std::vector<Val> start{k_.constant(static_cast<int32_t>(pick(3))),
                                     k_.constant(static_cast<int32_t>(pick(5)))};
        const Val part = k_.load(from, {2, 4}, start);
        k_.store(part, to, start);
        return;
      }
      case 8:
        atStep(chance(60) ? 0 : pick(3), [&] { statements(1 + pick(2), depth + 1); });
        return;
      case 9:
        k_.loop(k_.constant(0), k_.constant(static_cast<int32_t>(pick(3))),
                [&](const Val&) { scoped([&] { statements(1 + pick(2), depth + 1); }); });
        return;
      default:
        k_.region([&] {
          scoped([&] {
            scratch_.push_back(k_.alloc("f32", kBlock));
            if (chance(50)) k_.store(value(), scratch_.back());
            statements(1 + pick(3), depth + 1);
          });
        });
    }
  }

  /// One of two where the column (or row) is below a number.
  Val choose(const Val& a, const Val& b) {
    const Val iota = k_.fresh("vector<4x8xi32>"), mask = k_.fresh("vector<4x8xi1>"), out = k_.fresh(a.type);
    k_.raw(fmt::format("{} = \"tpu.iota\"() <{{dimensions = array<i32: {}>}}> : () -> vector<4x8xi32>", iota.name,
                       pick(2)));
    const Val bound = k_.splat(k_.constant(static_cast<int32_t>(pick(8))), kBlock);
    k_.raw(fmt::format("{} = arith.cmpi slt, {}, {} : vector<4x8xi32>", mask.name, iota.name, bound.name));
    k_.raw(fmt::format("{} = arith.select {}, {}, {} : vector<4x8xi1>, vector<4x8xf32>", out.name, mask.name, a.name,
                       b.name));
    return out;
  }

  /// Sums of rows or columns, spread out again.
  Val reduced(const Val& v) {
    const bool rows = chance(50);
    const Val acc = k_.splat(k_.f32(0), {rows ? 4 : 8}), sum = k_.fresh(acc.type);
    const Val shaped = k_.fresh(rows ? "vector<4x1xf32>" : "vector<1x8xf32>"), out = k_.fresh(v.type);
    k_.raw(fmt::format("{} = vector.multi_reduction <maximumf>, {}, {} [{}] : vector<4x8xf32> to {}", sum.name, v.name,
                       acc.name, rows ? 1 : 0, sum.type));
    k_.raw(fmt::format("{} = vector.shape_cast {} : {} to {}", shaped.name, sum.name, sum.type, shaped.type));
    k_.raw(fmt::format("{} = vector.broadcast {} : {} to {}", out.name, shaped.name, shaped.type, out.type));
    return out;
  }

  struct Flight {
    Val from, to, semaphore;
  };
  bool copies_;
  std::vector<int64_t> grid_;
  TextKernel k_;
  std::vector<Val> whole_;  ///< in HBM: an input, an output
  Val semaphores_;
  std::vector<Flight> flights_;
  std::vector<Val> inputs_, outputs_, scratch_, values_;
  std::vector<Shape> inputShapes_;
  std::array<int32_t, 3> blocks_ = chance(70) ? std::array{0, 1, 2} : std::array{0, static_cast<int32_t>(pick(2)), 0};
};

void neverMissed(bool copies) {
  int judged = 0, clean = 0, found = 0;
  EXPECT_TRUE(rc::check([&] {
    const Maker maker(copies);
    const KernelPackage package = maker.kernel().package();
    const auto expected = runOn(maker.kernel(), {maker.operands()}, checked());
    const auto code = compileChecked(package, {});
    RC_ASSERT(bool(code));
    const bool isClean = expected && expected->findings.empty();
    (isClean ? clean : found) += 1;
    if (!code->kernel) return;
    const auto results = code->kernel->call(maker.operands(), 1 + static_cast<int>(pick(2)));
    RC_ASSERT(bool(results));
    if (!*results) return;
    ++judged;
    if (!isClean) RC_FAIL(maker.kernel().text());
    for (size_t i = 0; i < (*results)->size(); ++i)
      if (const std::string d = difference((**results)[i], expected->results[0][i]); !d.empty())
        RC_FAIL(d + "\n" + maker.kernel().text());
  }));
  std::cout << found << " with findings, " << clean << " clean, of which native code judged " << judged << "\n";
  EXPECT_GT(judged, clean / 2);
}

TEST(Checked, WhatTheMachineFindsIsNeverMissed) {
  SMALTI_LONG_TEST();
  neverMissed(false);
}
TEST(Checked, WhatTheMachineFindsOfCopiesIsNeverMissed) {
  SMALTI_LONG_TEST();
  neverMissed(true);
}

}  // namespace
}  // namespace smalti::cpu::testing
