// call.txt: the description of a call in its folder. tools/gpu/run_calls/call.h says what each line means, and reads
// it.
#pragma once

#include <string>
#include <vector>

#include "gpu/pack/PackedCode.h"

namespace smalti::gpu {

/// The arrays of a call, in order, as lines of call.txt.
class CallText {
 public:
  /// `sizes`: of the dynamic grid axes, from which the number of points follows. It differs between architectures,
  /// which divide blocks differently.
  CallText(const std::vector<PackedCode>&, std::span<const int32_t> sizes);
  void prints(int64_t bytes);
  void operandFromFile(int64_t bytes);
  /// Pseudorandom elements in [centre - radius, centre + radius).
  void randomOperand(int64_t bytes, DType, double centre, double radius);
  /// In the memory of an earlier operand.
  void operandAs(int64_t bytes, size_t operand);
  void alias(int result);
  /// With its elements before and after in files, or undefined before.
  void result(int64_t bytes, DType, bool inFiles);
  /// Another line, of a benchmark.
  void line(const std::string&);
  /// The whole text.
  std::string end() const { return text_ + "end\n"; }

 private:
  std::string text_;
};

}  // namespace smalti::gpu
