// One kernel per op, dtype and form that kernels use: what native code is compared with the machine on, and what the
// table of docs/cpu/ops.md is made from. Element-wise ops are in AgreementTest.cpp.
#pragma once

#include <string>
#include <vector>

#include "Native.h"

namespace smalti::cpu::testing {

struct SampleValue {
  std::string dtype;
  Shape shape;
};

struct OpSample {
  std::string op, of;  ///< its name; what the table says it is an op of ("f32", "i8 → i32", "by rows")
  std::vector<SampleValue> in;
  SampleValue out;    ///< of dtype "" : none
  std::string lines;  ///< $0, $1 … are the operands, $r the result, $a … $h names of its own
  bool mild = false;  ///< small integers, so that sums are exact in any order
};

const std::vector<OpSample>& opSamples();
/// "vector<8x128xf8E5M2>"
std::string vectorOf(const std::string& dtype, const Shape&);
/// Inputs for its operands; all inputs come before the first output.
std::vector<Val> addOperands(TextKernel&, const OpSample&);
/// The lines, and an output for the result.
void addSample(TextKernel&, const OpSample&, std::vector<Val> operands);
/// True when the text is a module that passes the verifiers, and the machine runs it.
bool accepted(const std::string& text);
/// Random bits, and now and then the values that go wrong first; `mild`: small integers.
Array sampleNumbers(DType, const Shape&, uint64_t seed, bool mild = false);
/// "" or the first element where they differ by more than `ulp` (0: not at all), a NaN being a NaN.
std::string apart(const Array&, const Array&, int64_t ulp);

}  // namespace smalti::cpu::testing
