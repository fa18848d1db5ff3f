// Ops of scalars, or element-wise ops of one number of elements, as a list of kernels of src/eval that is resolved
// once. It runs on a block of elements after the other: between the kernels, values stay in L1.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "eval/Elementwise.h"
#include "eval/Scratch.h"
#include "ir/program/PlainOps.h"

namespace smalti::plain {

/// Whether the op leaves the elements of a row-major array as and where they are.
bool keepsElements(const Function&, const Op&);

class KernelList {
 public:
  class Builder;

  /// results[r][i] = what the ops make of arguments[0][i], arguments[1][i], …, begin ≤ i < end; of an argument that is
  /// a scalar, or repeated, of its element for i. A result may be the memory of an argument if `mayReplace` says so, or
  /// if `aside`: then results are stored after a block has been computed. Otherwise arrays do not overlap.
  void run(std::span<const std::byte* const> arguments, std::span<std::byte* const> results, int64_t begin, int64_t end,
           eval::Scratch& scratch, bool aside = false) const;
  /// Whether no kernel reads `argument` after the one that stores to `result`.
  bool mayReplace(size_t argument, size_t result) const;
  int64_t kernels() const { return static_cast<int64_t>(steps_.size()); }

 private:
  /// Elements of a block: the values that are alive at a time fit into L1.
  static constexpr int64_t kElements = 512;

  /// A value: an argument, elements that are the same in each block, or a buffer.
  struct Slot {
    enum class Kind : uint8_t { argument, repeated, constant, buffer } kind = Kind::buffer;
    int bytes = 0;                    ///< of an element
    int argument = -1;                ///< argument, repeated
    int64_t inner = 1, count = 1;     ///< repeated: element i is the argument's (i / inner) % count
    std::vector<std::byte> elements;  ///< constant
    int64_t offset = 0;               ///< of the buffer, for blocks of kElements; also of what is repeated
    int result = -1;                  ///< a buffer that is this result
  };
  struct Step {
    enum class Kind : uint8_t { unary, binary, select, copy } kind = Kind::copy;
    eval::UnaryKernel unary = nullptr;
    eval::BinaryKernel binary = nullptr;
    std::array<int, 3> operands{};  ///< slots
    int operandCount = 1;
    int result = 0;
  };

  void repeat(const Slot&, const std::byte* argument, int64_t first, int64_t count, std::byte* to) const;

  std::vector<Slot> slots_;
  std::vector<Step> steps_;
  std::vector<int> results_;              ///< slots
  std::vector<int> lastRead_, storedBy_;  ///< the step that reads an argument last, -1 for none; that makes a result
  int64_t bufferBytes_ = 0;
  bool isOneKernel_ = false;  ///< of two arguments: a sum, a maximum
};

/// Adds ops in their order.
class KernelList::Builder {
 public:
  explicit Builder(const Function& function) : function_(function) {}

  /// Whether there are kernels for the op. Its operands and results have the same number of elements, or are scalars.
  static bool has(const Function&, const Op&);
  bool knows(ValueId v) const { return slotOf_.contains(v); }
  void addArgument(ValueId);
  /// Element i of v is element (i / inner) % count of the next argument.
  void addRepeated(ValueId v, int64_t inner, int64_t count);
  void addConstant(ValueId v, const std::byte* element);
  /// Needs its operands. False: there is no kernel for the op.
  bool add(const Op&);
  KernelList finish(std::span<const ValueId> results);

 private:
  int addSlot(DType, Slot::Kind);
  int constantOf(DType, const std::byte* element);
  int constant(DType, double value);
  int step(Step, DType result);
  /// The slot of the op's result; -1: there is no kernel.
  int resultOf(const Op&);
  int binary(std::string_view kernel, DType operands, int a, int b, DType result);
  int unary(eval::UnaryKernel kernel, int a, DType result);
  int select(int condition, int yes, int no, DType result);
  int sign(DType, int x);
  int compareInTotalOrder(const TypedOp&, DType, int x, int y);
  void placeBuffers();

  const Function& function_;
  KernelList list_;
  std::unordered_map<ValueId, int> slotOf_;
  int arguments_ = 0;
};

}  // namespace smalti::plain
