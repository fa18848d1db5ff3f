// The region of a reduction, a scan or a scatter as a list of kernels: it runs for each step, often on a few elements,
// where a walk over its ops with new arrays (`runLifted`) takes a hundred times longer.
#pragma once

#include <optional>

#include "eval/Reduce.h"
#include "plain/KernelList.h"
#include "plain/PlainEvaluators.h"

namespace smalti::plain {

/// The kind of a reducer that is one op of its two arguments.
std::optional<eval::ReduceKind> reduceKind(const Block&, DType);

class RegionPlan {
 public:
  /// nullopt: the region has an op that is no kernel, or calls a function.
  static std::optional<RegionPlan> of(const PlainCall&, const Block& region);

  /// results[r][i] = region(arguments[0][i], arguments[1][i], …)[r], i < n. A result may be an argument, otherwise they
  /// do not overlap.
  void run(std::span<const std::byte* const> arguments, std::span<std::byte* const> results, int64_t n) {
    kernels_.run(arguments, results, 0, n, scratch_, true);
  }

 private:
  explicit RegionPlan(KernelList kernels) : kernels_(std::move(kernels)) {}

  KernelList kernels_;
  eval::Scratch scratch_;
};

}  // namespace smalti::plain
