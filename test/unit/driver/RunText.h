// Runs StableHLO text and compares with small expected values.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "driver/program/RunProgram.h"
#include "eval/FloatFormats.h"
#include "interop/Interop.h"

namespace smalti::driver::testing {

/// An array of `type` from numbers.
inline Array make(ArrayType type, const std::vector<double>& values) {
  Array array = Array::allocate(type).value();
  for (int64_t i = 0, bytes = storage_bytes(type.dtype); i < array.elements(); ++i)
    eval::elementFromDouble(type.dtype, values[values.size() == 1 ? 0 : i], array.data() + i * bytes);
  return array;
}

inline std::vector<double> numbers(const Array& array) {
  std::vector<double> values;
  for (int64_t i = 0, bytes = storage_bytes(array.dtype()); i < array.elements(); ++i)
    values.push_back(eval::elementAsDouble(array.dtype(), array.data() + i * bytes));
  return values;
}

inline Program programOf(const std::string& text) {
  auto program = interop::importStableHlo(text, "test.mlir");
  EXPECT_TRUE(program) << program.error().str();
  return std::move(*program);
}

/// The first result of main, or the diagnostic as text.
inline Result<std::vector<Array>> runText(const std::string& text, const std::vector<Array>& arguments,
                                          const RunSettings& options = {}) {
  auto program = interop::importStableHlo(text, "test.mlir");
  if (!program) return fail(std::move(program.error()));
  auto outcome = runProgram(*program, arguments, options);
  if (!outcome) return fail(std::move(outcome.error()));
  return std::move(outcome->results);
}

/// A module whose main is `body`, from `signature` like "(%arg0: tensor<4xf32>) -> tensor<4xf32>".
inline std::string moduleOf(const std::string& signature, const std::string& body) {
  return "module @test {\n  func.func public @main" + signature + " {\n" + body + "\n  }\n}\n";
}

/// The diagnostic of such a module as text, "" without one.
inline std::string errorOf(const std::string& signature, const std::string& body,
                           const std::vector<Array>& arguments = {}) {
  const auto results = runText(moduleOf(signature, body), arguments);
  return results ? "" : results.error().str();
}

inline void expectRun(const std::string& signature, const std::string& body, const std::vector<Array>& arguments,
                      const ArrayType& type, const std::vector<double>& expected, double tolerance = 0) {
  const std::string text = moduleOf(signature, body);
  auto results = runText(text, arguments);
  ASSERT_TRUE(results) << results.error().str() << text;
  ASSERT_EQ(results->size(), 1u);
  EXPECT_EQ((*results)[0].type(), type) << text;
  const auto got = numbers((*results)[0]);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected[i] || (std::isnan(expected[i]) && std::isnan(got[i]))) continue;
    EXPECT_NEAR(got[i], expected[i], tolerance) << i << "\n" << text;
  }
}

/// The op in pretty and in generic form: one Program, the same values.
inline void expectBoth(const std::string& signature, const std::string& pretty, const std::string& generic,
                       const std::vector<Array>& arguments, const ArrayType& type, const std::vector<double>& expected,
                       double tolerance = 0) {
  const std::string end = "\n    return %0 : " + signature.substr(signature.find("-> ") + 3);
  expectRun(signature, pretty + end, arguments, type, expected, tolerance);
  expectRun(signature, generic + end, arguments, type, expected, tolerance);
}

}  // namespace smalti::driver::testing
