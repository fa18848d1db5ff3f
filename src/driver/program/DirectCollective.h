// Programs that consist of one small collective, as jit of a shard_map of psum does: the result is computed from the
// global array at once. The arrays of the devices, and their bookkeeping, would cost several times the collective.
#pragma once

#include <optional>

#include "driver/program/DevicePlan.h"
#include "eval/Elementwise.h"

namespace smalti::driver {

class DirectCollective {
 public:
  /// nullopt: the program does more, the parts of its devices are not contiguous in the order of the devices, or they
  /// are so large that threads should share the work.
  static std::optional<DirectCollective> of(const Program&, const DevicePlans&);

  const ArrayType& argument() const { return argument_; }
  Result<Array> run(const Array& argument) const;

 private:
  enum class Kind : uint8_t { reduce, copy, transpose };
  DirectCollective() = default;

  Kind kind_ = Kind::copy;
  eval::BinaryKernel reduce_ = nullptr;
  ArrayType argument_, result_;
  int64_t devices_ = 0, partElements_ = 0, partBytes_ = 0;  ///< of the argument on each device
};

}  // namespace smalti::driver
