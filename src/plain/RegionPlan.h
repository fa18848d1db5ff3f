// The region of a reduction, a scan or a scatter as a list of kernels of src/eval, resolved once: it runs for each
// step, often on a few elements, where a walk over its ops with new arrays (`runLifted`) takes a hundred times longer.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "eval/Elementwise.h"
#include "plain/PlainEvaluators.h"

namespace smalti::plain {

class RegionPlan {
 public:
  /// nullopt: the region has an op that is no kernel, or calls a function.
  static std::optional<RegionPlan> of(const PlainCall&, const Block& region);

  /// results[r][i] = region(arguments[0][i], arguments[1][i], …)[r], i < n. A result may be an argument, otherwise they
  /// do not overlap.
  void run(std::span<const std::byte* const> arguments, std::span<std::byte* const> results, int64_t n);

 private:
  /// Elements of a buffer: those of all values of a region fit into L1.
  static constexpr int64_t kElements = 512;

  /// A value: an argument, or a buffer.
  struct Slot {
    int argument = -1;
    int bytes = 0;  ///< of an element
    std::vector<std::byte> buffer;
  };
  struct Step {
    enum class Kind : uint8_t { unary, binary, select, copy } kind = Kind::copy;
    eval::UnaryKernel unary = nullptr;
    eval::BinaryKernel binary = nullptr;
    std::array<int, 3> operands{};  ///< slots
    int result = 0;
  };
  class Builder;

  std::vector<Slot> slots_;
  std::vector<Step> steps_;
  std::vector<int> returned_;  ///< slots with buffers: a result may overwrite an argument
};

}  // namespace smalti::plain
