// The arrays of a call as generated code needs them: operands in the kernel's own storage, results that an
// operand may be aliased to, memory that starts undefined.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/memory/MemoryAccount.h"
#include "eval/Poison.h"
#include "ir/KernelPackage.h"
#include "llvm/ADT/SmallVector.h"

namespace smalti::cpu {

/// Operands that the kernel may write to although no output is aliased to them: it needs a copy of the caller's
/// array. (Blocks of windows are copied by the code itself.)
std::vector<bool> overwrittenOperands(const KernelPackage&);

/// The arrays that the code of one call works on.
struct CallArrays {
  std::vector<Array> results, copies;
  llvm::SmallVector<void*, 16> pointers;  ///< operands, then results
};

class KernelArrays {
 public:
  /// `written`: results of which the kernel surely writes every element, which need not be made undefined first.
  KernelArrays(const KernelPackage&, eval::Poison, std::vector<bool> written);

  /// `into`: empty, or one Array per result, which is used if it is aligned to 64 bytes and its
  /// memory has the kernel's own dtype.
  Status prepare(std::span<const Array> operands, std::span<Array> into, MemoryAccount&, CallArrays& to) const;
  /// Whether `prepare` makes results of the memory of operands.
  bool overwritesOperands(std::span<const Array> operands, std::span<const Array> into) const;
  /// Results as the caller stores them.
  Result<std::vector<Array>> outside(std::vector<Array> results, MemoryAccount&) const;
  /// The dtype of an operand inside the kernel.
  int64_t operandBytes(size_t operand) const { return bytesInside(operandTypes_[operand], inside_[operand]); }
  int64_t resultBytes(size_t result) const { return bytesInside(resultTypes_[result], insideResult(result)); }
  size_t operands() const { return operandTypes_.size(); }
  DType insideResult(size_t i) const { return inside_[operandTypes_.size() + i]; }
  /// The result that is aliased to an operand; -1: none.
  int aliasOf(size_t operand) const;
  /// Whether the kernel may write to an operand that is aliased to no result.
  bool isOverwritten(size_t operand) const { return overwritten_[operand]; }
  /// The first array that the kernel stores with another dtype ("operand 1, pred[8]"); "": none.
  std::string describeConversion() const;
  /// Undefined elements: the same bits for each.
  struct Fill {
    int64_t elements = 0;
    int elementBytes = 4;
    uint32_t bits = 0;
  };
  /// The elements of a result before the kernel runs; nullopt: it is written completely, or aliased to an operand.
  std::optional<Fill> fillOf(size_t result) const;
  /// Bytes of all operands and results, in the caller's dtypes.
  int64_t bytes() const { return bytes_; }

 private:
  bool resultDiffers(size_t i) const;
  static int64_t bytesInside(const ArrayType&, DType inside);
  /// The operand whose memory the result takes, since nothing else owns it; null: none.
  const Array* takenOperand(size_t result, std::span<const Array> operands) const;
  Result<Array> makeResult(size_t i, std::span<const Array> operands, std::span<Array> into, MemoryAccount&) const;
  void makeUndefined(Array&, DType outside) const;

  std::vector<ArrayType> operandTypes_, resultTypes_;
  std::vector<DType> inside_;      ///< dtypes of operands and results inside the kernel
  std::vector<bool> overwritten_;  ///< operands that the kernel may write to: they are copied
  std::vector<Alias> aliases_;
  std::vector<bool> written_;
  eval::Poison poison_;
  int64_t bytes_ = 0;
  std::vector<std::string> allotted_;  ///< names of the allocations for operands and results, for messages
};

}  // namespace smalti::cpu
