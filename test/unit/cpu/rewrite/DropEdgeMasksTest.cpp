// Products whose sum extends past its axis, with what lies past the end put to zero.
#include "cpu/rewrite/grid/DropEdgeMasks.h"

#include <bit>
#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../native/Native.h"
#include "cpu/CheckedKernel.h"
#include "cpu/rewrite/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::cpu::testing {
namespace {

using ::testing::ElementsAre;

enum class Form { less, greater, notLess, subtracted };

struct Options {
  std::string dtype = "f32";
  Form form = Form::less;
  int64_t masked = 50;  ///< columns that count
  bool masksRight = true;
  std::string otherwise = "0";
  bool converted = false;  ///< the zero, from an i32, as JAX does
};

constexpr int64_t kRows = 40, kColumns = 72, kDepth = 50, kEdgeBlock = 16;

/// acc += where(k inside, x, 0) · where(k inside, y, 0), as the usual matmul.
class MaskedMatmul {
 public:
  explicit MaskedMatmul(const Options& o)
      : o_(o),
        k({(kRows + kEdgeBlock - 1) / kEdgeBlock, (kColumns + kEdgeBlock - 1) / kEdgeBlock, kSteps},
          "parallel,parallel,arbitrary") {
    const bool whole = o.dtype[0] == 'i';
    const std::string sum = whole ? "i32" : "f32", wide = sum;
    const Val x =
        k.input({.dtype = o.dtype, .array = {kRows, kDepth}, .block = {kEdgeBlock, kEdgeBlock}, .map = "%i, %k"});
    const Val y =
        k.input({.dtype = o.dtype, .array = {kDepth, kColumns}, .block = {kEdgeBlock, kEdgeBlock}, .map = "%k, %j"});
    const Val out =
        k.output({.dtype = sum, .array = {kRows, kColumns}, .block = {kEdgeBlock, kEdgeBlock}, .map = "%i, %j"});
    const Val acc = k.scratch(sum, {kEdgeBlock, kEdgeBlock});
    k.when(k.compare("eq", k.id(2), k.constant(0)), [&] { k.store(zeros(sum), acc); });
    const Val a = inside(k.load(x), 1), b = o.masksRight ? inside(k.load(y), 0) : k.load(y);
    k.store(k.binary(whole ? "arith.addi" : "arith.addf", k.load(acc), product(a, b, sum)), acc);
    k.when(k.compare("eq", k.id(2), k.constant(kSteps - 1)), [&] { k.store(k.load(acc), out); });
  }

  std::vector<Array> operands() const { return {numbers({kRows, kDepth}), numbers({kDepth, kColumns})}; }
  std::optional<KernelPackage> made() const {
    return runRewritePasses(k.package(), {*processorNamed("x86_64-linux-gnu/znver4"), 1});
  }

 private:
  static constexpr int64_t kSteps = (kDepth + kEdgeBlock - 1) / kEdgeBlock;

  /// Small whole numbers: their sums are exact in any order.
  Array numbers(const Shape& shape) const {
    const DType dtype = o_.dtype == "i8" ? DType::i8 : o_.dtype == "bf16" ? DType::bf16 : DType::f32;
    Array a = Array::allocate({dtype, shape}).value();
    for (int64_t i = 0; i < a.elements(); ++i) {
      const auto v = static_cast<int>(i * 7 % 23) - 11;
      if (dtype == DType::f32)
        a.as<float>()[i] = static_cast<float>(v);
      else if (dtype == DType::bf16)
        a.as<uint16_t>()[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(v)) >> 16);
      else
        a.as<int8_t>()[i] = static_cast<int8_t>(v);
    }
    return a;
  }
  static std::string vectorOf(const std::string& t) { return fmt::format("vector<{0}x{0}x{1}>", kEdgeBlock, t); }
  Val op(const std::string& type, const std::string& text) {
    const Val v = k.fresh(type);
    k.raw(v.name + " = " + text);
    return v;
  }
  Val zeros(const std::string& t, const std::string& value = "0") {
    return op(vectorOf(t), fmt::format("arith.constant dense<{}{}> : {}", value, t[0] == 'i' ? "" : ".0", vectorOf(t)));
  }
  Val places(int dim) {
    const std::string t = vectorOf("i32");
    const Val at = op(t, fmt::format("tpu.iota {{dimensions = array<i32: {}>}} : {}", dim, t));
    if (o_.form == Form::subtracted) return at;
    return k.binary("arith.addi",
                    k.splat(k.binary("arith.muli", k.id(2), k.constant(kEdgeBlock)), {kEdgeBlock, kEdgeBlock}), at);
  }
  Val inside(Val v, int dim) {
    const std::string narrow = v.type, wide = vectorOf(o_.dtype[0] == 'i' ? "i32" : "f32");
    const bool converts = narrow != wide, whole = o_.dtype[0] == 'i';
    if (converts) v = op(wide, fmt::format("arith.{} {} : {} to {}", whole ? "extsi" : "extf", v.name, narrow, wide));
    const Val at = places(dim);
    const Val end = o_.form == Form::subtracted ? k.binary("arith.subi", k.constant(static_cast<int32_t>(o_.masked)),
                                                           k.binary("arith.muli", k.id(2), k.constant(kEdgeBlock)))
                                                : k.constant(static_cast<int32_t>(o_.masked));
    const Val ends = k.splat(end, {kEdgeBlock, kEdgeBlock}),
              zero = o_.converted ? k.splat(k.toFloat(k.constant(0)), {kEdgeBlock, kEdgeBlock})
                                  : zeros(whole ? "i32" : "f32", o_.otherwise);
    const bool swapped = o_.form == Form::greater, opposite = o_.form == Form::notLess;
    const Val is = k.compare(swapped ? "sgt" : opposite ? "sge" : "slt", swapped ? ends : at, swapped ? at : ends);
    v = op(wide, fmt::format("arith.select {}, {}, {} : {}, {}", is.name, (opposite ? zero : v).name,
                             (opposite ? v : zero).name, vectorOf("i1"), wide));
    return converts
               ? op(narrow, fmt::format("arith.{} {} : {} to {}", whole ? "trunci" : "truncf", v.name, wide, narrow))
               : v;
  }
  Val product(const Val& a, const Val& b, const std::string& sum) {
    const Val start = zeros(sum);
    return op(vectorOf(sum),
              fmt::format("tpu.matmul {}, {}, {} {{dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], "
                          "[0, 0, 1, 1], [], []>, transpose_lhs_hint = false}} : {}, {}, {} -> {}",
                          a.name, b.name, start.name, a.type, b.type, start.type, start.type));
  }

  Options o_;

 public:
  TextKernel k;
};

TEST(EdgeMasks, TheReductionIsOneStepWithoutMasks) {
  for (const std::string dtype : {"f32", "bf16", "i8"}) {
    const MaskedMatmul matmul({.dtype = dtype});
    const auto made = matmul.made();
    ASSERT_TRUE(made) << dtype;
    EXPECT_THAT(made->signature.grid, ElementsAre(1, 1, 1));
    EXPECT_THAT(made->signature.windows[0]->bounds, ElementsAre(kRows, kDepth));
    int others = 0;
    made->kernelFunction().walk([&](mlir::Operation* op) {
      const auto name = op->getName().getStringRef();
      others += name == "arith.select" || name == "tpu.iota" || name.starts_with("arith.ext");
    });
    EXPECT_EQ(others, 0) << dtype;
    for (const Array& a : same(matmul.k, matmul.operands()))
      if (a.dtype() == DType::f32) {
        for (const float v : floats(a)) ASSERT_TRUE(std::isfinite(v)) << "from past the end";
      }
  }
}

TEST(EdgeMasks, InEveryEquivalentForm) {
  for (const Form form : {Form::greater, Form::notLess, Form::subtracted}) {
    const MaskedMatmul matmul({.form = form});
    EXPECT_TRUE(dropEdgeMasks(matmul.k.package())) << static_cast<int>(form);
    EXPECT_EQ(matmul.made()->signature.grid[2], 1) << static_cast<int>(form);
    same(matmul.k, matmul.operands());
  }
}

TEST(EdgeMasks, AsJaxWritesZero) {
  const MaskedMatmul matmul({.converted = true});
  EXPECT_TRUE(dropEdgeMasks(matmul.k.package()));
  same(matmul.k, matmul.operands());
}

TEST(EdgeMasks, OthersStay) {
  const MaskedMatmul shorter({.masked = kDepth - 1});
  EXPECT_FALSE(dropEdgeMasks(shorter.k.package())) << "the last column does not count";
  same(shorter.k, shorter.operands());
  const MaskedMatmul ones({.otherwise = "1"});
  EXPECT_FALSE(dropEdgeMasks(ones.k.package())) << "elements past the end count";
  same(ones.k, ones.operands());
}

TEST(EdgeMasks, AnUnmaskedReadKeepsTheSteps) {
  const MaskedMatmul left({.masksRight = false});
  EXPECT_FALSE(dropEdgeMasks(left.k.package()));
  const auto checked = compileChecked(left.k.package(), {});
  ASSERT_TRUE(checked && checked->kernel);
  const auto results = checked->kernel->call(left.operands(), 1);
  EXPECT_TRUE(results && !*results) << "undefined rows of the right operand reach the sum";
}

TEST(EdgeMasks, NothingIsWrongWithThem) {
  const MaskedMatmul matmul({});
  const auto checked = compileChecked(matmul.k.package(), {});
  ASSERT_TRUE(checked && checked->kernel);
  const auto got = checked->kernel->call(matmul.operands(), 1);
  ASSERT_TRUE(got && *got);
  EXPECT_EQ(difference((**got)[0], results(matmul.k, matmul.operands())[0]), "");
}

}  // namespace
}  // namespace smalti::cpu::testing
