// Element-wise ops that kernels use.
#pragma once

#include <string>
#include <vector>

#include "OpSamples.h"

namespace smalti::cpu::testing {

struct Row {
  std::string op, attributes;
  int operands = 2;
  enum Result { same, pred } result = same;
  int64_t ulp = 0;  ///< of f32
};

const std::vector<Row>& floatRows();
const std::vector<Row>& integerRows();
/// Of one dtype to another.
const std::vector<std::string>& conversionOps();
inline const std::vector<std::string> kFloatTypes{"f32",      "bf16",          "f16",      "f8e5m2",
                                                  "f8e4m3fn", "f8e4m3b11fnuz", "f8e8m0fnu"};
inline const std::vector<std::string> kIntegerTypes{"i32", "i16", "i8", "i4", "i2"};

/// All of them, for every dtype or pair of dtypes that the machine has them for.
std::vector<OpSample> elementwiseSamples();

}  // namespace smalti::cpu::testing
