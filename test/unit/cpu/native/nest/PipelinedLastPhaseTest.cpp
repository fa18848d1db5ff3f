// Rows whose last phase, which stores them by non-temporal stores, runs during the computation of the next row.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <sstream>

#include "../../../LongTest.h"
#include "../../SpecialFloats.h"
#include "../RowKernels.h"
#include "cpu/inspect/Inspect.h"

namespace smalti::cpu::testing {
namespace {

struct RowsCase {
  Shape block;
  bool maximum = false;   ///< a phase before: what is summed is taken from the row's largest element
  bool weighted = false;  ///< times an element of another array for each row
  bool narrow = false;    ///< bf16 in memory
  int64_t steps = 4;
};

/// |x| / sum(|x|) row by row, of whole numbers: sums are exact in any order.
TextKernel shares(const RowsCase& c) {
  TextKernel k({c.steps}, "parallel");
  const Spec rows{.dtype = c.narrow ? "bf16" : "f32",
                  .array = {c.steps * c.block[0], c.block[1]},
                  .block = c.block,
                  .map = "%i, %c0"};
  const Val x = k.input(rows);
  const Val w = c.weighted ? k.input({.array = {rows.array[0], 1}, .block = {c.block[0], 1}, .map = "%i, %c0"}) : Val{};
  const Val o = k.output(rows);
  const std::string wideType = fmt::format("vector<{}x{}xf32>", c.block[0], c.block[1]);
  const auto converted = [&](const char* op, const Val& from, const std::string& type) {
    const Val to = k.fresh(type);
    k.raw(fmt::format("{} = {} {} : {} to {}", to.name, op, from.name, from.type, type));
    return to;
  };
  const Val stored = k.load(x);
  Val v = c.narrow ? converted("arith.extf", stored, wideType) : stored;
  if (c.maximum) v = k.binary("arith.subf", v, reducedRows(k, "maximumf", v, c.block, -1e30f));
  const Val size = k.fresh(v.type);
  k.raw(fmt::format("{} = math.absf {} : {}", size.name, v.name, v.type));
  Val share = k.binary("arith.divf", size, reducedRows(k, "add", size, c.block, 0));
  if (c.weighted) share = k.binary("arith.mulf", share, wide(k, k.load(w), c.block));
  k.store(c.narrow ? converted("arith.truncf", share, stored.type) : share, o);
  return k;
}

Array wholeNumbers(const Shape& shape) {
  return f32Array(shape, [](int64_t i) { return static_cast<float>(i * 37 % 64 - 30); });
}

/// As bf16, which has the upper half of the bits.
Array narrowed(const Array& wide) {
  Array out = Array::allocate({DType::bf16, wide.shape()}).value();
  for (int64_t i = 0; i < out.elements(); ++i) std::memcpy(out.data() + 2 * i, wide.data() + 4 * i + 2, 2);
  return out;
}

void agrees(const RowsCase& c, const std::vector<Array>& operands) {
  const TextKernel k = shares(c);
  auto outcome = compileNative(k.package(), tinyCache());
  ASSERT_TRUE(outcome) << outcome.error().str();
  ASSERT_TRUE(outcome->kernel) << outcome->why.reason;
  const Array wanted = results(k, operands)[0];
  for (const int threads : {1, 2}) {
    bool fault = false;
    auto got = outcome->kernel->call(operands, threads, fault);
    ASSERT_TRUE(got);
    EXPECT_EQ(difference((*got)[0], wanted), "")
        << c.block[0] << " x " << c.block[1] << (c.maximum ? ", maximum" : "") << (c.weighted ? ", weighted" : "");
  }
}

/// Some block of instructions has all of these.
bool together(const std::string& assembly, const std::vector<const char*>& words) {
  std::istringstream lines(assembly);
  std::vector<bool> found(words.size());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(".L")) found.assign(words.size(), false);
    for (size_t i = 0; i < words.size(); ++i)
      if (line.find(words[i]) != std::string::npos) found[i] = true;
    if (std::ranges::all_of(found, std::identity())) return true;
  }
  return false;
}

TEST(PipelinedLastPhase, StoresARowWhileTheNextIsComputed) {
  if (!hostProcessor().avx512) GTEST_SKIP() << "looks for instructions of AVX-512, and for whole lines stored at once";
  const TextKernel k = shares({.block = {8, 1024}, .maximum = true});
  auto past = inspectNative(k.package(), tinyCache());
  ASSERT_TRUE(past);
  EXPECT_TRUE(together(past->assembly, {"movnt", "prefetch"})) << past->assembly;
  auto kept = inspectNative(k.package(), {});
  ASSERT_TRUE(kept);
  EXPECT_FALSE(together(kept->assembly, {"movnt"}));
}

TEST(PipelinedLastPhase, AgreesForAnyNumberAndLengthOfRows) {
  SMALTI_LONG_TEST();
  for (const int64_t rows : {1, 3, 4, 5, 16})
    for (const int64_t columns : {8, 129, 256, 528, 1000, 1024})
      for (const bool maximum : {false, true}) {
        const RowsCase c{.block = {rows, columns}, .maximum = maximum};
        agrees(c, {wholeNumbers({c.steps * rows, columns})});
      }
}

TEST(PipelinedLastPhase, ReadsTheBuffersOfItsRow) {
  const RowsCase c{.block = {8, 640}, .maximum = true, .weighted = true};
  agrees(c, {wholeNumbers({32, 640}), f32Array({32, 1}, [](int64_t i) { return static_cast<float>(i) - 7; })});
}

TEST(PipelinedLastPhase, OfNarrowFloats) {
  for (const int64_t columns : {528, 640, 1024}) {
    const RowsCase c{.block = {8, columns}, .maximum = true, .narrow = true};
    agrees(c, {narrowed(wholeNumbers({32, columns}))});
  }
}

/// Such rows are divided by themselves, after which the next one is computed alone.
TEST(PipelinedLastPhase, WithoutAnAccurateReciprocal) {
  const std::vector<float> special{0, kInf, kNan, -kInf, 0x1p-120f, 0x1p+120f};
  for (const int64_t every : {1, 2, 3, 7}) {
    const RowsCase c{.block = {16, 640}};
    agrees(c, {f32Array({64, 640}, [&](int64_t i) {
             const int64_t row = i / 640;
             return row % every == 0 ? special[static_cast<size_t>(row) % special.size()]
                                     : static_cast<float>(i * 37 % 64 - 30);
           })});
  }
}

}  // namespace
}  // namespace smalti::cpu::testing
