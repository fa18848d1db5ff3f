// Native functions over arrays of f32, and their distance from the exact values.
#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cpu/math/Loop.h"
#include "cpu/math/Math.h"

namespace smalti::cpu {

inline LaneFunction nativeFunction(std::string_view name) {
  return [name](llvm::IRBuilderBase& code, std::span<llvm::Value* const> operands) {
    return emitMath(code, name, operands);
  };
}

/// Compiled once for each name and number of lanes (0: a scalar).
inline LoopFunction* nativeLoop(const std::string& name, int arity, int lanes) {
  static std::map<std::pair<std::string, int>, Loop> loops;
  Loop& loop = loops[{name, lanes}];
  if (!loop.run) {
    auto made = compileLoop(nativeFunction(name), arity, lanes);
    if (!made) {
      ADD_FAILURE() << made.error().str();
      return nullptr;
    }
    loop = *made;
  }
  return loop.run;
}

inline std::vector<float> native(const std::string& name, std::vector<float> a, std::vector<float> b, int lanes = 16) {
  const size_t count = a.size(), step = lanes == 0 ? 1 : static_cast<size_t>(lanes);
  const int arity = b.empty() ? 1 : 2;
  const size_t padded = (count + step - 1) / step * step;
  a.resize(padded, 1.0f);
  b.resize(padded, 1.0f);
  std::vector<float> out(padded);
  if (LoopFunction* run = nativeLoop(name, arity, lanes))
    run(a.data(), b.data(), out.data(), static_cast<int64_t>(padded));
  out.resize(count);
  return out;
}
inline std::vector<float> native(const std::string& name, const std::vector<float>& a, int lanes = 16) {
  return native(name, a, {}, lanes);
}
inline float native(const std::string& name, float x) { return native(name, std::vector<float>{x})[0]; }
inline float native(const std::string& name, float x, float y) {
  return native(name, std::vector<float>{x}, std::vector<float>{y})[0];
}

/// In units of the last place of f32 at the exact value; infinite where NaN, infinity or the sign of zero is wrong.
inline double ulpError(float got, double exact) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : kWrong;
  if (std::signbit(got) != std::signbit(exact)) return kWrong;
  if (std::isinf(exact) || std::isinf(got)) return got == static_cast<float>(exact) ? 0 : kWrong;
  const int exponent = exact == 0 ? -126 : std::max(std::ilogb(exact), -126);
  return std::fabs(got - exact) / std::ldexp(1.0, exponent - 23);
}

}  // namespace smalti::cpu
