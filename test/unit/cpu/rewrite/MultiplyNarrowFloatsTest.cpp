// Products of bf16 that a kernel has widened to f32.
#include "cpu/rewrite/MultiplyNarrowFloats.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../native/SmallProducts.h"
#include "RandomRewrites.h"
#include "ir/Types.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::cpu::testing {
namespace {

constexpr int64_t kM = 16, kK = 64, kN = 32;

enum class Operand : uint8_t { f32, bf16, widened, widenedThenReshaped, reshapedThenWidened };

Val converted(TextKernel& k, const Val& v, const char* op, const std::string& type) {
  const Val r = k.fresh(type);
  k.raw(fmt::format("{} = {} {} : {} to {}", r.name, op, v.name, v.type, type));
  return r;
}

/// Loads an operand of the product.
Val loaded(TextKernel& k, Operand how, const Shape& shape) {
  const bool reshapes = how == Operand::widenedThenReshaped || how == Operand::reshapedThenWidened;
  Shape stored = shape;
  if (reshapes) stored.insert(stored.begin(), 1);
  const auto type = [](const Shape& s, const char* dtype) {
    return "vector<" + fmt::format("{}", fmt::join(s, "x")) + "x" + dtype + ">";
  };
  const Val v = k.load(k.input({.dtype = how == Operand::f32 ? "f32" : "bf16", .array = stored, .space = "vmem"}));
  switch (how) {
    case Operand::f32:
    case Operand::bf16:
      return v;
    case Operand::widened:
      return converted(k, v, "arith.extf", type(shape, "f32"));
    case Operand::widenedThenReshaped:
      return converted(k, converted(k, v, "arith.extf", type(stored, "f32")), "vector.shape_cast", type(shape, "f32"));
    case Operand::reshapedThenWidened:
      return converted(k, converted(k, v, "vector.shape_cast", type(shape, "bf16")), "arith.extf", type(shape, "f32"));
  }
  return v;
}

Kernel product(Operand left, Operand right, bool transposed, bool usesLeft) {
  TextKernel k;
  const auto array = [](Operand how, Shape shape) {
    Array a = smallNumbers(how == Operand::f32 ? "f32" : "bf16", shape, static_cast<int64_t>(how));
    if (how < Operand::widenedThenReshaped) return a;
    shape.insert(shape.begin(), 1);
    return Array::view({a.dtype(), shape}, a.data()).clone().value();
  };
  const Shape lhs{kM, kK}, rhs = transposed ? Shape{kN, kK} : Shape{kK, kN};
  const Val x = loaded(k, left, lhs), y = loaded(k, right, rhs);
  const Val o = k.output({.array = {kM, kN}, .space = "vmem"}), twice = k.output({.array = {kM, kK}, .space = "vmem"});
  k.store(multiplied(k, x, y, transposed, k.splat(k.f32(3), {kM, kN})), o);
  const Val zero = k.splat(k.f32(0), {kM, kK});
  k.store(usesLeft && left != Operand::bf16 ? k.binary("arith.addf", x, x) : zero, twice);
  return {std::move(k), {array(left, lhs), array(right, rhs)}};
}

std::string dtypesOfOperands(const KernelPackage& package) {
  std::string found;
  package.kernelFunction().walk([&](mlir::Operation* op) {
    if (op->getName().getStringRef() == "tpu.matmul")
      found = fmt::format("{}·{}", name(elementDType(op->getOperand(0).getType())),
                          name(elementDType(op->getOperand(1).getType())));
  });
  return found;
}

TEST(MultiplyNarrowFloats, OperandsAreAsNarrowAsTheyWere) {
  for (const Operand right : {Operand::widened, Operand::widenedThenReshaped, Operand::reshapedThenWidened})
    for (const bool transposed : {false, true}) {
      const auto result = [&](Operand left) {
        const Kernel kernel = product(left, right, transposed, true);
        const auto made = multiplyNarrowFloats(kernel.k.package());
        same(kernel.k, kernel.operands);
        return made ? dtypesOfOperands(*made) : "unchanged";
      };
      EXPECT_EQ(result(Operand::f32), "f32·bf16");
      EXPECT_EQ(result(Operand::bf16), "bf16·bf16");
      EXPECT_EQ(result(Operand::widened), "bf16·bf16");
      EXPECT_EQ(result(Operand::reshapedThenWidened), "bf16·bf16");
    }
}

TEST(MultiplyNarrowFloats, OtherProductsStay) {
  for (const auto& [left, right] : {std::pair{Operand::f32, Operand::f32}, std::pair{Operand::f32, Operand::bf16},
                                    std::pair{Operand::bf16, Operand::bf16}, std::pair{Operand::widened, Operand::f32}})
    EXPECT_FALSE(multiplyNarrowFloats(product(left, right, false, false).k.package()));
}

Kernel someProduct() {
  const auto some = [] { return static_cast<Operand>(*rc::gen::inRange(0, 5)); };
  return product(some(), some(), *rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>());
}

TEST(MultiplyNarrowFloats, PreservesResults) {
  const auto counts = applied(someProduct, 2);
  EXPECT_GT(counts.contains("multiply-narrow-floats") ? counts.at("multiply-narrow-floats") : 0, 50);
}

}  // namespace
}  // namespace smalti::cpu::testing
