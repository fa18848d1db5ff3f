// Ops with regions in first-order form: values captured by a region become arguments of its function.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "lang/trace/Tracer.h"

namespace smalti::lang {

struct TracedFunction;

struct ClosedRegion {
  std::shared_ptr<const TracedFunction> function;  ///< takes the region's arguments, then its captures
  size_t numArguments = 0;
  size_t firstCapture = 0, numCaptures = 0;  ///< among the inputs of the call
};

/// An op with regions as a tracer was given it, with values of that tracer as inputs.
struct ClosedCall {
  const OpRecord* op = nullptr;
  std::vector<Array> inputs;  ///< operands, then the captures of each region
  size_t numOperands = 0;
  std::vector<ClosedRegion> regions;
  std::vector<ArrayType> results;
  Attributes attributes;
  Location at;

  template <class T>
  const T& attribute(std::string_view name) const {
    for (const auto& [key, value] : attributes)
      if (key == name) return std::get<T>(value);
    throw std::bad_variant_access();
  }
};

/// Traces the regions, each once.
ClosedCall closeRegions(const OpCall&);
/// The op again under the tracer in force, with these inputs.
std::vector<Array> bindAgain(const ClosedCall&, std::span<const Array> inputs);

/// The entries of the region's captures in a list with one entry per input.
template <class List>
auto capturesOf(const ClosedRegion& region, const List& inputs) {
  return std::vector(inputs.begin() + region.firstCapture, inputs.begin() + region.firstCapture + region.numCaptures);
}

/// Flags of the arguments that the function uses.
Mask usedArguments(const TracedFunction&);

}  // namespace smalti::lang
