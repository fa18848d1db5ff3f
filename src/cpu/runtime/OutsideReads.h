// Loads that reach outside their ref, and blocks of inputs outside their array, in calls that continue after them as a
// TPU does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "cpu/Options.h"
#include "eval/Poison.h"
#include "smalti/diagnostic.h"
#include "smalti/dtype.h"

namespace smalti::cpu {

/// One dimension of a load, in elements: the indices start, start + step, … of a ref of `extent`. Generated code writes
/// it.
struct ReadDimension {
  int64_t start, size, step, stride, extent;
};

/// Name of the run-time function that generated code calls before a load that reaches outside: ptr (ptr context, ptr
/// place, ptr base, ptr dimensions, i32 rank, i32 dtype); null ends the call with a fault. `base`: address of the ref's
/// element (0, …, 0); `place`: "file:line:column", one for each op.
inline constexpr const char* kReadOutsideSymbol = "smalti_cpu_read_outside";
/// The same for a block of an input that has no element in its array: ptr (ptr context, i32 operand, ptr dimensions,
/// i32 rank, i32 dtype); null ends the call. Of a window with a buffer of its own the rank is 0.
inline constexpr const char* kBlockOutsideSymbol = "smalti_cpu_block_outside";

/// The outside reads of one thread of a call.
class OutsideReads {
 public:
  /// To be called at the start of a call.
  void begin(bool continues, eval::Poison poison) {
    continues_ = continues;
    poison_ = poison;
    copies_.clear();
    blocks_.clear();
  }
  /// Returns the load's first element in a copy that has the ref's strides, and undefined elements outside the ref. The
  /// next load at this place overwrites the copy. Null: the call must end, or the copy would be too large.
  const std::byte* read(const char* place, const std::byte* base, std::span<const ReadDimension>, DType);
  /// Returns an undefined block with these strides. Null: as of `read`.
  const std::byte* block(int operand, std::span<const ReadDimension>, DType);
  /// The loads and blocks after which the call continued.
  ReadsOutsideRefs seen() const;

 private:
  struct Copy {
    std::unique_ptr<std::byte, decltype(&std::free)> memory{nullptr, std::free};
    int64_t bytes = 0;
  };
  std::byte* memoryOf(Copy&, std::span<const ReadDimension>, DType) const;
  /// What is outside is undefined: all elements, without a base.
  void copyInside(std::byte* to, const std::byte* base, std::span<const ReadDimension>, DType) const;
  bool continues_ = false;
  eval::Poison poison_ = eval::Poison::intMin;
  std::map<const char*, Copy> copies_;
  std::map<int, Copy> blocks_;  ///< by operand
};

}  // namespace smalti::cpu
