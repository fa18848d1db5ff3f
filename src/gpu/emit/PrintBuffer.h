// Debug prints: the code writes records to a buffer in global memory, and the caller formats them after the launch.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cpu/emit/InterpreterFallback.h"
#include "cpu/emit/elements/Registers.h"

namespace smalti::gpu {

/// A buffer begins with two i64, its capacity in bytes and the bytes that were written; records follow. A record is
/// the number of an op (i64) and its operands, dense in storage form; each begins at a multiple of 8 bytes.
class PrintOps {
 public:
  static constexpr int64_t kHeaderBytes = 16;

  /// Adds an op that prints, and returns its number.
  Result<int> add(mlir::Operation& op) { return ops_.add(op); }
  /// Byte offsets of the operands in a record, and of the record's end.
  std::vector<int64_t> offsets(int number) const;
  /// The lines, as in machine::KernelResult.
  std::vector<std::string> read(std::span<std::byte> buffer) const;

 private:
  cpu::FallbackOps ops_;
};

/// The buffer in emitted code.
struct PrintBuffer {
  std::shared_ptr<PrintOps> ops;  ///< null: the kernel prints nothing
  cpu::Reg memory = nullptr, capacity = nullptr;
  cpu::Reg used = nullptr;  ///< slot, i64: the same in all threads
};

}  // namespace smalti::gpu
