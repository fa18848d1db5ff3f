// The comparison of a sort as keys: numbers that are computed once per element, instead of once per comparison.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plain/PlainEvaluators.h"

namespace smalti::plain {

/// A comparison of f(first element) with f(second element).
struct SortKey {
  ValueId value = -1;  ///< of the region: f(first element)
  bool isDescending = false;
  bool isTotalOrder = false;  ///< of floats: -NaN, …, -0, +0, …, NaN
};

/// The keys of a region that orders by the first key whose values differ: `f(a) < f(b)`, or
/// `f(a) < f(b) or (f(a) == f(b) and …)`, or the same with `select`. nullopt: it has another form.
std::optional<std::vector<SortKey>> sortKeys(const Function&, const Block& region);

/// One number per element of the key's values; smaller numbers come first. nullopt: floats that are not numbers meet a
/// key that does not order them.
Result<std::optional<std::vector<uint64_t>>> orderedNumbers(const Array& values, const SortKey&);

/// For each key, one number per element of the columns, which are equally long lists, as `orderedNumbers` gives them.
Result<std::optional<std::vector<std::vector<uint64_t>>>> keyNumbers(const PlainCall&, const Block& region,
                                                                     const std::vector<SortKey>&,
                                                                     const std::vector<Array>& columns);

}  // namespace smalti::plain
