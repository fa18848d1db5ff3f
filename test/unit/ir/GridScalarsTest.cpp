// Values of scalars of the grid, against random arithmetic of C++.
#include "ir/facts/GridScalars.h"

#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/KernelPackage.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

namespace smalti {
namespace {

/// The value that the function's last op computes for these arguments.
std::optional<int64_t> lastValue(const std::string& body, const std::vector<int64_t>& arguments) {
  const auto context = makeContext();
  std::string text = "func.func @k(";
  for (size_t i = 0; i < arguments.size(); ++i) text += fmt::format("{}%a{}: i32", i ? ", " : "", i);
  auto module =
      mlir::parseSourceString<mlir::ModuleOp>(text + ") {\n" + body + "return\n}", mlir::ParserConfig(context.get()));
  EXPECT_TRUE(bool(module)) << body;
  if (!module) return std::nullopt;
  auto function = *module->getOps<mlir::func::FuncOp>().begin();
  llvm::DenseMap<mlir::Value, int64_t> known;
  for (unsigned i = 0; i < arguments.size(); ++i) known[function.getArgument(i)] = arguments[i];
  mlir::Block& block = function.getBody().front();
  return valueOf(std::prev(block.end(), 2)->getResult(0), known);
}

TEST(GridScalars, ValuesAreThoseOfTheArithmetic) {
  std::mt19937 random(11);
  for (int program = 0; program < 200; ++program) {
    std::vector<int64_t> arguments, values;
    for (int i = 0; i < 3; ++i) arguments.push_back(static_cast<int64_t>(random() % 2001) - 1000);
    std::string body;
    std::vector<std::string> names;
    for (size_t i = 0; i < arguments.size(); ++i) {
      names.push_back(fmt::format("%a{}", i));
      values.push_back(arguments[i]);
    }
    for (int i = 0; i < 6; ++i) {
      const size_t x = random() % names.size(), y = random() % names.size();
      const auto a = static_cast<int32_t>(values[x]), b = static_cast<int32_t>(values[y]);
      const auto wrapped = [](int64_t v) { return static_cast<int64_t>(static_cast<int32_t>(v)); };
      const char* op = "addi";
      int64_t value = wrapped(int64_t{a} + b);
      switch (random() % 6) {
        case 0:
          op = "subi", value = wrapped(int64_t{a} - b);
          break;
        case 1:
          op = "muli",
          value = wrapped(static_cast<int64_t>(static_cast<uint64_t>(int64_t{a}) * static_cast<uint64_t>(int64_t{b})));
          break;
        case 2:
          op = "minsi", value = std::min(a, b);
          break;
        case 3:
          op = "maxsi", value = std::max(a, b);
          break;
        case 4:
          if (b != 0) op = "divsi", value = int64_t{a} / b;
          break;
        default:
          break;
      }
      names.push_back(fmt::format("%v{}", i));
      values.push_back(value);
      body += fmt::format("{} = arith.{} {}, {} : i32\n", names.back(), op, names[x], names[y]);
    }
    EXPECT_EQ(lastValue(body, arguments), values.back()) << body;
    const bool less = values[values.size() - 2] < values.back();
    body += fmt::format("%c = arith.cmpi slt, {}, {} : i32\n", names[names.size() - 2], names.back());
    EXPECT_EQ(lastValue(body, arguments), static_cast<int64_t>(less)) << body;
  }
}

TEST(GridScalars, WhatHasNoValueIsAbsent) {
  EXPECT_EQ(lastValue("%z = arith.constant 0 : i32\n%v = arith.divsi %a0, %z : i32\n", {3}), std::nullopt);
  EXPECT_EQ(lastValue("%f = arith.sitofp %a0 : i32 to f32\n%v = arith.fptosi %f : f32 to i32\n", {3}), std::nullopt);
}

}  // namespace
}  // namespace smalti
